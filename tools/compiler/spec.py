"""The spec as written: one attrs class for each mapping of the language, every leaf with its place in the file.

Field metadata: `key` is the word in the file where Python cannot use it as a name, `says` what an editor shows for
it, `needs` the key beside which alone it means something, `only` the one value there is, `every` that `*` may stand
there, `fallback` what stands in for a refused value, and `made` marks what no file holds. A class with a `name` field
is the value of a mapping entry and gets its name from the key. Structurer and JSON Schema are made from these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

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


@attrs.frozen
class File(Scalar):
    """The path of another file, from this one's folder."""


@attrs.frozen
class Hash(Scalar):
    """The hash of a spec, or how it begins."""


class Authority(StrEnum):
    """What must still be current when an event arrives."""

    SESSION = "session"
    REVISION = "revision"


Names = tuple[Name, ...]


def says(text: str, **more: Any) -> dict[str, Any]:
    """Field metadata: `text` for editors, and whatever else the module's docstring lists."""
    return {"says": text, **more}


LANGUAGE = 1
"""The version of the spec language that this compiler reads (`pawl: 1`)."""

MADE: dict[str, Any] = {"made": True}
"""Metadata of a field that no file holds."""


@attrs.frozen
class AfterSpec:
    """`after:` of a state."""

    at: Position
    delay: Name = attrs.field(metadata=says("The context method that gives seconds, or None for no timer."))
    event: Name = attrs.field(metadata=says("The event that is due when they are over.", key="on"))
    resume: Resume = attrs.field(
        default=Resume.DEADLINE, metadata=says("What a restored session does with a timer that was armed before.")
    )


@attrs.frozen
class StateSpec:
    """One entry of `states:`."""

    at: Position
    name: Name
    initial: bool = attrs.field(default=False, metadata=says("Where every session starts; in a fragment, the way in."))
    auto: bool = attrs.field(default=False, metadata=says("Takes its rows without `on` at once, on entry."))
    wait: bool = attrs.field(default=False, metadata=says("Ends the session; a later one resumes here."))
    final: bool = attrs.field(default=False, metadata=says("The end."))
    halt: bool = attrs.field(default=False, metadata=says("The end for this process: a person has to look."))
    enter: Names = attrs.field(default=(), metadata=says("Actions on entry, in order."))
    after: AfterSpec | None = attrs.field(default=None, metadata=says("A timer, armed on entry."))
    barrier: Name | None = attrs.field(
        default=None, metadata=says("Entered only after this durable write was confirmed.")
    )
    refused: Name | None = attrs.field(
        default=None, metadata=says("The state for a write that was refused for good.", needs="barrier")
    )
    stop: Name | None = attrs.field(
        default=None, metadata=says("The state for a stop that was noted before the answer came.", needs="barrier")
    )
    unwritten: Name | None = attrs.field(
        default=None, metadata=says("The same where nothing is on disk; `stop` where left out.", needs="barrier")
    )
    conflict: Name | None = attrs.field(
        default=None, metadata=says("The state when something else is on disk.", needs="barrier")
    )
    superseded: Name | None = attrs.field(
        default=None, metadata=says("The state when somebody else owns the session.", needs="barrier")
    )
    records: bool = attrs.field(
        default=False, metadata=says("The write is of what has happened already: no stop is taken.", needs="barrier")
    )
    effect: Name | None = attrs.field(
        default=None, metadata=says("What reaches outside on entry; it has to be behind a barrier.")
    )
    behind: Name | None = attrs.field(
        default=None,
        metadata=says("MACHINE.BARRIER: the barrier of another machine that it is behind.", needs="effect"),
    )
    outcome: Name | None = attrs.field(default=None, metadata=says("What the caller learns.", needs="final"))
    label: Text | None = attrs.field(default=None, metadata=says("Its name in diagrams."))
    doc: Text | None = attrs.field(default=None, metadata=says("What it is."))


@attrs.frozen
class EventSpec:
    """One entry of `events:`."""

    at: Position
    name: Name
    payload: Reference | None = attrs.field(
        default=None, metadata=says("The class of what comes along, as package.module:Class; for type checkers.")
    )
    authority: tuple[Authority, ...] = attrs.field(
        default=(), metadata=says("What must still be current when it arrives.")
    )
    correlate: Name | None = attrs.field(default=None, metadata=says("The id that must match."))
    label: Text | None = attrs.field(default=None, metadata=says("Its name for people."))
    doc: Text | None = attrs.field(default=None, metadata=says("What it tells."))


@attrs.frozen
class GroupSpec:
    """One entry of `groups:`."""

    at: Position
    name: Name
    members: Names = ()


@attrs.frozen
class MethodSpec:
    """One entry of `guards:`, `actions:`, `delays:`, `exits:` or `parameters:`."""

    at: Position
    name: Name
    doc: Text | None = None


