"""The machine model: what a checked spec means, with groups resolved and barriers expanded.

Everything after the checks (generator, diagrams, cross-check, interop) reads only this. Names are plain text;
positions point into the spec, so that a finding about an expanded row names the line it came from.
"""

from __future__ import annotations

import attrs

from pawl.runtime.fsm.table import Kind, Resume, Unhandled


@attrs.frozen
class Position:
    """A place in a spec file: 1-based line and column."""

    file: str
    line: int
    column: int
    via: Position | None = None
    """For a place in a fragment: where the file that uses the fragment says so."""

    @property
    def outermost(self) -> Position:
        """The place in the machine's own file: this one, or the use that brought it there."""
        return self if self.via is None else self.via.outermost

    @property
    def uses(self) -> tuple[Position, ...]:
        """For a place in a fragment: the use that brought it, and the use of that one, outwards."""
        return () if self.via is None else (self.via, *self.via.uses)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@attrs.frozen
class TimerModel:
    """`after:` of a state: the context method that gives seconds, the event due, what a restored session does."""

    delay: str
    event: str
    resume: Resume = Resume.DEADLINE


@attrs.frozen
class StateModel:
    """One state after expansion; a barrier's inner states are named `state.committing` and have `inside` set."""

    name: str
    kind: Kind
    at: Position
    enter: tuple[str, ...] = ()
    after: TimerModel | None = None
    outcome: str | None = None
    barrier: str | None = None
    """Name of the barrier, on the state that declared it (not on its inner states)."""
    inside: str | None = None
    """For an inner state of a barrier: the state that declared it."""
    effect: str | None = None
    behind: str | None = None
    label: str | None = None
    doc: str = ""


@attrs.frozen
class EventModel:
    """One event; `payload` is text (`package.module:Class`) for type checkers, never imported by the compiler."""

    name: str
    at: Position
    payload: str | None = None
    authority: tuple[str, ...] = ()
    correlate: str | None = None
    unhandled: Unhandled | None = None
    doc: str = ""
    label: str | None = None


@attrs.frozen
class RowModel:
    """One transition after expansion, one source and at most one event."""

    source: str
    event: str | None
    target: str | None
    at: Position
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    expanded: bool = False
    """Made by the compiler (a barrier's protocol), not written in the spec."""
    wildcard: str | None = None
    """What stood in `from`, for a row that the state has from a wildcard: `*`, or `upload.*`."""


@attrs.frozen
class MigrationModel:
    """What becomes of sessions that another version has saved, every step to this machine taken."""

    spec_hash: str
    """The hash of that version, or how it begins."""
    version: int
    at: Position
    compatible: bool = False
    """Whether a state goes on under its name that is neither in `states` nor in `refuse`, nor inside of one that is."""
    states: tuple[tuple[str, str], ...] = ()
    """A state of that version, and the one of this machine that it is now."""
    refuse: tuple[str, ...] = ()


@attrs.frozen
class MachineModel:
    """A whole machine, ready to generate, draw and check."""

    name: str
    version: int
    file: str
    spec_hash: str
    """sha-256 hex of the canonical content of the spec: comments, spacing and line endings do not count."""
    doc: str
    context: str | None
    initial: str
    states: tuple[StateModel, ...]
    events: tuple[EventModel, ...]
    rows: tuple[RowModel, ...]
    guards: dict[str, str]
    """Guard name to its doc ('' when none), in order of first use."""
    actions: dict[str, str]
    delays: dict[str, str]
    groups: dict[str, tuple[str, ...]]
    error: str | None = None
    migrations: tuple[MigrationModel, ...] = ()

    def rows_of(self, state: str) -> tuple[RowModel, ...]:
        """The rows that leave (or stay in) `state`, in order."""
        return tuple(row for row in self.rows if row.source == state)
