"""Automatic rows, raised events, and the order in which one step comes to rest."""

from __future__ import annotations

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import AutomaticLoop, StepFailed
from pawl.runtime.fsm.step import Raise, advance, start
from pawl.runtime.fsm.table import Kind, Row, Taken, Unhandled

AUTO = Kind.AUTO


def raising(*events: str, context: Probe | None = None) -> Probe:
    """A context whose action `shout` raises these events."""
    return Probe(shout=lambda _payload: (context or Probe(), tuple(Raise(event) for event in events)))


def test_automatic_rows_follow_in_the_same_step_with_the_payload_of_the_event() -> None:
    machine = build(
        Row("a", "go", "b"), Row("b", None, "c", when=("p",)), Row("c", None, "d"), kinds={"b": AUTO, "c": AUTO},
        enter={"b": ("at_b",), "c": ("at_c",), "d": ("at_d",)},
    )  # fmt: skip
    probe = Probe(p=True)
    step = advance(machine, machine.initial, probe, "go", 7)
    assert (step.state, step.taken, step.rows) == ("d", Taken.MOVED, machine.rows)
    assert (probe.calls, probe.payloads) == (["at_b", "p", "at_c", "at_d"], [7] * 4)


def test_an_auto_state_waits_for_its_event_rows_when_no_eventless_guard_passes() -> None:
    machine = build(
        Row("a", "go", "b"), Row("b", None, "c", when=("p",)), Row("b", "give_up", "d"), Row("b", "look", "b"),
        kinds={"b": AUTO},
    )  # fmt: skip
    probe = Probe(p=False)
    waiting = advance(machine, machine.initial, probe, "go")
    assert (waiting.state, waiting.rows) == ("b", machine.rows[:1])
    assert advance(machine, waiting.state, probe, "give_up").state == "d"
    probe.answers["p"] = True
    assert advance(machine, waiting.state, probe, "look").state == "c"


def test_automatic_rows_are_tried_on_entry_and_not_after_a_row_that_stays() -> None:
    machine = build(
        Row("a", "go", "b"), Row("b", None, "c", when=("p",)), Row("b", "note", None, do=("write",)), kinds={"b": AUTO}
    )
    probe = Probe(p=False)
    waiting = advance(machine, machine.initial, probe, "go")
    probe.answers["p"] = True
    assert advance(machine, waiting.state, probe, "note").state == "b"


def test_an_auto_state_may_be_the_initial_one() -> None:
    machine = build(Row("a", None, "b"), Row("b", None, "c"), kinds={"a": AUTO, "b": AUTO})
    assert start(machine, Probe()).state == "c"


@pytest.mark.parametrize("passes", [0, 1, 7, 8])
def test_automatic_rows_may_run_four_times_the_number_of_states(passes: int) -> None:
    machine = build(Row("a", "go", "b"), Row("b", None, "b", when=("more",)), kinds={"b": AUTO})
    left = iter([True] * passes)
    step = advance(machine, machine.initial, Probe(more=lambda _payload: next(left, False)), "go")
    assert (step.state, len(step.rows)) == ("b", 1 + passes)


def test_automatic_rows_that_do_not_come_to_rest_are_an_error_that_names_the_cycle() -> None:
    machine = build(
        Row("a", "go", "b"), Row("b", None, "c"), Row("c", None, "d"), Row("d", None, "c", when=("p",)),
        kinds=dict.fromkeys("bcd", AUTO),
    )  # fmt: skip
    with pytest.raises(AutomaticLoop) as caught:
        advance(machine, machine.initial, Probe(p=True), "go")
    assert caught.value.cycle == ("d", "c", "d")
    assert str(caught.value) == (
        "probe: automatic transitions do not come to rest: d -> c -> d; "
        "one of these rows needs a guard that becomes false"
    )


def test_the_bound_counts_anew_after_each_raised_event() -> None:
    rows = [Row("a", "go", "b"), Row("b", None, "b", when=("more",)), Row("b", "again", "b")]
    machine = build(*rows, kinds={"b": AUTO}, enter={"a": ("shout",)})
    answers = iter([True] * 8 + [False] + [True] * 8)
    probe = Probe(more=lambda _payload: next(answers, False))
    probe.answers["shout"] = lambda _payload: (probe, (Raise("go"), Raise("again")))
    assert len(start(machine, probe).rows) == 1 + 9 + 9


@pytest.mark.parametrize("caught", [True, False])
def test_a_guard_that_raises_on_an_automatic_row_leaves_the_machine_in_the_auto_state(caught: bool) -> None:
    machine = build(
        Row("a", "go", "b"), Row("b", None, "c", when=("p",)), kinds={"b": AUTO}, error="e" if caught else None
    )
    if caught:
        assert advance(machine, machine.initial, Probe(p=Boom()), "go").state == "e"
    else:
        with pytest.raises(StepFailed, match="'p' raised Boom in state 'b'"):
            advance(machine, machine.initial, Probe(p=Boom()), "go")


