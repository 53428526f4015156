"""What the names in one file mean in the whole machine, when the file is used under a prefix."""

from __future__ import annotations

import attrs

from pawl.tools.compiler.model import Position
from pawl.tools.compiler.protocol import APPLY_PREFIX, PREPARE
from pawl.tools.compiler.scope import EVERY
from pawl.tools.compiler.spec import AfterSpec, BarriersSpec, GroupSpec, Name, Names, RowSpec, StateSpec


@attrs.frozen(eq=False)
class Frame:
    """One use of one file.

    `prefix` is the whole one, '' for the machine itself; `via` where the use stands; `states` and `groups` what the
    file calls its own; `given` what its exits and parameters stand for, each with the frame in which that is read;
    `entries` the prefixes of its own uses, each with the state that a row to it leads to.
    """

    prefix: str
    via: Position | None
    states: frozenset[str]
    groups: frozenset[str]
    given: dict[str, tuple[Name, Frame]]
    entries: dict[str, str | None] = attrs.field(factory=dict)

    # -- one name, by what it has to be --------------------------------------------------------------------------

    def at(self, position: Position) -> Position:
        """The place of something in this file, with the way there."""
        return attrs.evolve(position, via=self.via) if self.via is not None else position

    def placed(self, name: Name) -> Name:
        """The same name with its place."""
        return self._as(name, name.text)

    def own(self, name: Name) -> Name:
        """A name that belongs to this file."""
        return self._as(name, f"{self.prefix}.{name.text}" if self.prefix else name.text)

    def state(self, name: Name) -> Name:
        """A state that something leads to; of a use, its way in."""
        if name.text in self.given:
            value, user = self.given[name.text]
            return user.state(value)
        entry = self.entries.get(name.text)
        return self._as(name, entry) if entry is not None else self.own(name)

    def source(self, name: Name) -> Name:
        """A state, a group of states or a wildcard in `from`."""
        if name.text in self.given:
            value, user = self.given[name.text]
            return user.source(value)
        return self.own(name)

    def event(self, name: Name) -> Name:
        """An event or a group of events."""
        if name.text in self.given:
            value, user = self.given[name.text]
            return user.event(value)
        return self.own(name) if name.text in self.groups else self.placed(name)

    def member(self, name: Name) -> Name:
        """A state or an event in a group."""
        if name.text in self.given:
            value, user = self.given[name.text]
            return user.member(value)
        mine = name.text.partition(".")[0] in self.states or name.text.partition(".")[0] in self.entries
        return self.own(name) if mine else self.placed(name)

    def method(self, name: Name) -> Name:
        """A guard, an action, a delay, or any other word that is the same in the whole machine."""
        for before in ("", APPLY_PREFIX, PREPARE):
            word = name.text.removeprefix(before)
            if name.text.startswith(before) and word in self.given:
                value, user = self.given[word]
                found = user.method(value)
                return attrs.evolve(found, text=f"{before}{found.text}")
        return self.placed(name)

    # -- what is written -----------------------------------------------------------------------------------------

    def state_spec(self, state: StateSpec) -> StateSpec:
        """An entry of `states`; the way into a use is no beginning of the machine."""
        return attrs.evolve(
            state,
            at=self.at(state.at),
            name=self.own(state.name),
            initial=state.initial and not self.prefix,
            enter=tuple(map(self.method, state.enter)),
            after=self._after(state.after) if state.after is not None else None,
            barrier=self._maybe(state.barrier),
            effect=self._maybe(state.effect),
            behind=self._maybe(state.behind),
            outcome=self._maybe(state.outcome),
            refused=self._target(state.refused),
            stop=self._target(state.stop),
            unwritten=self._target(state.unwritten),
            conflict=self._target(state.conflict),
            superseded=self._target(state.superseded),
        )

    def row(self, row: RowSpec) -> RowSpec:
        """An item of `transitions`."""
        return attrs.evolve(
            row,
            at=self.at(row.at),
            source=tuple(map(self.source, row.source)),
            event=self.events(row.event),
            target=self._target(row.target),
            when=tuple(map(self.method, row.when)),
            unless=tuple(map(self.method, row.unless)),
            do=tuple(map(self.method, row.do)),
        )

    def group(self, group: GroupSpec) -> GroupSpec:
        """An entry of `groups`."""
        return GroupSpec(self.at(group.at), self.own(group.name), tuple(map(self.member, group.members)))

    def barriers(self, barriers: BarriersSpec) -> BarriersSpec:
        """`barriers`, of a machine."""
        return attrs.evolve(
            barriers,
            stop=self.events(barriers.stop),
            lost=self.event(barriers.lost) if barriers.lost is not None else None,
            conflict=self._target(barriers.conflict),
            superseded=self._target(barriers.superseded),
        )

    def events(self, names: Names) -> Names:
        """A list of events and groups of events; `*` stays what it is."""
        return tuple(name if name.text == EVERY else self.event(name) for name in names)

    def _after(self, after: AfterSpec) -> AfterSpec:
        return attrs.evolve(after, at=self.at(after.at), delay=self.method(after.delay), event=self.event(after.event))

    def _target(self, name: Name | None) -> Name | None:
        return self.state(name) if name is not None else None

    def _maybe(self, name: Name | None) -> Name | None:
        return self.method(name) if name is not None else None

    def _as(self, name: Name, text: str) -> Name:
        return Name(text, self.at(name.at), name.plain)
