"""A machine as data: states, events and ordered rows, and the dispatch index made from them.

A `Machine` is a literal in a generated module. It holds names only: guards and actions are methods of the
context that the caller brings, looked up by name when a row is tried. Nothing here runs user code.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Generic, TypeVar, cast

import attrs

from pawl.runtime.fsm.errors import InvalidMachine

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)

INTERNAL_ERROR = "internal_error"
"""The event that a guard or an action which raised becomes; its payload is the exception."""


class Kind(StrEnum):
    """What a state does when it has been entered."""

    AUTO = "auto"
    """Takes its eventless rows at once; waits for events only when no eventless guard passes."""
    PLAIN = "plain"
    """Waits for an event."""
    WAIT = "wait"
    """Ends the session incarnation; a later one resumes here."""
    FINAL = "final"
    """The end."""
    HALT = "halt"
    """Final for this process: fail closed."""


class Unhandled(StrEnum):
    """What an event means in a state that has no row for it."""

    IGNORE = "ignore"
    """Expected and without meaning here: nothing happens."""
    STALE = "stale"
    """Too late to mean anything: nothing happens, and it is counted."""
    REFUSE = "refuse"
    """The sender's mistake: the sender gets an error, the session is untouched."""


class Taken(StrEnum):
    """What became of an event."""

    MOVED = "moved"
    """A row with a target was taken."""
    STAYED = "stayed"
    """A row without a target was taken: facts may have changed, the state did not."""
    BLOCKED = "blocked"
    """There are rows, but no guard passed."""
    IGNORED = "ignored"
    STALE = "stale"


class Resume(StrEnum):
    """What a restored session does with a timer that was armed before."""

    DEADLINE = "deadline"
    """The stored deadline stands, also when it is already past."""
    REMAINING = "remaining"
    """The time that was left when the session was saved starts again."""
    RESTART = "restart"
    """The whole delay starts again."""


@attrs.frozen
class After(Generic[E]):
    """A timer of a state: armed on entry, disarmed on exit.

    `delay` names a method of the context that returns seconds (a float), or None for no timer.
    """

    delay: str
    event: E
    resume: Resume = Resume.DEADLINE


@attrs.frozen
class StateInfo(Generic[S, E]):
    """One state: its kind, entry actions (method names of the context, in order) and annotations."""

    name: S
    kind: Kind = Kind.PLAIN
    enter: tuple[str, ...] = ()
    after: After[E] | None = None
    outcome: str | None = None
    barrier: str | None = None
    effect: str | None = None
    label: str | None = None


@attrs.frozen
class EventInfo(Generic[E]):
    """One event: what must still be current when it arrives (`session`, `revision`, a correlation field)."""

    name: E
    authority: tuple[str, ...] = ()
    correlate: str | None = None
    unhandled: Unhandled | None = None


@attrs.frozen
class Row(Generic[S, E]):
    """One transition. `event` None is automatic; `target` None stays, without entry actions or timers.

    `when` and `unless` name guards, all of which must agree; `do` names row actions that run after the
    state changed and before the entry actions. `line` is the line in the spec.
    """

    source: S
    event: E | None
    target: S | None
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    line: int = 0


@attrs.frozen
class Migration(Generic[S]):
    """What becomes of sessions that another version of the machine has saved.

    `spec_hash` is that version's, or how it begins. `states` leads its states to those of this machine, `refuse` names
    those that nothing goes on from. Every other state goes on under its own name where the two are `compatible`, unless
    it is inside of one that is named; else it is refused, too.
    """

    spec_hash: str
    version: int
    compatible: bool = False
    states: tuple[tuple[str, S], ...] = ()
    refuse: tuple[str, ...] = ()

    def of(self, spec_hash: str) -> bool:
        """Whether this is about what was saved under `spec_hash`, a whole one."""
        return spec_hash.startswith(self.spec_hash)


Compiled = tuple[tuple[tuple[str, bool], ...], S, tuple[str, ...], Taken | None, tuple[Row[S, E]]]
"""A row made ready to run: (guard, wanted) pairs, the next state, the actions in order, how it ends (None when an
automatic row or a timer may follow), and the row itself in a tuple."""


