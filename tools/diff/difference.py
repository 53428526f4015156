"""Everything that is different between two machines, part by part; words for people, positions and order of
declarations do not count, as they do not in the hash of a spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pawl.tools.compiler.model import EventModel, MachineModel, StateModel
from pawl.tools.diff.cells import Change, RowChange, cells, changes

_MACHINE = ("name", "version", "context", "initial", "error")
_STATE = ("kind", "enter", "after", "outcome", "barrier", "inside", "effect", "behind")
_EVENT = ("payload", "authority", "correlate", "unhandled")


@attrs.frozen
class Field:
    """One property that has another value now."""

    name: str
    old: Any
    new: Any


@attrs.frozen
class Part:
    """A state or an event that is new, gone, or has other properties."""

    change: Change
    name: str
    fields: tuple[Field, ...] = ()
    inside: str | None = None
    """For an inner state of a barrier: the state that declares it."""


@attrs.frozen
class Difference:
    """What has to be done to `old` to make `new` of it."""

    old: MachineModel
    new: MachineModel
    machine: tuple[Field, ...]
    states: tuple[Part, ...]
    events: tuple[Part, ...]
    rows: tuple[RowChange, ...]
    names: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    """`guards`, `actions`, `delays` to the names that the context must have now, and those it need not any more."""

    @property
    def empty(self) -> bool:
        """Whether nothing is different."""
        return not (self.machine or self.states or self.events or self.rows or any(map(any, self.names.values())))


def difference(old: MachineModel, new: MachineModel, renames: Mapping[str, str] | None = None) -> Difference:
    """Compare two machines. `renames` maps names of old states to what they are called now. Raises ValueError."""
    before = renamed(old, renames) if renames else old
    return Difference(
        old=before,
        new=new,
        machine=_fields(before, new, _MACHINE),
        states=_parts(before.states, new.states, _STATE),
        events=_parts(before.events, new.events, _EVENT),
        rows=tuple(_rows(before, new)),
        names={kind: _names(getattr(before, kind), getattr(new, kind)) for kind in ("guards", "actions", "delays")},
    )


def renamed(model: MachineModel, renames: Mapping[str, str]) -> MachineModel:
    """The machine with other names for some states, and for the inner states of their barriers. Raises ValueError."""
    known = {state.name for state in model.states}
    for name in renames:
        if name not in known:
            raise ValueError(f"{model.name} has no state '{name}' to rename; it has: {', '.join(sorted(known))}")
    named = {state.name: _renamed(state, renames) for state in model.states}
    states = tuple(attrs.evolve(each, name=named[each.name], inside=_now(each.inside, named)) for each in model.states)
    if len({state.name for state in states}) < len(states):
        raise ValueError(f"two states of {model.name} would have one name; rename to names that it does not have")
    return attrs.evolve(
        model,
        initial=named[model.initial],
        error=_now(model.error, named),
        states=states,
        rows=tuple(attrs.evolve(row, source=named[row.source], target=_now(row.target, named)) for row in model.rows),
    )


def _renamed(state: StateModel, renames: Mapping[str, str]) -> str:
    """The name now: its own, or that of its barrier's state with the inner name behind it."""
    if state.inside in renames and state.name not in renames and state.inside is not None:
        return renames[state.inside] + state.name.removeprefix(state.inside)
    return renames.get(state.name, state.name)


def _now(name: str | None, named: Mapping[str, str]) -> str | None:
    return None if name is None else named[name]


def _fields(old: Any, new: Any, names: Iterable[str]) -> tuple[Field, ...]:
    pairs = ((name, getattr(old, name), getattr(new, name)) for name in names)
    return tuple(Field(name, before, after) for name, before, after in pairs if before != after)


def _parts(
    old: Iterable[StateModel] | Iterable[EventModel], new: Iterable[StateModel] | Iterable[EventModel], names: Any
) -> tuple[Part, ...]:
    """What is gone, in the old order, then the rest in the new order."""
    before: dict[str, Any] = {each.name: each for each in old}
    after: dict[str, Any] = {each.name: each for each in new}
    found = [_part(Change.REMOVED, each) for name, each in before.items() if name not in after]
    for name, each in after.items():
        if name not in before:
            found.append(_part(Change.ADDED, each))
        elif fields := _fields(before[name], each, names):
            found.append(_part(Change.CHANGED, each, fields))
    return tuple(found)


def _part(change: Change, each: Any, fields: tuple[Field, ...] = ()) -> Part:
    return Part(change, each.name, fields, getattr(each, "inside", None))


def _rows(old: MachineModel, new: MachineModel) -> list[RowChange]:
    before, after = cells(old.rows), cells(new.rows)
    both = dict.fromkeys((*before, *after))
    return [each for cell in both for each in changes(before.get(cell, []), after.get(cell, []))]


def _names(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(name for name in new if name not in old), tuple(name for name in old if name not in new)
