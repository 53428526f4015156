"""What actions make: contexts, effects, mistakes; and where a failure leaves the machine."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import InvalidAction, StepFailed, UnhandledEvent
from pawl.runtime.fsm.step import Raise, advance, start
from pawl.runtime.fsm.table import Kind, Machine, Row, Taken


class Tally:
    """An immutable-style context: every action returns the next one and one effect."""

    def __init__(self, *seen: str) -> None:
        self.seen = seen

    def __getattr__(self, name: str) -> Any:
        return lambda payload: (Tally(*self.seen, name), (f"effect of {name}",))


def test_row_actions_run_before_entry_actions_and_each_sees_the_context_of_the_one_before() -> None:
    machine = build(Row("a", "go", "b", do=("one", "two")), enter={"a": ("never",), "b": ("three", "four")})
    step = advance(machine, machine.initial, Tally(), "go")
    assert step.context.seen == ("one", "two", "three", "four")
    assert step.effects == ("effect of one", "effect of two", "effect of three", "effect of four")


def test_an_action_that_returns_none_keeps_the_context_and_asks_for_nothing() -> None:
    machine = build(Row("a", "go", "b", do=("act",)))
    context = Probe()
    assert advance(machine, machine.initial, context, "go") == ("b", context, (), Taken.MOVED, machine.rows)


def test_start_runs_the_entry_actions_of_the_initial_state() -> None:
    machine = build(Row("a", "go", "b"), enter={"a": ("arrive",), "b": ("never",)})
    step = start(machine, Tally())
    assert (step.state, step.context.seen, step.taken) == ("a", ("arrive",), Taken.MOVED)


@pytest.mark.parametrize("result", [True, 0, "text", (1,), (1, []), (1, None), (1, (), ()), [1, ()], [1, 2]], ids=repr)
@pytest.mark.parametrize("place", ["enter", "do", "automatic"])
def test_a_result_that_is_neither_none_nor_context_and_effects_is_a_programming_error(
    result: object, place: str
) -> None:
    machine = {
        "enter": build(Row("a", "go", "b"), enter={"b": ("act",)}, error="e"),
        "do": build(Row("a", "go", None, do=("act",)), error="e"),
        "automatic": build(Row("a", "go", "b"), Row("b", None, "c", do=("act",)), kinds={"b": Kind.AUTO}, error="e"),
    }[place]
    with pytest.raises(InvalidAction, match=f"action 'act' returned {type(result).__name__}; return None, or"):
        advance(machine, machine.initial, Probe(act=result), "go")


@pytest.mark.parametrize("automatic", [False, True])
def test_an_async_action_is_a_programming_error_and_its_coroutine_is_closed(automatic: bool) -> None:
    made = []

    async def act() -> None:
        raise AssertionError("it must not run")

    def answer(_payload: object) -> object:
        made.append(act())
        return made[-1]

    kinds = {"b": Kind.AUTO} if automatic else {}
    machine = build(Row("a", "go", "b"), enter={"b": ("act",)}, kinds=kinds)
    with pytest.raises(InvalidAction, match=r"returned coroutine.*Actions are synchronous"):
        advance(machine, machine.initial, Probe(act=answer), "go")
    assert made[0].cr_frame is None  # closed: nothing warns that it was never awaited


def test_a_task_is_no_result_of_an_action_either() -> None:
    machine = build(Row("a", "go", "b"), enter={"b": ("act",)})

    async def host() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with pytest.raises(InvalidAction, match="returned Future"):
            advance(machine, machine.initial, Probe(act=future), "go")

    asyncio.run(host())


def failing(error: str | None, *, own_row: bool, stay: bool = False) -> Machine[Any, Any]:
    rows = [Row("a", "go", "b", do=("before", "fails", "never"))]
    if own_row:
        rows.append(Row("b", "internal_error", None if stay else "rescue", do=("note",)))
    return build(*rows, enter={"b": ("never",), "rescue": ("arrive",), "e": ("arrive",)}, error=error)


@pytest.mark.parametrize(("error", "own_row"), list(product([None, "e"], [False, True])))
def test_an_action_that_raises_becomes_internal_error_in_the_target_state(error: str | None, own_row: bool) -> None:
    machine, boom = failing(error, own_row=own_row), Boom("x")
    probe = Probe(fails=boom)
    if error is None and not own_row:
        with pytest.raises(StepFailed) as caught:
            advance(machine, machine.initial, probe, "go", 1)
        assert (caught.value.state, caught.value.name, caught.value.error) == ("b", "fails", boom)
        assert probe.calls == ["before", "fails"]
        return
    step = advance(machine, machine.initial, probe, "go", 1)
    assert step.state == ("rescue" if own_row else "e")
    assert probe.calls == ["before", "fails", *(["note"] if own_row else []), "arrive"]
    assert probe.payloads[:2] == [1, 1]
    assert set(probe.payloads[2:]) == {boom}
    assert [(row.source, row.event, row.target) for row in step.rows] == [
        ("a", "go", "b"),
        ("b", "internal_error", step.state),
    ]


def test_what_actions_made_before_one_raised_is_kept() -> None:
    machine = failing("e", own_row=False)
    context = Probe(
        before=lambda _payload: (Probe(fails=Boom(), arrive=lambda _error: (context, ("rescued",))), ("asked",))
    )
    step = advance(machine, machine.initial, context, "go")
    assert (step.context, step.effects, step.taken) == (context, ("asked", "rescued"), Taken.MOVED)


def test_a_failure_that_nothing_catches_tells_what_was_made_before_it() -> None:
    after = Probe(fails=Boom())
    machine = failing(None, own_row=False)
    with pytest.raises(StepFailed) as caught:
        advance(machine, machine.initial, Probe(before=lambda _payload: (after, ("asked",))), "go")
    assert (caught.value.context, caught.value.effects) == (after, ("asked",))


def test_a_stay_row_on_internal_error_leaves_the_machine_in_the_target_state() -> None:
    machine = failing(None, own_row=True, stay=True)
    step = advance(machine, machine.initial, Probe(fails=Boom()), "go")
    assert (step.state, step.taken) == ("b", Taken.MOVED)


def test_automatic_rows_follow_when_internal_error_stays_in_an_auto_state() -> None:
    machine = build(
        Row("a", "go", "b", do=("fails",)),
        Row("b", "internal_error", None),
        Row("b", None, "c"),
        kinds={"b": Kind.AUTO},
    )
    assert advance(machine, machine.initial, Probe(fails=Boom()), "go").state == "c"


@pytest.mark.parametrize("allowed", [True, False])
def test_the_rows_on_internal_error_have_guards_like_any_other(allowed: bool) -> None:
    machine = build(Row("a", "go", "b", do=("fails",)), Row("b", "internal_error", "c", when=("p",)))
    probe = Probe(fails=Boom("first"), p=allowed)
    if allowed:
        assert advance(machine, machine.initial, probe, "go").state == "c"
    else:
        with pytest.raises(StepFailed, match="'fails' raised Boom in state 'b': first"):
            advance(machine, machine.initial, probe, "go")


def test_an_action_that_raises_in_a_row_that_stays_leaves_the_state() -> None:
    machine = build(Row("a", "note", None, do=("fails",)))
    with pytest.raises(StepFailed) as caught:
        advance(machine, machine.initial, Probe(fails=Boom()), "note")
    assert caught.value.state == "a"


def test_a_guard_that_raises_goes_to_the_error_state_of_the_machine() -> None:
    machine = build(Row("a", "go", "b", when=("p",)), error="e")
    step = advance(machine, machine.initial, Probe(p=Boom()), "go")
    assert (step.state, [row.target for row in step.rows]) == ("e", ["e"])


def test_a_failure_while_handling_a_failure_is_final_and_names_the_second() -> None:
    machine = failing("e", own_row=False)
    with pytest.raises(StepFailed, match="'arrive' raised Boom in state 'e': second") as caught:
        advance(machine, machine.initial, Probe(fails=Boom("first"), arrive=Boom("second")), "go")
    assert isinstance(caught.value.__cause__, Boom)


def test_a_guard_that_fails_while_handling_a_failure_leaves_the_state_of_the_first() -> None:
    machine = build(Row("a", "go", "b", do=("fails",)), Row("b", "internal_error", "c", when=("p",)))
    with pytest.raises(StepFailed, match="'p' raised Boom in state 'b': second"):
        advance(machine, machine.initial, Probe(fails=Boom("first"), p=Boom("second")), "go")


def test_an_async_action_on_the_way_to_the_error_state_is_a_programming_error_too() -> None:
    async def arrive(_error: object) -> None: ...

    machine = failing("e", own_row=False)
    with pytest.raises(InvalidAction, match="'arrive' returned coroutine"):
        advance(machine, machine.initial, Probe(fails=Boom(), arrive=arrive), "go")


@pytest.mark.parametrize("kind", [Kind.FINAL, Kind.HALT])
def test_the_default_error_state_does_not_reopen_an_ended_machine(kind: Kind) -> None:
    machine = build(Row("a", "go", "z", do=("fails",)), kinds={"z": kind}, error="e")
    with pytest.raises(StepFailed) as caught:
        advance(machine, machine.initial, Probe(fails=Boom()), "go")
    assert caught.value.state == "z"


def test_an_error_of_another_machine_in_an_action_is_an_ordinary_failure() -> None:
    inner = build(Row("a", "go", "b"))
    outer = build(Row("a", "go", "b", do=("drive",)), error="e")
    probe = Probe(drive=lambda _payload: advance(inner, inner.initial, Probe(), "unheard_of"))
    assert advance(outer, outer.initial, probe, "go").state == "e"


def test_a_missing_method_is_an_ordinary_failure_that_names_it() -> None:
    machine = build(Row("a", "go", "b", do=("act",)))
    with pytest.raises(StepFailed, match="'act' raised AttributeError"):
        advance(machine, machine.initial, object(), "go")


def test_interruptions_are_no_errors_of_the_machine() -> None:
    machine = build(Row("a", "go", "b", do=("act",)), error="e")
    with pytest.raises(KeyboardInterrupt):
        advance(machine, machine.initial, Probe(act=KeyboardInterrupt()), "go")


def test_internal_error_can_be_raised_by_an_action_on_purpose() -> None:
    machine = build(Row("a", "go", "b", do=("act",)), error="e")
    step = advance(machine, machine.initial, Probe(act=lambda p: (Probe(), (Raise("internal_error", "why"),))), "go")
    assert step.state == "e"


def test_internal_error_from_outside_is_refused_where_nothing_says_what_it_means() -> None:
    machine = build(Row("a", "go", "b"))
    with pytest.raises(UnhandledEvent):
        advance(machine, machine.initial, Probe(), "internal_error", Boom())