@attrs.frozen
class BarriersSpec:
    """`barriers:`, what holds for every barrier of the machine."""

    at: Position
    stop: Names = attrs.field(default=(), metadata=says("The events that ask to stop."))
    lost: Name | None = attrs.field(default=None, metadata=says("The one of them which says that ownership is lost."))
    conflict: Name | None = attrs.field(
        default=None, metadata=says("The state when something else is on disk, unless a barrier names one.")
    )
    superseded: Name | None = attrs.field(
        default=None, metadata=says("The state when somebody else owns the session, unless a barrier names one.")
    )


@attrs.frozen
class RowSpec:
    """One item of `transitions:`."""

    at: Position
    source: Names = attrs.field(
        metadata=says('States or groups; "*" is every state that does not decide it itself.', key="from", every=True)
    )
    target: Name | None = attrs.field(
        default=None, metadata=says("The next state; without it the machine stays.", key="to")
    )
    event: Names = attrs.field(
        default=(), metadata=says("Events or groups of them; without it the row is automatic.", key="on")
    )
    when: Names = attrs.field(default=(), metadata=says("Guards that must agree."))
    unless: Names = attrs.field(default=(), metadata=says("Guards that must not agree."))
    do: Names = attrs.field(default=(), metadata=says("Actions on the way, before those of the state entered."))
    doc: Text | None = attrs.field(default=None, metadata=says("Why it is there."))


@attrs.frozen
class UnhandledSpec:
    """`unhandled:`, what an event without a row means."""

    at: Position
    ignore: Names = attrs.field(default=(), metadata=says("Nothing happens.", every=True))
    stale: Names = attrs.field(default=(), metadata=says("Too late to mean anything: it is counted.", every=True))
    refuse: Names = attrs.field(default=(), metadata=says("The sender gets an error.", every=True))

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
class MoveSpec:
    """One entry of `states:` or `waits:` of a migration: a state of another version, and where it leads."""

    at: Position
    name: Name
    value: Name


@attrs.frozen
class MigrationSpec:
    """One item of `migrations:`, what becomes of sessions that another version has saved."""

    at: Position
    source: Hash = attrs.field(
        metadata=says("The spec_hash under which they were saved, or its first 12 characters or more.", key="from")
    )
    version: int = attrs.field(metadata=says("The version of the machine that saved them.", fallback=1))
    target: Hash | None = attrs.field(
        default=None,
        metadata=says("The hash of the version that they are led to, by whose item they go on; else this.", key="to"),
    )
    compatible: bool = attrs.field(
        default=False, metadata=says("Every state that is not named here goes on under its own name.")
    )
    states: dict[str, MoveSpec] = attrs.field(
        factory=dict, metadata=says("States of that version, and where their sessions go on; none of them waits.")
    )
    waits: dict[str, MoveSpec] = attrs.field(
        factory=dict, metadata=says("The same for wait states; they lead to wait states.")
    )
    refuse: Names = attrs.field(default=(), metadata=says("States of that version that nothing goes on from."))
    doc: Text | None = attrs.field(default=None, metadata=says("Why it is so."))


@attrs.frozen
class BindSpec:
    """One entry of `with:`, what a name of the fragment stands for."""

    at: Position
    name: Name
    value: Name


@attrs.frozen
class UseSpec:
    """One item of `use:`; `FRAGMENT as PREFIX` is the same in short."""

    at: Position
    fragment: Name = attrs.field(metadata=says("The `fragment:` name of an included file."))
    prefix: Name | None = attrs.field(
        default=None, metadata=says("What its states are called by: PREFIX.state.", key="as")
    )
    given: dict[str, BindSpec] = attrs.field(
        factory=dict, metadata=says("What each exit and parameter stands for.", key="with")
    )


@attrs.frozen
class Fragment:
    """A whole file that is a part of machines."""

    at: Position
    pawl: int = attrs.field(metadata=says("The version of the language.", only=LANGUAGE, fallback=1))
    fragment: Name = attrs.field(metadata=says("Its name.", fallback="unnamed"))
    doc: Text | None = attrs.field(default=None, metadata=says("What it is."))
    include: tuple[File, ...] = attrs.field(
        default=(), metadata=says("Files with the fragments that it uses, from its own folder.")
    )
    use: tuple[UseSpec, ...] = attrs.field(default=(), metadata=says("Fragments, each as many times as wanted."))
    exits: dict[str, MethodSpec] = attrs.field(
        factory=dict, metadata=says("States of whoever uses it, by what they mean to it.")
    )
    parameters: dict[str, MethodSpec] = attrs.field(
        factory=dict, metadata=says("Guards, actions, delays and other names that each use chooses.")
    )
    states: dict[str, StateSpec] = attrs.field(factory=dict, metadata=says("Its states."))
    transitions: tuple[RowSpec, ...] = attrs.field(
        default=(), metadata=says("Rows, in order: the first whose guards agree wins.")
    )
    events: dict[str, EventSpec] = attrs.field(factory=dict, metadata=says("Events, shared with whoever uses it."))
    groups: dict[str, GroupSpec] = attrs.field(factory=dict, metadata=says("Its names for several states or events."))
    guards: dict[str, MethodSpec] | None = attrs.field(default=None, metadata=says("Questions, and what they mean."))
    actions: dict[str, MethodSpec] | None = attrs.field(default=None, metadata=says("Actions, and what they do."))
    delays: dict[str, MethodSpec] | None = attrs.field(default=None, metadata=says("Delays, and what they are for."))
    unhandled: UnhandledSpec | None = attrs.field(
        default=None, metadata=says("What its events mean without a row, where nobody else says.")
    )

    @property
    def file(self) -> str:
        """The file as it was named first."""
        return self.at.file


