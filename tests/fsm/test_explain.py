"""`can`, `explain` and `allowed`: answers about an event that change nothing."""

from __future__ import annotations

from itertools import product

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import InvalidGuard, UnknownState
from pawl.runtime.fsm.step import advance, allowed, can, explain
from pawl.runtime.fsm.table import Row, Taken, Unhandled

MACHINE = build(
    Row("a", "go", "b", when=("p",), unless=("q",), do=("act",), line=4),
    Row("a", "go", None, when=("r",), do=("act",), line=5),
    Row("a", "come", "a", line=6),
    unhandled={"late": Unhandled.STALE, "never": Unhandled.REFUSE},
    enter={"a": ("arrive",), "b": ("arrive",)},
    error="e",
)
A = MACHINE.initial


@pytest.mark.parametrize(("p", "q", "r"), list(product((False, True), repeat=3)))
def test_can_and_explain_agree_with_what_the_step_then_does_and_call_guards_only(p: bool, q: bool, r: bool) -> None:
    probe = Probe(p=p, q=q, r=r)
    verdict, explanation = can(MACHINE, A, probe, "go"), explain(MACHINE, A, probe, "go")
    assert set(probe.calls) <= {"p", "q", "r"}
    step = advance(MACHINE, A, probe, "go")
    assert verdict is (step.taken is not Taken.BLOCKED)
    assert explanation.row is (step.rows[0] if step.rows else None)


def test_an_explanation_reads_as_text() -> None:
    assert str(explain(MACHINE, A, Probe(p=True, q=1, r="yes"), "go")) == (
        "line 4: a -> b: passed over (p is True, q is True)\nline 5: a -> stay: taken (r is True)"
    )
    assert str(explain(MACHINE, A, Probe(), "come")) == "line 6: a -> a: taken (no guard)"
    assert str(explain(MACHINE, A, Probe(p=False, r=False), "go")) == (
        "line 4: a -> b: passed over (p is False)\nline 5: a -> stay: passed over (r is False)"
    )


@pytest.mark.parametrize(("event", "meaning"), [("late", "stale"), ("never", "refuse"), ("tyop", "refuse")])
def test_an_explanation_of_an_event_without_a_row_says_what_it_means_here(event: str, meaning: str) -> None:
    explanation = explain(MACHINE, A, Probe(), event)
    assert (explanation.row, explanation.tried, str(explanation)) == (None, (), f"no row here: {meaning}")
    assert not can(MACHINE, A, Probe(), event)


def test_guards_get_the_payload_that_is_asked_about() -> None:
    probe = Probe(p=lambda payload: payload == 3)
    assert can(MACHINE, A, probe, "go", 3)


def test_a_guard_that_raises_reaches_the_one_who_asked() -> None:
    with pytest.raises(Boom):
        can(MACHINE, A, Probe(p=Boom()), "go")


def test_an_async_guard_is_refused_here_as_in_a_step() -> None:
    async def answer(_payload: object) -> bool:
        return True

    with pytest.raises(InvalidGuard):
        can(MACHINE, A, Probe(p=answer), "go")


def test_allowed_lists_the_events_with_rows_and_never_internal_error() -> None:
    assert allowed(MACHINE, A) == ("go", "come")
    assert "internal_error" in MACHINE.dispatch[A]
    assert allowed(MACHINE, MACHINE.states[1].name) == ()


def test_questions_about_a_state_that_does_not_exist_are_refused() -> None:
    for question in (lambda: allowed(MACHINE, "z"), lambda: explain(MACHINE, "z", Probe(), "go")):
        with pytest.raises(UnknownState, match="there is no state 'z'"):
            question()
