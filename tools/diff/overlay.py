"""A difference on a picture of both machines at once: what is new, gone, or otherwise now, in colours and signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.model import MachineModel, RowModel, TimerModel
from pawl.tools.compiler.paint import Brush, Paint
from pawl.tools.diff.cells import Change
from pawl.tools.diff.difference import Difference, Field

_SAME = "same"
_BRUSHES = {
    Change.ADDED.value: Brush("#1a7f37", "#e6f6ea", "added", "+"),
    Change.REMOVED.value: Brush("#c42b1c", "#fdeae8", "removed", "\u2212"),
    Change.CHANGED.value: Brush("#b45309", "#fff1dc", "changed", "~"),
    _SAME: Brush("#6b7280", "#ffffff", "as before"),
}


def both(found: Difference) -> MachineModel:
    """One machine with the rows and states of both; a changed row that led elsewhere is there twice."""
    states = list(found.new.states)
    names = [state.name for state in states]
    for place, state in enumerate(found.old.states):
        if state.name not in names:
            before = found.old.states[place - 1].name if place else None
            at = names.index(before) + 1 if before in names else len(names)
            names.insert(at, state.name)
            states.insert(at, state)
    events = {event.name: event for event in (*found.new.events, *found.old.events)}
    gone = tuple(each.old for each in found.rows if each.old is not None and _left(each.old, each.new))
    return attrs.evolve(
        found.new,
        states=tuple(states),
        events=tuple(events.values()),
        rows=(*found.new.rows, *gone),
        groups=found.old.groups | found.new.groups,
    )


def paint(found: Difference, title: str) -> Paint:
    """The overlay for a picture of `both(found)`, barriers open or not."""
    tones: dict[RowModel, str] = {}
    for each in found.rows:
        if each.new is not None:
            tones[each.new] = Change.ADDED if each.change is Change.ADDED else Change.CHANGED
        if each.old is not None and _left(each.old, each.new):
            tones[each.old] = Change.REMOVED
    kinds = {part.name: part.change for part in found.states}
    return Paint(
        title=title,
        brushes=_BRUSHES,
        tone=lambda row: str(tones.get(row, _SAME)),
        states={name: str(change) for name, change in kinds.items()},
        plain=_SAME,
        mixed=Change.CHANGED,
        inside=lambda rows: _inside([tones[row] for row in rows if row in tones]),
        width=lambda rows: 2.0 if any(row in tones for row in rows) else 1.0,
        said={part.name: [_said(field) for field in part.fields] for part in found.states},
    )


def shown(value: Any) -> str:
    """A value of a model as a person writes it."""
    match value:
        case None | ():
            return "none"
        case TimerModel(delay, event, resume):
            return f"{delay}: {event} ({resume})"
        case Kind.PLAIN:
            return "plain"
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _said(field: Field) -> str:
    return f"{field.name}: {shown(field.old)} \u2192 {shown(field.new)}"


def _left(old: RowModel, new: RowModel | None) -> bool:
    """Whether an arrow was there that is not there now."""
    return new is None or old.target != new.target


def _inside(tones: Sequence[str]) -> str:
    counts = [(tone, sum(each == tone for each in tones)) for tone in (Change.ADDED, Change.REMOVED, Change.CHANGED)]
    told = ", ".join(f"{number} {tone}" for tone, number in counts if number)
    return f"inside: {told}" if told else ""