def test_automatic_rows_after_a_failure_get_the_failure_as_payload() -> None:
    boom = Boom()
    machine = build(Row("a", "go", "b", do=("fails",)), Row("e", None, "f", when=("p",)), kinds={"e": AUTO}, error="e")
    probe = Probe(fails=boom, p=True)
    assert advance(machine, machine.initial, probe, "go", 1).state == "f"
    assert probe.payloads == [1, boom]


def test_raised_events_come_after_automatic_rows_and_in_the_order_they_were_raised() -> None:
    machine = build(
        Row("a", "go", "b", do=("shout",)), Row("b", None, "c"), Row("c", "first", "d"), Row("d", "second", "f"),
        kinds={"b": AUTO},
    )  # fmt: skip
    assert advance(machine, machine.initial, raising("first", "second"), "go").state == "f"


def test_events_raised_while_taking_a_raised_event_queue_behind_the_others() -> None:
    rows = [Row("a", "go", None, do=("shout",)), Row("a", "first", None, do=("echo",)), Row("a", "echo", None)]
    machine = build(*rows, Row("a", "second", None))
    probe = Probe(echo=lambda _payload: (probe, (Raise("echo"),)))
    probe.answers["shout"] = lambda _payload: (probe, (Raise("first"), Raise("second")))
    step = advance(machine, machine.initial, probe, "go")
    assert [row.event for row in step.rows] == ["go", "first", "second", "echo"]
    assert step.taken is Taken.STAYED


def test_a_raised_event_carries_its_own_payload() -> None:
    machine = build(Row("a", "go", None, do=("shout",)), Row("a", "inner", None, do=("note",)))
    probe = Probe()
    probe.answers["shout"] = lambda _payload: (probe, (Raise("inner", "own"),))
    advance(machine, machine.initial, probe, "go", "outer")
    assert (probe.calls, probe.payloads) == (["shout", "note"], ["outer", "own"])


def test_raised_events_are_not_among_the_effects_and_the_others_keep_their_order() -> None:
    machine = build(Row("a", "go", "b", do=("act",)), Row("b", "inner", "c", do=("more",)))
    probe = Probe(more=lambda _payload: (probe, ("three",)))
    probe.answers["act"] = lambda _payload: (probe, ("one", Raise("inner"), "two"))
    step = advance(machine, machine.initial, probe, "go")
    assert (step.state, step.effects, step.rows) == ("c", ("one", "two", "three"), machine.rows)


def test_a_raised_event_may_be_blocked_and_the_next_one_is_taken() -> None:
    machine = build(Row("a", "go", None, do=("shout",)), Row("a", "shut", "b", when=("p",)), Row("a", "open", "c"))
    assert advance(machine, machine.initial, raising("shut", "open"), "go").state == "c"


@pytest.mark.parametrize("unhandled", [Unhandled.IGNORE, Unhandled.STALE])
def test_a_raised_event_may_be_ignored_or_stale(unhandled: Unhandled) -> None:
    machine = build(Row("a", "go", "b", do=("shout",)), unhandled={"inner": unhandled})
    step = advance(machine, machine.initial, raising("inner"), "go")
    assert (step.state, step.taken, step.rows) == ("b", Taken.MOVED, machine.rows)


@pytest.mark.parametrize("error", [None, "e"])
def test_a_raised_event_that_is_refused_is_a_failure_of_the_machine_and_not_of_the_sender(error: str | None) -> None:
    machine = build(Row("a", "go", "b", do=("shout",)), Row("a", "inner", "b"), error=error)
    if error is None:
        with pytest.raises(StepFailed, match="'inner' raised UnhandledEvent in state 'b'"):
            advance(machine, machine.initial, raising("inner"), "go")
    else:
        assert advance(machine, machine.initial, raising("inner"), "go").state == "e"


@pytest.mark.parametrize("kind", [Kind.FINAL, Kind.HALT])
def test_a_raised_event_that_finds_the_machine_ended_is_dropped(kind: Kind) -> None:
    machine = build(Row("a", "go", "z", do=("shout",)), Row("a", "inner", "b"), kinds={"z": kind})
    step = advance(machine, machine.initial, raising("inner"), "go")
    assert (step.state, step.rows) == ("z", machine.rows[:1])


def test_a_raised_event_that_fails_goes_to_the_error_state_and_the_rest_of_the_queue_is_taken_there() -> None:
    machine = build(
        Row("a", "go", None, do=("shout",)), Row("a", "bad", "b", do=("fails",)), Row("e", "then", "f"), error="e"
    )
    probe = raising("bad", "then", context=Probe(fails=Boom()))
    assert advance(machine, machine.initial, probe, "go").state == "f"


def test_a_raised_event_wakes_an_auto_state_that_waits() -> None:
    machine = build(
        Row("a", "go", "b"), Row("b", None, "c", when=("p",)), Row("b", "inner", "d"), kinds={"b": AUTO},
        enter={"b": ("shout",)},
    )  # fmt: skip
    probe = raising("inner", context=Probe(p=False))
    assert advance(machine, machine.initial, probe, "go").state == "d"
