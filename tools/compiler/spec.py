"""The spec as written: one attrs class for each mapping of the language, every leaf with its place in the file.

Field metadata: `key` is the word in the file where Python cannot use it as a name. A class with a `name` field is
the value of a mapping entry and gets its name from the key.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

from pawl.runtime.fsm.table import Resume, Unhandled
from pawl.tools.compiler.findings import Severity
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.nodes import Scalar


@attrs.frozen
class Name(Scalar):
    """A scalar that names something."""


@attrs.frozen
class Text(Scalar):
    """A scalar for people."""


@attrs.frozen
class Reference(Scalar):
    """`package.module:Class`, for type checkers."""


class Authority(StrEnum):
    """What must still be current when an event arrives."""

    SESSION = "session"
    REVISION = "revision"


Names = tuple[Name, ...]


@attrs.frozen
class AfterSpec:
    """`after:` of a state."""

    at: Position
    delay: Name
    event: Name = attrs.field(metadata={"key": "on"})
    resume: Resume = Resume.DEADLINE


@attrs.frozen
class StateSpec:
    """One entry of `states:`."""

    at: Position
    name: Name
    initial: bool = False
    auto: bool = False
    wait: bool = False
    final: bool = False
    halt: bool = False
    enter: Names = ()
    after: AfterSpec | None = None
    barrier: Name | None = None
    refused: Name | None = None
    stop: Name | None = None
    unwritten: Name | None = None
    conflict: Name | None = None
    superseded: Name | None = None
    records: bool = False
    effect: Name | None = None
    behind: Name | None = None
    outcome: Name | None = None
    label: Text | None = None
    doc: Text | None = None


@attrs.frozen
class EventSpec:
    """One entry of `events:`."""

    at: Position
    name: Name
    payload: Reference | None = None
    authority: tuple[Authority, ...] = ()
    correlate: Name | None = None
    doc: Text | None = None


@attrs.frozen
class GroupSpec:
    """One entry of `groups:`."""

    at: Position
    name: Name
    members: Names = ()


@attrs.frozen
class MethodSpec:
    """One entry of `guards:`, `actions:` or `delays:`."""

    at: Position
    name: Name
    doc: Text | None = None


@attrs.frozen
class BarriersSpec:
    """`barriers:`, what holds for every barrier of the machine."""

    at: Position
    stop: Names = ()
    lost: Name | None = None
    conflict: Name | None = None
    superseded: Name | None = None


@attrs.frozen
class RowSpec:
    """One item of `transitions:`."""

    at: Position
    source: Names = attrs.field(metadata={"key": "from"})
    target: Name | None = attrs.field(default=None, metadata={"key": "to"})
    event: Names = attrs.field(default=(), metadata={"key": "on"})
    when: Names = ()
    unless: Names = ()
    do: Names = ()
    doc: Text | None = None


@attrs.frozen
class UnhandledSpec:
    """`unhandled:`, what an event without a row means."""

    at: Position
    ignore: Names = ()
    stale: Names = ()
    refuse: Names = ()

    def lists(self) -> tuple[tuple[Unhandled, Names], ...]:
        """The three lists with what they mean."""
        return (Unhandled.IGNORE, self.ignore), (Unhandled.STALE, self.stale), (Unhandled.REFUSE, self.refuse)


@attrs.frozen
class CheckSpec:
    """One entry of `checks:`."""

    at: Position
    name: Name
    severity: Severity


@attrs.frozen
class Spec:
    """A whole spec file. A `fallback` stands in for a value that was refused, so that the rest can be checked."""

    at: Position
    pawl: int = attrs.field(metadata={"fallback": 1})
    machine: Name = attrs.field(metadata={"fallback": "unnamed"})
    version: int = attrs.field(metadata={"fallback": 1})
    states: dict[str, StateSpec]
    transitions: tuple[RowSpec, ...] = ()
    doc: Text | None = None
    context: Reference | None = None
    events: dict[str, EventSpec] = attrs.field(factory=dict)
    groups: dict[str, GroupSpec] = attrs.field(factory=dict)
    guards: dict[str, MethodSpec] | None = None
    actions: dict[str, MethodSpec] | None = None
    delays: dict[str, MethodSpec] | None = None
    barriers: BarriersSpec | None = None
    error: Name | None = None
    unhandled: UnhandledSpec | None = None
    checks: dict[str, CheckSpec] = attrs.field(factory=dict)

    @property
    def file(self) -> str:
        """The file as the caller named it."""
        return self.at.file

    def barrier_states(self) -> tuple[StateSpec, ...]:
        """The states that declare a barrier, in file order."""
        return tuple(state for state in self.states.values() if state.barrier is not None)