@attrs.frozen
class Spec:
    """A whole machine. A `fallback` stands in for a value that was refused, so that the rest can be checked."""

    at: Position
    pawl: int = attrs.field(metadata=says("The version of the language.", only=LANGUAGE, fallback=1))
    machine: Name = attrs.field(metadata=says("Its name; it names the generated module.", fallback="unnamed"))
    version: int = attrs.field(
        metadata=says("Its version; raise it when saved sessions should no longer load.", fallback=1)
    )
    states: dict[str, StateSpec] = attrs.field(metadata=says("Its states."))
    transitions: tuple[RowSpec, ...] = attrs.field(
        default=(), metadata=says("Rows, in order: the first whose guards agree wins.")
    )
    doc: Text | None = attrs.field(default=None, metadata=says("What it is."))
    include: tuple[File, ...] = attrs.field(
        default=(), metadata=says("Files with the fragments that it uses, from its own folder.")
    )
    use: tuple[UseSpec, ...] = attrs.field(default=(), metadata=says("Fragments, each as many times as wanted."))
    context: Reference | None = attrs.field(
        default=None, metadata=says("package.module:Class with all guards, actions and delays; for type checkers.")
    )
    events: dict[str, EventSpec] = attrs.field(factory=dict, metadata=says("What can happen."))
    groups: dict[str, GroupSpec] = attrs.field(factory=dict, metadata=says("Names for several states, or events."))
    guards: dict[str, MethodSpec] | None = attrs.field(default=None, metadata=says("Questions, and what they mean."))
    actions: dict[str, MethodSpec] | None = attrs.field(default=None, metadata=says("Actions, and what they do."))
    delays: dict[str, MethodSpec] | None = attrs.field(default=None, metadata=says("Delays, and what they are for."))
    barriers: BarriersSpec | None = attrs.field(default=None, metadata=says("What holds for every barrier."))
    error: Name | None = attrs.field(
        default=None, metadata=says("The state to go to when a guard or an action raises.")
    )
    unhandled: UnhandledSpec | None = attrs.field(default=None, metadata=says("What an event without a row means."))
    checks: dict[str, CheckSpec] = attrs.field(factory=dict, metadata=says("How much the W rules weigh here."))
    migrations: tuple[MigrationSpec, ...] = attrs.field(
        default=(), metadata=says("What becomes of sessions that other versions have saved.")
    )
    fragments: dict[Position, Fragment] = attrs.field(factory=dict, metadata=MADE)
    """Place of its first use to the fragment, for every fragment that is in it."""
    prefixes: dict[Position, str] = attrs.field(factory=dict, metadata=MADE)
    """Place of a use (`via` of whatever it brought) to the prefix that its states have in the whole, or ''."""

    @property
    def file(self) -> str:
        """The file as the caller named it."""
        return self.at.file

    def parts(self) -> tuple[tuple[Position | None, Part], ...]:
        """The files that it is made of, its own and those of its fragments, each with where it is used first."""
        return ((None, self), *self.fragments.items())

    def barrier_states(self) -> tuple[StateSpec, ...]:
        """The states that declare a barrier, in file order."""
        return tuple(state for state in self.states.values() if state.barrier is not None)

    def prefix(self, name: Scalar) -> str:
        """What a name out of a fragment has in front, dot included; '' for one that the machine has itself."""
        used = self.prefixes.get(name.at.via, "") if name.at.via is not None else ""
        return f"{used}." if used else ""

    def local(self, name: Scalar) -> str:
        """The name as it was written, in the file where it stands."""
        return name.text.removeprefix(self.prefix(name))


Part: TypeAlias = Spec | Fragment
"""What a file holds."""


def keys(cls: type[Any]) -> Mapping[str, Any]:
    """Word in the file to the attribute that holds it, for the keys that a mapping of class `cls` may have."""
    attrs.resolve_types(cls)
    fields = [a for a in attrs.fields(cls) if a.name not in ("at", "name") and not a.metadata.get("made")]
    return {a.metadata.get("key", a.name): a for a in fields}
