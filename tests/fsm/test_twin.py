"""Random machines, walked at random: the engine and its naive twin say the same."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import event as tally
from hypothesis import strategies as st

from fsm.support import build
from fsm.twin import Stuck, Twin
from pawl.runtime.fsm.errors import AutomaticLoop, StepFailed, UnhandledEvent
from pawl.runtime.fsm.step import Arm, Disarm, Raise, advance, allowed, can, explain
from pawl.runtime.fsm.table import After, Kind, Machine, Row, Taken, Unhandled

STATES = ("a", "b", "c", "d", "e")
EVENTS = ("go", "come", "inner", "internal_error")


@attrs.frozen
class Facts:
    """Three facts that guards read and actions flip; `fuel` bounds how often an action may raise an event."""

    bits: tuple[bool, bool, bool] = (False, False, False)
    fuel: int = 4

    def is_0(self, payload: object) -> bool:
        return self.bits[0]

    def is_1(self, payload: object) -> object:
        return "yes" if self.bits[1] else ""

    def is_odd(self, payload: object) -> bool:
        if isinstance(payload, Exception):
            return self.bits[2]
        return bool(payload % 2) if isinstance(payload, int) else False

    def fails_on_2(self, payload: object) -> bool:
        if self.bits[2]:
            raise ValueError("guard")
        return True

    def flip_0(self, payload: object) -> Any:
        return self._flip(0), ("flipped 0",)

    def flip_1(self, payload: object) -> Any:
        return self._flip(1), ()

    def flip_2(self, payload: object) -> Any:
        return self._flip(2), ("flipped 2", "again")

    def rest(self, payload: object) -> None:
        return None

    def shout(self, payload: object) -> Any:
        if not self.fuel:
            return None
        return attrs.evolve(self, fuel=self.fuel - 1), (Raise("inner", self.fuel), "shouted", Raise("come", 1))

    def break_down(self, payload: object) -> Any:
        if self.bits[0]:
            raise KeyError("action")
        return self, ("whole",)

    def patience(self) -> float | None:
        if self.bits[1] and self.bits[2]:
            raise OverflowError("delay")
        return None if self.bits[0] else 3

    def _flip(self, index: int) -> Facts:
        return attrs.evolve(self, bits=tuple(bit ^ (at == index) for at, bit in enumerate(self.bits)))


GUARDS = ("is_0", "is_1", "is_odd", "fails_on_2")
ACTIONS = ("flip_0", "flip_1", "flip_2", "rest", "shout", "break_down")


@st.composite
def machines(draw: st.DrawFn) -> Machine[Any, Any]:
    kinds = {state: draw(st.sampled_from([Kind.PLAIN, Kind.PLAIN, Kind.AUTO, Kind.WAIT])) for state in STATES[:4]}
    kinds["e"] = draw(st.sampled_from([Kind.FINAL, Kind.HALT, Kind.PLAIN]))
    names = st.lists(st.sampled_from(GUARDS), max_size=2, unique=True).map(tuple)
    actions = st.lists(st.sampled_from(ACTIONS), max_size=2).map(tuple)

    def row(source: str) -> st.SearchStrategy[Row[Any, Any]]:
        events = [*EVENTS, None] if kinds[source] is Kind.AUTO else EVENTS
        targets = st.sampled_from([*STATES, None])
        return st.builds(Row, st.just(source), st.sampled_from(events), targets, names, names, actions)

    sources = [state for state in STATES if kinds[state] is not Kind.FINAL]
    rows = draw(st.lists(st.sampled_from(sources).flatmap(row), min_size=8, max_size=20))
    return build(
        *rows,
        kinds=kinds,
        states=STATES,
        enter={state: draw(actions) for state in STATES},
        after={state: After("patience", "go") for state in draw(st.sets(st.sampled_from(STATES), max_size=2))},
        unhandled=draw(st.dictionaries(st.sampled_from(EVENTS[:3]), st.sampled_from(list(Unhandled)))),
        error=draw(st.sampled_from([None, *STATES])),
    )


FACTS = st.builds(Facts, st.tuples(st.booleans(), st.booleans(), st.booleans()), st.integers(0, 4))
WALKS = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 3), FACTS), min_size=3, max_size=10)


def outcome(machine: Machine[Any, Any], state: str, context: Facts, event: str, payload: int) -> tuple[object, ...]:
    """What the engine says, in the words of the twin."""
    try:
        step = advance(machine, state, context, event, payload)  # type: ignore[type-var]
    except UnhandledEvent as error:
        return "refused", error.state, error.event
    except StepFailed as error:
        cause = error.error.event if isinstance(error.error, UnhandledEvent) else error.error
        return "failed", error.state, repr(cause)
    except AutomaticLoop:
        return "loop", None, None
    timers = [("arm", e.state, e.seconds) if isinstance(e, Arm) else ("disarm", e.state)
              for e in step.effects if isinstance(e, Arm | Disarm)]  # fmt: skip
    asked = [effect for effect in step.effects if not isinstance(effect, Arm | Disarm)]
    ends = [(row.source, row.event, row.target) for row in step.rows]
    return step.state, step.context, asked, timers, str(step.taken), ends


def twin_outcome(
    machine: Machine[Any, Any], state: str, context: Facts, event: str, payload: int
) -> tuple[object, ...]:
    twin = Twin(machine, state, context)
    try:
        twin.outside(event, payload)
    except Stuck as stuck:
        kind, where, cause = stuck.args
        return (kind, None, None) if kind == "loop" else (kind, where, cause)
    ends = [(row.source, row.event, row.target) for row in twin.rows]
    return twin.state, twin.context, twin.asked, twin.timers, twin.verdict, ends


@settings(deadline=None, max_examples=300, derandomize=True)
@given(machines(), WALKS)
def test_the_engine_and_its_naive_twin_agree_on_every_step(
    machine: Machine[Any, Any], walk: list[tuple[str, int, Facts]]
) -> None:
    state = machine.initial
    for event, payload, context in walk:
        said = outcome(machine, state, context, event, payload)
        assert said == twin_outcome(machine, state, context, event, payload)
        assert said == outcome(machine, state, context, event, payload)  # pure: nothing was kept
        tally(str(said[4]) if len(said) > 3 else str(said[0]))
        state = machine.state[str(said[1] if len(said) == 3 else said[0])].name if said[0] != "loop" else state


@settings(deadline=None, max_examples=200, derandomize=True)
@given(machines(), st.sampled_from(STATES), st.sampled_from(EVENTS), st.integers(0, 3), FACTS)
def test_can_and_allowed_foretell_every_step(
    machine: Machine[Any, Any], name: str, event: str, payload: int, context: Facts
) -> None:
    state = machine.state[name].name
    try:
        foretold = can(machine, state, context, event, payload)
    except ValueError:
        assume(False)
    assert (event in allowed(machine, state)) is (
        bool(machine.dispatch[state].get(event)) and event != "internal_error"
    )
    try:
        step = advance(machine, state, context, event, payload)
    except UnhandledEvent:
        assert not foretold
    except (StepFailed, AutomaticLoop):
        assert foretold
    else:
        assert foretold is (step.taken in (Taken.MOVED, Taken.STAYED))
        if foretold:
            assert explain(machine, state, context, event, payload).row == step.rows[0]


def test_the_twin_is_not_the_engine_in_disguise() -> None:
    machine = build(Row("a", "go", "b", when=("is_0",)), Row("a", "go", "c"))
    with pytest.raises(Stuck):
        Twin(machine, "a", Facts()).outside("come", 1)
    twin = Twin(machine, "a", Facts())
    twin.outside("go", 1)
    assert (twin.state, twin.verdict) == ("c", "moved")
