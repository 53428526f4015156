"""Which row an event takes: order, guards, and what happens to those that come later."""

from __future__ import annotations

from itertools import product

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import InvalidGuard, StepFailed, UnhandledEvent, UnknownState
from pawl.runtime.fsm.step import advance
from pawl.runtime.fsm.table import Row, Taken, Unhandled


def test_the_first_row_without_a_guard_wins_over_later_ones() -> None:
    machine = build(Row("a", "go", "b"), Row("a", "go", "c"))
    assert advance(machine, machine.initial, Probe(), "go").state == "b"


@pytest.mark.parametrize(("p", "q", "r", "s"), list(product((False, True), repeat=4)))
def test_a_row_is_taken_when_all_its_whens_hold_and_none_of_its_unlesses(p: bool, q: bool, r: bool, s: bool) -> None:
    machine = build(Row("a", "go", "b", when=("p", "q"), unless=("r", "s")), Row("a", "go", "c"))
    step = advance(machine, machine.initial, Probe(p=p, q=q, r=r, s=s), "go")
    assert step.state == ("b" if p and q and not r and not s else "c")


@pytest.mark.parametrize(("p", "q", "r"), list(product((False, True), repeat=3)))
def test_guards_are_called_in_order_and_only_until_the_answer_is_known(p: bool, q: bool, r: bool) -> None:
    machine = build(Row("a", "go", "b", when=("p", "q"), unless=("r",)), Row("a", "go", "c"))
    probe = Probe(p=p, q=q, r=r)
    advance(machine, machine.initial, probe, "go")
    assert probe.calls == ["p", "q", "r"][: 1 if not p else 2 if not q else 3]


def test_guards_of_rows_after_the_one_taken_are_not_called() -> None:
    machine = build(Row("a", "go", "b", when=("p",)), Row("a", "go", "c", when=("q",)))
    probe = Probe(p=True, q=Boom())
    assert advance(machine, machine.initial, probe, "go").state == "b"
    assert probe.calls == ["p"]


def test_an_event_whose_rows_are_all_guarded_shut_is_blocked() -> None:
    machine = build(Row("a", "go", "b", when=("p",)), unhandled={"go": Unhandled.IGNORE})
    context = Probe(p=False)
    assert advance(machine, machine.initial, context, "go") == ("a", context, (), Taken.BLOCKED, ())


@pytest.mark.parametrize(
    ("value", "means"), [(1, True), (0, False), ("x", True), ("", False), ([0], True), ((), False), (None, False)]
)
@pytest.mark.parametrize("positive", [True, False])
def test_a_guard_may_answer_anything_that_is_true_or_false(value: object, means: bool, positive: bool) -> None:
    row = Row("a", "go", "b", when=("p",)) if positive else Row("a", "go", "b", unless=("p",))
    machine = build(row, Row("a", "go", "c"))
    assert advance(machine, machine.initial, Probe(p=value), "go").state == ("b" if means is positive else "c")


@pytest.mark.parametrize("keyword", ["when", "unless"])
def test_an_async_guard_is_a_programming_error_and_not_a_yes(keyword: str) -> None:
    async def answer(_payload: object) -> bool:
        return True

    machine = build(Row("a", "go", "b", **{keyword: ("p",)}), error="e")
    with pytest.raises(InvalidGuard, match="guard 'p' returned coroutine; return True or False"):
        advance(machine, machine.initial, Probe(p=answer), "go")


def test_guards_and_actions_get_the_payload_of_the_event() -> None:
    machine = build(Row("a", "go", "b", when=("p",), unless=("q",), do=("act",)), enter={"b": ("arrive",)})
    probe = Probe(p=True, q=False)
    advance(machine, machine.initial, probe, "go", 42)
    assert (probe.calls, probe.payloads) == (["p", "q", "act", "arrive"], [42] * 4)


