"""Whether a run of the old machine can go on in the new one: word by word, for every answer that guards may give.

What is compared. A word is a sequence of events; with each event, and at each automatic choice, every guard of either
machine may answer either way, and a guard of one name is one guard. The old machine accepts a word when it refuses no
event of it: it takes a row, or stays because no guard agrees, or because the spec ignores the event or calls it stale.
The new machine is compatible in a state when it accepts every word that the old one accepts from there, and is in the
state of the same name after every event and automatic row; where the old one ends, waits or stops, the new one does,
and with the same outcome. `internal_error` is an event that may come in any state; only where the old machine stops in
error for it may the new one do as it likes.

What is not: actions, timers, effects, payloads, authority and correlation, and what guards of the same name mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Unhandled
from pawl.tools.compiler.cover import Budget, Cube, contradicts, covering, cube, exhaustive
from pawl.tools.compiler.model import MachineModel, RowModel, StateModel
from pawl.tools.diff.cells import Cell, cells

_ENDS = (Kind.WAIT, Kind.FINAL, Kind.HALT)

_After = tuple[str, bool] | None
"""The state that an event leads to, and whether it is entered anew (which matters where automatic rows follow); None
when the event is refused."""


@attrs.frozen
class Break:
    """One thing that the new machine does otherwise: in `state`, on `event` (None: by itself, or just by being there),
    when the guards answer so."""

    state: str
    event: str | None
    answers: tuple[tuple[str, bool], ...]
    reason: str


@attrs.frozen
class Witness:
    """A word that the old machine accepts: rows from some state to where the break is."""

    path: tuple[RowModel, ...]
    broken: Break


@attrs.frozen
class Verdict:
    """For each state of the old machine, the shortest way to a break from there; None where every word still holds.

    `initial` says why new sessions differ although runs in their states do not: they begin elsewhere.
    """

    states: Mapping[str, Witness | None]
    start: str
    initial: str | None = None

    @property
    def compatible(self) -> bool:
        """Whether every word that the old machine accepts from its start holds in the new one."""
        return self.initial is None and self.states[self.start] is None

    @property
    def witness(self) -> Witness | None:
        """The shortest word from the start that does not hold."""
        return self.states[self.start]


def verdict(old: MachineModel, new: MachineModel) -> Verdict:
    """Judge every state of `old`."""
    before, after = _Table(old), _Table(new)
    broken = {name: found for name in before.states if (found := _broken(before, after, name)) is not None}
    initial = None
    if old.initial != new.initial:
        initial = f"sessions began in '{old.initial}', and begin in '{new.initial}' now"
    return Verdict(_witnesses(before, broken), old.initial, initial)


class _Table:
    """A machine by state and event."""

    def __init__(self, model: MachineModel) -> None:
        self.model = model
        self.states: dict[str, StateModel] = {state.name: state for state in model.states}
        self.cells: dict[Cell, list[RowModel]] = cells(model.rows)
        self.unhandled = {event.name: event.unhandled for event in model.events}

    def ways(self, state: str, event: str | None) -> list[tuple[Cube, _After]]:
        """What the event does here, in the order in which it is tried; the last one always holds."""
        rows = self.cells.get((state, event), [])
        ways: list[tuple[Cube, _After]] = [(cube(row), self._to(state, row.target)) for row in rows]
        return [*ways, (frozenset(), self._otherwise(state, event, bool(rows)))]

    def goes_on(self, state: str) -> bool:
        """Whether it never rests here: one of its automatic rows always holds."""
        rows = self.cells.get((state, None), [])
        return bool(rows) and exhaustive([cube(row) for row in rows], Budget()) is True

    def _to(self, state: str, target: str | None) -> tuple[str, bool]:
        return target or state, target == state and self.states[state].kind is Kind.AUTO

    def _otherwise(self, state: str, event: str | None, rows: bool) -> _After:
        if event == INTERNAL_ERROR:
            error = self.model.error
            ends = self.states[state].kind in (Kind.FINAL, Kind.HALT)
            return None if rows or error is None or ends else self._to(state, error)
        stays = event is None or rows or self.unhandled.get(event) in (Unhandled.IGNORE, Unhandled.STALE)
        return (state, False) if stays else None


def _broken(old: _Table, new: _Table, name: str) -> Break | None:
    """The first thing that is otherwise in one state; None when nothing is."""
    before, after = old.states[name], new.states.get(name)
    if after is None:
        return Break(name, None, (), "there is no such state any more")
    ends = [state.kind if state.kind in _ENDS else None for state in (before, after)]
    if ends[0] != ends[1]:
        return Break(name, None, (), f"it was {_kind(before)}, and is {_kind(after)} now")
    if before.kind is Kind.FINAL:
        ended = before.outcome != after.outcome
        why = f"its outcome was {before.outcome or 'none'}, and is {after.outcome or 'none'} now"
        return Break(name, None, (), why) if ended else None
    events = [] if old.goes_on(name) else [event for event in old.unhandled if event != INTERNAL_ERROR]
    for event in (None, *events, INTERNAL_ERROR):
        found = _parted(old.ways(name, event), new.ways(name, event))
        if found is not None:
            answers, was, now = found
            return Break(name, event, answers, f"{_said(was, name, 'it went to')}, {_said(now, name, 'goes to')} now")
    return None


def _parted(
    old: Sequence[tuple[Cube, _After]], new: Sequence[tuple[Cube, _After]]
) -> tuple[tuple[tuple[str, bool], ...], _After, _After] | None:
    """Answers of the guards for which an accepted event leads elsewhere now, and where to; None when there are none."""
    if old == new:
        return None
    budget = Budget()
    for here, (asked, was) in enumerate(old):
        for there, (asks, now) in enumerate(new):
            both = asked | asks
            if was is None or was == now or contradicts(both):
                continue
            earlier = [each for each, _ in (*old[:here], *new[:there])]
            if covering(both, earlier, budget) is None:  # or not known: then it is not vouched for
                return tuple(sorted(_answers(both, earlier))), was, now
    return None


def _answers(both: Cube, earlier: Sequence[Cube]) -> Cube:
    """Answers that hold `both` and none of `earlier`, so that nothing else is tried first; there are some.

    Where they are not found in some tries, what is known of them.
    """
    work, tries = [both], 1000
    while work and tries:
        answers, tries = work.pop(), tries - 1
        holds = next((each for each in earlier if not contradicts(each | answers)), None)
        if holds is None:
            return answers
        work += [answers | {(name, not wanted)} for name, wanted in sorted(holds - answers, reverse=True)]
    return both


def _witnesses(old: _Table, broken: Mapping[str, Break]) -> dict[str, Witness | None]:
    """For each state the shortest way to a break, found backwards from all of them at once."""
    into: dict[str, list[RowModel]] = {}
    resting = {name: not old.goes_on(name) for name in old.states}
    for row in old.model.rows:
        taken = row.event in (None, INTERNAL_ERROR) or resting[row.source]
        if row.target is not None and taken and not contradicts(cube(row)):
            into.setdefault(row.target, []).append(row)
    for row in _by_error(old):
        into.setdefault(old.model.error or "", []).append(row)
    onward: dict[str, RowModel | None] = dict.fromkeys(broken)
    work = deque(broken)
    while work:
        for row in into.get(work.popleft(), ()):
            if row.source not in onward:
                onward[row.source] = row
                work.append(row.source)
    return {name: _witness(name, onward, broken) if name in onward else None for name in old.states}


def _by_error(old: _Table) -> list[RowModel]:
    """The unwritten rows: an error leads from every state without rows for it to `error`."""
    going = [state for state in old.states.values() if state.kind not in (Kind.FINAL, Kind.HALT)]
    silent = [state for state in going if (state.name, INTERNAL_ERROR) not in old.cells]
    error = old.model.error
    return [] if error is None else [RowModel(state.name, INTERNAL_ERROR, error, state.at) for state in silent]


def _witness(name: str, onward: Mapping[str, RowModel | None], broken: Mapping[str, Break]) -> Witness:
    path: list[RowModel] = []
    while (row := onward[name]) is not None:
        path.append(row)
        assert row.target is not None
        name = row.target
    return Witness(tuple(path), broken[name])


def _kind(state: StateModel) -> str:
    return {
        Kind.WAIT: "a wait state", Kind.FINAL: "a final state", Kind.HALT: "a halt state",
    }.get(state.kind, "a state to go on from")  # fmt: skip


def _said(after: _After, here: str, moved: str) -> str:
    if after is None:
        return "is refused"
    return f"{moved} '{after[0]}'" if after[0] != here or after[1] else "it stayed" if "went" in moved else "stays"
