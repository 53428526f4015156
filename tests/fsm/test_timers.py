"""When a step arms and disarms timers."""

from __future__ import annotations

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import StepFailed
from pawl.runtime.fsm.step import Arm, Disarm, Raise, advance, start
from pawl.runtime.fsm.table import After, Kind, Row, Taken

PATIENCE = After("patience", "expired")
ARMED, DISARMED = Arm("b", "expired", 5.0), Disarm("b")


def test_entering_a_timed_state_arms_its_timer_before_the_effects_of_its_actions() -> None:
    machine = build(Row("a", "go", "b"), after={"b": PATIENCE}, enter={"b": ("act",)})
    probe = Probe(patience=5)
    probe.answers["act"] = lambda _payload: (probe, ("asked",))
    step = advance(machine, machine.initial, probe, "go")
    assert step.effects == (ARMED, "asked")
    assert probe.calls == ["act", "patience"]


def test_a_delay_gets_no_payload_and_sees_the_context_that_the_entry_actions_made() -> None:
    machine = build(Row("a", "go", "b"), after={"b": PATIENCE}, enter={"b": ("act",)})
    step = advance(machine, machine.initial, Probe(act=lambda _payload: (Probe(patience=lambda: 9), ())), "go", 1)
    assert step.effects == (Arm("b", "expired", 9.0),)


def test_the_initial_state_may_be_timed() -> None:
    assert start(build(initial="b", after={"b": PATIENCE}), Probe(patience=5)).effects == (ARMED,)


def test_a_delay_of_none_arms_nothing() -> None:
    machine = build(Row("a", "go", "b"), after={"b": PATIENCE})
    assert advance(machine, machine.initial, Probe(patience=None), "go").effects == ()


def test_leaving_a_timed_state_disarms_its_timer() -> None:
    machine = build(Row("b", "go", "a"), initial="b", after={"b": PATIENCE})
    assert advance(machine, machine.initial, Probe(), "go").effects == (DISARMED,)


def test_entering_a_timed_state_again_disarms_and_arms() -> None:
    machine = build(Row("b", "again", "b"), initial="b", after={"b": PATIENCE})
    assert advance(machine, machine.initial, Probe(patience=5), "again").effects == (DISARMED, ARMED)


def test_a_row_that_stays_touches_no_timer() -> None:
    machine = build(Row("b", "note", None, do=("write",)), initial="b", after={"b": PATIENCE})
    probe = Probe(patience=5)
    step = advance(machine, machine.initial, probe, "note")
    assert (step.effects, step.taken, probe.calls) == ((), Taken.STAYED, ["write"])


def test_a_timed_auto_state_that_is_passed_through_arms_and_disarms() -> None:
    machine = build(Row("a", "go", "b"), Row("b", None, "c"), kinds={"b": Kind.AUTO}, after={"b": PATIENCE})
    assert advance(machine, machine.initial, Probe(patience=5), "go").effects == (ARMED, DISARMED)


def test_raised_events_move_timers_too() -> None:
    machine = build(Row("b", "go", None, do=("shout",)), Row("b", "inner", "c"), initial="b", after={"b": PATIENCE})
    step = advance(machine, machine.initial, Probe(shout=lambda _payload: (Probe(), (Raise("inner"),))), "go")
    assert (step.state, step.effects) == ("c", (DISARMED,))


def test_a_failure_on_the_way_into_a_timed_state_arms_nothing_there() -> None:
    machine = build(
        Row("a", "go", "b", do=("fails",)), after={"a": After("patience", "tick"), "b": PATIENCE}, error="e"
    )
    step = advance(machine, machine.initial, Probe(fails=Boom(), patience=5), "go")
    assert (step.state, step.effects) == ("e", (Disarm("a"),))


def test_a_failure_on_the_way_into_a_timed_state_that_stays_there_arms_its_timer() -> None:
    machine = build(
        Row("a", "go", "b", do=("fails",)), Row("b", "internal_error", None),
        after={"a": After("patience", "tick"), "b": PATIENCE},
    )  # fmt: skip
    step = advance(machine, machine.initial, Probe(fails=Boom(), patience=5), "go")
    assert (step.state, step.effects) == ("b", (Disarm("a"), ARMED))


def test_a_guard_that_fails_in_a_timed_state_and_is_noted_there_touches_no_timer() -> None:
    machine = build(
        Row("b", "go", "c", when=("p",)), Row("b", "internal_error", None), initial="b", after={"b": PATIENCE}
    )
    assert advance(machine, machine.initial, Probe(p=Boom(), patience=5), "go").effects == ()


@pytest.mark.parametrize(
    ("delay", "error"),
    [
        (Boom("x"), "Boom in state 'b': x"),
        ("soon", "TypeError"),
        (float("nan"), "ValueError in state 'b': delay 'patience' is nan"),
        (float("inf"), "ValueError"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_delay_that_fails_is_a_failed_entry_into_its_state(delay: object, error: str, first: bool) -> None:
    rows = [Row("a", "go", "b")] if first else [Row("a", "go", "z"), Row("z", None, "b")]
    kinds = {} if first else {"z": Kind.AUTO}
    machine = build(*rows, after={"b": PATIENCE}, kinds=kinds)
    with pytest.raises(StepFailed, match=f"'patience' raised {error}"):
        advance(machine, machine.initial, Probe(patience=delay), "go")
    caught = build(*rows, after={"b": PATIENCE}, kinds=kinds, error="e")
    assert advance(caught, caught.initial, Probe(patience=delay), "go").state == "e"


def test_a_delay_that_fails_where_a_failure_is_handled_is_final() -> None:
    machine = build(Row("a", "go", "b", do=("fails",)), after={"e": PATIENCE}, error="e")
    with pytest.raises(StepFailed, match="'patience' raised Boom in state 'e'"):
        advance(machine, machine.initial, Probe(fails=Boom(), patience=Boom()), "go")


def test_a_delay_in_the_past_is_armed_as_it_is() -> None:
    machine = build(Row("a", "go", "b"), after={"b": PATIENCE})
    assert advance(machine, machine.initial, Probe(patience=-1), "go").effects == (Arm("b", "expired", -1.0),)
