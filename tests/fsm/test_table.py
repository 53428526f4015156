"""A machine is a value that contradicts itself nowhere."""

from __future__ import annotations

import copy
import pickle

import attrs
import pytest

from fsm.support import build
from pawl.runtime.fsm.errors import InvalidMachine
from pawl.runtime.fsm.table import EventInfo, Kind, Machine, Row, StateInfo

STATES = (StateInfo("a"), StateInfo("b"))
EVENTS = (EventInfo("go"),)


def machine(**changes: object) -> Machine:  # type: ignore[type-arg]
    fields = {"initial": "a", "states": STATES, "events": EVENTS, "rows": (Row("a", "go", "b", line=9),)} | changes
    return Machine("probe", 1, "f00d", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"initial": "z"}, "`initial` names 'z', which is not a state"),
        ({"error": "z"}, "`error` names 'z', which is not a state"),
        ({"states": (*STATES, StateInfo("a"))}, "two states or two events have the same name"),
        ({"events": (*EVENTS, EventInfo("go"))}, "two states or two events have the same name"),
        ({"rows": (Row("z", "go", "b", line=2),)}, r"the row z -> b \(line 2\) names a state that does not exist"),
        ({"rows": (Row("a", "go", "z", line=2),)}, r"the row a -> z \(line 2\) names a state that does not exist"),
        (
            {"rows": (Row("a", "come", None, line=2),)},
            r"the row a -> stay \(line 2\) is on 'come', which is not an event",
        ),
        (
            {"rows": (Row("a", None, "b", line=2),)},
            r"the row a -> b \(line 2\) has no event, and 'a' is not an auto state",
        ),
    ],
)
def test_a_table_that_contradicts_itself_is_refused_by_name(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidMachine, match=f"probe: {problem}; correct the spec and generate again"):
        machine(**changes)


def test_a_machine_is_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        machine().rows = ()


def test_internal_error_needs_no_declaration() -> None:
    assert "internal_error" in machine(rows=(Row("a", "internal_error", "b"),)).dispatch["a"]


@pytest.mark.parametrize("kind", list(Kind))
def test_the_error_state_catches_in_every_state_but_ended_ones(kind: Kind) -> None:
    made = build(kinds={"a": kind}, error="e")
    assert ("internal_error" in made.dispatch["a"]) is (kind not in (Kind.FINAL, Kind.HALT))


def test_a_machine_can_be_changed_into_another_copied_and_pickled() -> None:
    made = machine()
    other = attrs.evolve(made, rows=())
    assert (made.dispatch["a"].keys(), other.dispatch["a"].keys()) == ({"go"}, set())
    assert copy.copy(made).dispatch == made.dispatch
    assert pickle.loads(pickle.dumps(made)).rows == made.rows
