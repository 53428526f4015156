"""Which names a spec knows, and what each stands for where rows and lists use it."""

from __future__ import annotations

from functools import cached_property

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.protocol import APPLY, APPLY_PREFIX, LOST, PREPARE, STOP, Protocol
from pawl.tools.compiler.spec import Name, Names, Spec, StateSpec

EVERY = "*"
"""In `from`, each state that does not decide the event itself; in `unhandled`, each event that no other list names."""


@attrs.frozen(slots=False)
class Scope:
    """The names of one spec. `protocol` is what its barriers expand to; None when it has none."""

    spec: Spec
    protocol: Protocol | None

    @cached_property
    def inner(self) -> dict[str, StateSpec]:
        """Inner state of a barrier (`settling.committing`) to the state that declares it."""
        if self.protocol is None:
            return {}
        names = self.protocol.inner
        return {f"{state.name.text}.{name}": state for state in self.spec.barrier_states() for name in names}

    @cached_property
    def states(self) -> frozenset[str]:
        """Every state name, inner states of barriers included."""
        return frozenset(self.spec.states) | frozenset(self.inner)

    @cached_property
    def protocol_events(self) -> tuple[str, ...]:
        """The events that barriers bring along; the stop events are the machine's own."""
        if self.protocol is None:
            return ()
        return tuple(event.name for event in self.protocol.machine.events if event.name not in (STOP, LOST))

    @cached_property
    def events(self) -> frozenset[str]:
        """Every event name, those that need no declaration included."""
        return frozenset(self.spec.events) | frozenset(self.protocol_events) | {INTERNAL_ERROR}

    @cached_property
    def brought(self) -> dict[str, str]:
        """The context methods that barriers bring along, each with what it is: guard, action or delay."""
        if self.protocol is None:
            return {}
        machine = self.protocol.machine
        found = dict.fromkeys(machine.guards, "guard") | dict.fromkeys(machine.delays, "delay")
        found |= {name: "action" for name in machine.actions if name != APPLY}
        names = [state.barrier.text for state in self.spec.barrier_states() if state.barrier is not None]
        return found | {f"{prefix}{name}": "action" for name in names for prefix in (PREPARE, APPLY_PREFIX)}

    def states_of(self, name: str) -> tuple[str, ...]:
        """The states that `name` in `from:` stands for; none when it is unknown."""
        return self._members(name, self.states)

    def events_of(self, name: str) -> tuple[str, ...]:
        """The events that `name` in `on:` stands for; none when it is unknown."""
        return self._members(name, self.events)

    def _members(self, name: str, known: frozenset[str]) -> tuple[str, ...]:
        if name in known:
            return (name,)
        group = self.spec.groups.get(name)
        return tuple(member.text for member in group.members if member.text in known) if group is not None else ()

    def sources(self, names: Names) -> tuple[str, ...]:
        """The states that a `from:` list stands for, in order, each once."""
        return tuple(dict.fromkeys(state for text in _texts(names) for state in self.states_of(text)))

    def handled(self, names: Names) -> tuple[str, ...]:
        """The events that an `on:` list stands for, in order, each once."""
        return tuple(dict.fromkeys(event for text in _texts(names) for event in self.events_of(text)))

    def is_wildcard(self, name: Name) -> bool:
        """Whether `name` in `from:` is `*`, or `PREFIX.*` with the prefix of a use."""
        head, dot, tail = name.text.rpartition(".")
        return tail == EVERY and (not dot or head in self.used)

    @cached_property
    def used(self) -> frozenset[str]:
        """The prefixes under which fragments are used."""
        return frozenset(self.spec.prefixes.values()) - {""}

    def depth(self, name: Position) -> int:
        """How deep in uses of uses the place of something is; 0 for the machine's own file."""
        prefix = self.spec.prefixes.get(name.via, "") if name.via is not None else ""
        return prefix.count(".") + bool(prefix)

    @cached_property
    def stops(self) -> tuple[str, ...]:
        """The events that ask barriers to stop, in order."""
        return self.handled(self.spec.barriers.stop) if self.spec.barriers is not None else ()

    @cached_property
    def lost(self) -> str | None:
        """The stop event that says that ownership is lost."""
        barriers = self.spec.barriers
        return barriers.lost.text if barriers is not None and barriers.lost is not None else None


def _texts(names: Names) -> dict[str, None]:
    return dict.fromkeys(name.text for name in names)