@attrs.frozen(eq=False)
class Machine(Generic[S, E]):
    """A whole machine: an immutable value, shared by every session that runs it.

    `error` is the default target of `internal_error`; a machine without it stops, in error, where it is.
    Raises InvalidMachine when a row names a state or an event that the machine does not have.
    """

    name: str
    version: int
    spec_hash: str
    initial: S
    states: tuple[StateInfo[S, E], ...]
    events: tuple[EventInfo[E], ...]
    rows: tuple[Row[S, E], ...]
    error: S | None = None
    doc: str = ""
    migrations: tuple[Migration[S], ...] = ()

    # What follows is made from the fields above, once: plain attributes, because `advance` reads them on every event.
    state: Mapping[str, StateInfo[S, E]] = attrs.field(init=False, repr=False)
    """State name to its description."""
    event: Mapping[str, EventInfo[E]] = attrs.field(init=False, repr=False)
    """Event name to its description."""
    timed: Mapping[str, After[E]] = attrs.field(init=False, repr=False)
    """The states that arm a timer, and which."""
    automatic: Mapping[str, tuple[Compiled[S, E], ...]] = attrs.field(init=False, repr=False)
    """Auto state to its eventless rows, in order, ready to run; only auto states are keys."""
    entry: Mapping[str, Compiled[S, E]] = attrs.field(init=False, repr=False)
    """State to the row that a new session enters it by, ready to run."""
    dispatch: Mapping[str, Mapping[str, tuple[Compiled[S, E], ...]]] = attrs.field(init=False, repr=False)
    """State to event to its rows, in order, ready to run."""

    def __attrs_post_init__(self) -> None:
        derive = partial(object.__setattr__, self)
        derive("state", {info.name: info for info in self.states})
        derive("event", {info.name: info for info in self.events})
        self._check()
        derive("timed", {info.name: info.after for info in self.states if info.after is not None})
        derive("automatic", self._automatic())
        derive("entry", {info.name: ((), info.name, info.enter, None, _entering(info.name)) for info in self.states})
        derive("dispatch", self._dispatch())

    def _check(self) -> None:
        if len(self.state) != len(self.states) or len(self.event) != len(self.events):
            raise InvalidMachine(self.name, "two states or two events have the same name")
        for place, name in (("initial", self.initial), ("error", self.error)):
            if name is not None and name not in self.state:
                raise InvalidMachine(self.name, f"`{place}` names '{name}', which is not a state")
        for migration in self.migrations:
            for old, new in migration.states:
                if new not in self.state:
                    place = f"the migration from {migration.spec_hash} leads '{old}' to '{new}'"
                    raise InvalidMachine(self.name, f"{place}, which is not a state")
        for row in self.rows:
            place = f"the row {row.source} -> {row.target or 'stay'} (line {row.line})"
            if row.source not in self.state or (row.target is not None and row.target not in self.state):
                raise InvalidMachine(self.name, f"{place} names a state that does not exist")
            if row.event is None and self.state[row.source].kind is not Kind.AUTO:
                raise InvalidMachine(self.name, f"{place} has no event, and '{row.source}' is not an auto state")
            if row.event is not None and row.event != INTERNAL_ERROR and row.event not in self.event:
                raise InvalidMachine(self.name, f"{place} is on '{row.event}', which is not an event")

    def _dispatch(self) -> dict[str, dict[str, tuple[Compiled[S, E], ...]]]:
        table: dict[str, dict[str, tuple[Compiled[S, E], ...]]] = {info.name: {} for info in self.states}
        for row in self.rows:
            if row.event is not None:
                cell = table[row.source]
                cell[row.event] = (*cell.get(row.event, ()), self._compile(row))
        if self.error is not None:
            for info in self.states:
                if info.kind not in (Kind.FINAL, Kind.HALT):
                    table[info.name].setdefault(INTERNAL_ERROR, (self._to_error(info.name, self.error),))
        return table

    def _automatic(self) -> dict[str, tuple[Compiled[S, E], ...]]:
        table: dict[str, tuple[Compiled[S, E], ...]] = {info.name: () for info in self.states if info.kind is Kind.AUTO}
        for row in self.rows:
            if row.event is None:
                table[row.source] = (*table[row.source], self._compile(row))
        return table

    def _compile(self, row: Row[S, E]) -> Compiled[S, E]:
        guards = tuple([(name, True) for name in row.when] + [(name, False) for name in row.unless])
        if row.target is None:
            return guards, row.source, row.do, Taken.STAYED, (row,)
        source, target = self.state[row.source], self.state[row.target]
        quiet = target.kind is not Kind.AUTO and target.after is None and source.after is None
        return guards, row.target, row.do + target.enter, Taken.MOVED if quiet else None, (row,)

    def _to_error(self, source: S, target: S) -> Compiled[S, E]:
        declared = self.event.get(INTERNAL_ERROR)
        return self._compile(Row(source, declared.name if declared is not None else cast(E, INTERNAL_ERROR), target))


def _entering(state: S) -> tuple[Row[S, Any]]:
    return (Row(state, None, state),)
