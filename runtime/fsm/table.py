"""A machine as data: states, events and ordered rows, and the dispatch index made from them.

A `Machine` is a literal in a generated module. It holds names only: guards and actions are methods of the
context that the caller brings, looked up by name when a row is tried. Nothing here runs user code.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Generic, TypeVar

import attrs

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


Compiled = tuple[tuple[tuple[str, bool], ...], S, tuple[str, ...], Taken | None, tuple[Row[S, E]]]
"""A row made ready to run: (guard, wanted) pairs, the next state, the actions in order, how it ends (None when an
automatic row or a timer may follow), and the row itself in a tuple."""


@attrs.frozen(eq=False, slots=False)
class Machine(Generic[S, E]):
    """A whole machine: an immutable value, shared by every session that runs it.

    `error` is the default target of `internal_error`; a machine without it stops, in error, where it is.
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

    @cached_property
    def state(self) -> Mapping[str, StateInfo[S, E]]:
        """State name to its description."""
        return {info.name: info for info in self.states}

    @cached_property
    def event(self) -> Mapping[str, EventInfo[E]]:
        """Event name to its description."""
        return {info.name: info for info in self.events}

    @cached_property
    def dispatch(self) -> Mapping[str, Mapping[str, tuple[Compiled[S, E], ...]]]:
        """State to event to its rows, in order, ready to run."""
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

    @cached_property
    def automatic(self) -> Mapping[str, tuple[Compiled[S, E], ...]]:
        """Auto state to its eventless rows, in order, ready to run; only auto states are keys."""
        table: dict[str, tuple[Compiled[S, E], ...]] = {info.name: () for info in self.states if info.kind is Kind.AUTO}
        for row in self.rows:
            if row.event is None:
                table[row.source] = (*table[row.source], self._compile(row))
        return table

    @cached_property
    def timed(self) -> Mapping[str, After[E]]:
        """The states that arm a timer, and which."""
        return {info.name: info.after for info in self.states if info.after is not None}

    def _compile(self, row: Row[S, E]) -> Compiled[S, E]:
        guards = tuple([(name, True) for name in row.when] + [(name, False) for name in row.unless])
        if row.target is None:
            return guards, row.source, row.do, Taken.STAYED, (row,)
        source, target = self.state[row.source], self.state[row.target]
        quiet = target.kind is not Kind.AUTO and target.after is None and source.after is None
        return guards, row.target, row.do + target.enter, Taken.MOVED if quiet else None, (row,)

    def _to_error(self, source: S, target: S) -> Compiled[S, E]:
        event = next((info.name for info in self.events if info.name == INTERNAL_ERROR), None)
        return self._compile(Row(source, event, target))