def test_a_guard_that_raises_leaves_the_state_and_the_later_rows_alone() -> None:
    machine = build(Row("a", "go", "b", when=("p",), do=("act",)), Row("a", "go", "c"))
    probe = Probe(p=Boom("no"))
    with pytest.raises(StepFailed, match=r"probe: 'p' raised Boom in state 'a': no; add `error:`") as caught:
        advance(machine, machine.initial, probe, "go")
    assert caught.value.state == "a"
    assert isinstance(caught.value.__cause__, Boom)
    assert probe.calls == ["p"]


def test_an_event_name_is_as_good_as_the_member() -> None:
    machine = build(Row("a", "go", "b"))
    member = machine.events[0].name
    context = Probe()
    assert advance(machine, machine.initial, context, member) == advance(machine, machine.initial, context, "go")


@pytest.mark.parametrize(
    ("unhandled", "taken"), [(Unhandled.IGNORE, Taken.IGNORED), (Unhandled.STALE, Taken.STALE)], ids=str
)
def test_an_event_without_a_row_is_ignored_or_stale_as_the_spec_says(unhandled: Unhandled, taken: Taken) -> None:
    machine = build(Row("a", "go", "b"), unhandled={"late": unhandled})
    context = Probe()
    assert advance(machine, machine.initial, context, "late") == ("a", context, (), taken, ())
    assert context.calls == []


@pytest.mark.parametrize("unhandled", [{"late": Unhandled.REFUSE}, {}], ids=["refuse", "undecided"])
def test_an_event_without_a_row_is_refused_when_the_spec_says_so_or_nothing(unhandled: dict[str, Unhandled]) -> None:
    machine = build(Row("b", "late", "a"), Row("a", "go", "b"), Row("a", "come", "b"), unhandled=unhandled)
    with pytest.raises(UnhandledEvent) as caught:
        advance(machine, machine.initial, Probe(), "late")
    assert str(caught.value) == "probe: 'late' is not possible in state 'a'; possible here: come, go"
    assert caught.value.allowed == ("come", "go")
    assert caught.value.__context__ is None


def test_an_event_that_no_machine_knows_is_refused() -> None:
    machine = build(Row("a", "go", "b"), error="e")
    with pytest.raises(UnhandledEvent, match="'tyop' is not possible in state 'a'; possible here: go"):
        advance(machine, machine.initial, Probe(), "tyop")


def test_a_state_that_the_machine_does_not_have_is_named_with_those_it_has() -> None:
    machine = build(Row("a", "go", "b"))
    with pytest.raises(UnknownState, match="there is no state 'z'; its states are: a, b"):
        advance(machine, "z", Probe(), "go")  # type: ignore[type-var]


def test_a_stay_row_runs_its_own_actions_but_no_entry_actions() -> None:
    machine = build(Row("a", "note", None, do=("write",)), enter={"a": ("arrive",)})
    probe = Probe()
    step = advance(machine, machine.initial, probe, "note")
    assert (step.state, step.taken, probe.calls) == ("a", Taken.STAYED, ["write"])


def test_a_row_to_its_own_state_enters_it_again() -> None:
    machine = build(Row("a", "again", "a", do=("write",)), enter={"a": ("arrive",)})
    probe = Probe()
    step = advance(machine, machine.initial, probe, "again")
    assert (step.state, step.taken, probe.calls) == ("a", Taken.MOVED, ["write", "arrive"])


def test_the_step_says_which_row_was_taken() -> None:
    machine = build(Row("a", "go", "b", when=("p",), line=3), Row("a", "go", "c", line=4))
    assert advance(machine, machine.initial, Probe(p=False), "go").rows == (machine.rows[1],)


def test_without_a_context_rows_without_guards_are_taken_and_others_are_an_error() -> None:
    machine = build(Row("a", "go", "b"), Row("b", "go", "c", when=("p",)))
    step = advance(machine, machine.initial, None, "go")
    assert (step.state, step.context) == ("b", None)
    with pytest.raises(StepFailed, match="no attribute 'p'"):
        advance(machine, step.state, None, "go")
