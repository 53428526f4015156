"""A spec with its fragments written out: one whole spec, each name as the machine will have it, positions kept.

A name in a fragment is one of these: a state or a group of its own, which gets the prefix of the use; an exit or a
parameter, which is replaced by what the use says, read where the use stands; or anything else (an event, a guard, an
action, a delay), which means the same in the whole machine. So no name of one fragment is ever taken for one of
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import attrs

from pawl.tools.compiler.assemble import MAX_ROWS, MAX_STATES
from pawl.tools.compiler.canonical import meaning
from pawl.tools.compiler.findings import MOST_FINDINGS, Finding, Severity, line_of, listed, quoted, suggest
from pawl.tools.compiler.include import Included, Includes
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.rename import Frame
from pawl.tools.compiler.spec import EventSpec, Fragment, GroupSpec, Name, Part, RowSpec, Spec, StateSpec, UseSpec
from pawl.tools.compiler.unhandled import merged

T = TypeVar("T")


def compose(spec: Spec, includes: Includes) -> tuple[Spec, tuple[Finding, ...]]:
    """`spec` with every fragment that it uses in it, and what is wrong with the uses."""
    if not spec.use:
        return spec, ()
    composer = _Composer(spec, includes.whole)
    return composer.compose(includes.fragments), tuple(composer.findings)


@attrs.frozen
class _Opened:
    """A file in its place, with what it uses, in order."""

    part: Part
    frame: Frame
    used: tuple[_Opened, ...]


class _TooLarge(Exception):
    """The fragments of fragments make more than any machine may have."""


class _Composer:
    def __init__(self, spec: Spec, whole: bool) -> None:
        self.spec, self.whole = spec, whole
        self.findings: list[Finding] = []
        self.states: dict[str, StateSpec] = {}
        self.events: dict[str, EventSpec] = {}
        self.groups: dict[str, GroupSpec] = {}
        self.rows: list[RowSpec] = []
        self.places: dict[tuple[str, str], Position] = {}
        self.prefixes: dict[Position, str] = {}
        self.parts: list[tuple[Part, Frame]] = []
        self.shared: set[tuple[str, int]] = set()
        self.uses = 0

    def compose(self, fragments: dict[str, Included]) -> Spec:
        spec = self.spec
        frame = _frame(spec, fragments, "", None)
        try:
            self._take(self._open(spec, frame, fragments))
        except _TooLarge:
            message = f"the fragments make more than {MAX_STATES:,} states or {MAX_ROWS:,} rows; use fewer of them"
            self._wrong("Y03", spec.machine.at, message)
            return spec
        barriers = spec.barriers
        return attrs.evolve(
            spec,
            states=self.states,
            events=self.events,
            groups=self.groups,
            transitions=tuple(self.rows),
            barriers=frame.barriers(barriers) if barriers is not None else None,
            error=frame.state(spec.error) if spec.error is not None else None,
            unhandled=merged(self.parts, self.groups),
            fragments=self._fragments(),
            prefixes=self.prefixes,
        )

    def _fragments(self) -> dict[Position, Fragment]:
        first: dict[int, tuple[Position, Fragment]] = {}
        for part, frame in self.parts:
            if isinstance(part, Fragment) and frame.via is not None:
                first.setdefault(id(part), (frame.via, part))
        return dict(first.values())

    def _open(self, part: Part, frame: Frame, fragments: dict[str, Included]) -> _Opened:
        """The file with all that it uses: every way in is known before the first row is read."""
        used = [found for use in part.use if (found := self._use(use, part, frame, fragments)) is not None]
        return _Opened(part, frame, tuple(self._open(each.fragment, inner, each.included) for each, inner in used))

    def _take(self, opened: _Opened) -> None:
        """Everything that is written in one file, and then what it uses, in order."""
        part, frame = opened.part, opened.frame
        self.parts.append((part, frame))
        for state in part.states.values():
            placed = frame.state_spec(state)
            self._declare("state", state.name, placed.name, placed, self.states)
        for event in part.events.values():
            self._event(attrs.evolve(event, name=frame.placed(event.name), at=frame.at(event.at)), frame)
        for group in part.groups.values():
            members = frame.group(group)
            self._declare("group", group.name, members.name, members, self.groups)
        self.rows += (frame.row(row) for row in part.transitions)
        if len(self.states) > MAX_STATES or len(self.rows) > MAX_ROWS:
            raise _TooLarge
        for inner in opened.used:
            before = len(self.states)
            self._take(inner)
            if inner.frame.prefix != frame.prefix:
                self._as_group(inner.frame, list(self.states)[before:])

    def _as_group(self, inner: Frame, names: list[str]) -> None:
        """The prefix of a use stands for all of its states."""
        assert inner.via is not None
        members = tuple(Name(name, inner.via) for name in names)
        self.groups[inner.prefix] = GroupSpec(inner.via, Name(inner.prefix, inner.via), members)

    def _use(
        self, use: UseSpec, part: Part, frame: Frame, fragments: dict[str, Included]
    ) -> tuple[Included, Frame] | None:
        """The fragment of one use and its frame, which `frame` knows from now on; None when it cannot be used."""
        self.uses += 1
        if self.uses > MAX_STATES:
            raise _TooLarge
        found = fragments.get(use.fragment.text)
        if found is None:
            if self.whole:  # else its file may be the one that could not be read
                advice = suggest(use.fragment.text, fragments, "add its file to `include`")
                self._wrong("Y17", frame.at(use.fragment.at), f"unknown fragment {quoted(use.fragment.text)}; {advice}")
            return None
        if use.prefix is None and not use.given:
            key = (frame.prefix, id(found.fragment))
            if key in self.shared:
                return None  # it is there already, for another file that has come to share the names
            self.shared.add(key)
        if use.prefix is not None and (taken := _taken(use.prefix.text, part, frame)) is not None:
            message = f"{quoted(use.prefix.text)} is {taken}; use the fragment as something else"
            self._wrong("E02", frame.at(use.prefix.at), message)
            return None
        self._fits(use, found.fragment, frame)
        prefix = ".".join(word for word in (frame.prefix, use.prefix.text if use.prefix is not None else "") if word)
        inner = _frame(found.fragment, found.included, prefix, frame.at(use.at), (use, frame))
        if use.prefix is not None:
            frame.entries[use.prefix.text] = self._entry(found, inner)
        self.prefixes[frame.at(use.at)] = prefix
        return found, inner

    def _fits(self, use: UseSpec, fragment: Fragment, frame: Frame) -> None:
        """Y17 for a name that the fragment does not ask for, or one that it asks for in vain."""
        asked = {**fragment.exits, **fragment.parameters}
        for bind in use.given.values():
            if bind.name.text not in asked:
                nothing = f"it asks for {listed(asked)}" if asked else "it asks for nothing, remove it"
                advice = suggest(bind.name.text, asked, nothing)
                asker = quoted(fragment.fragment.text)
                what = f"the fragment {asker} has no exit or parameter {quoted(bind.name.text)}"
                self._wrong("Y17", frame.at(bind.name.at), f"{what}; {advice}")
        missing = [name for name in asked if name not in use.given]
        if missing:
            what = f"the use does not say what {listed(missing)} of {quoted(fragment.fragment.text)} stands for"
            example = ", ".join(f"{name}: …" for name in missing[:4])
            self._wrong("Y17", frame.at(use.fragment.at), f"{what}; add `with: {{{example}}}`")

    def _entry(self, included: Included, frame: Frame) -> str | None:
        """The state that a row to the prefix leads to."""
        marked = _initial(included)
        for state in marked[1:]:
            what = f"{quoted(state.name.text)} is initial, and so is {quoted(marked[0].name.text)}"
            self._wrong("E03", frame.at(state.at), f"{what} ({line_of(marked[0].at, state.at)}); keep one")
        return frame.own(marked[0].name).text if marked else None

    def _declare(self, kind: str, written: Name, whole: Name, value: T, known: dict[str, T]) -> None:
        if whole.text in known:
            what = f"the {kind} {quoted(written.text)} is also in {self.places[kind, whole.text]}"
            self._wrong("E02", whole.at, f"{what}; rename one of them, or use the fragment `as` something")
            return
        known[whole.text] = value
        self.places[kind, whole.text] = whole.at

    def _event(self, event: EventSpec, frame: Frame) -> None:
        """An event may be declared by everybody who speaks of it, as long as all say the same."""
        whole = attrs.evolve(event, correlate=frame.method(event.correlate) if event.correlate is not None else None)
        other = self.events.setdefault(event.name.text, whole)
        if meaning(attrs.evolve(other, name=whole.name)) != meaning(whole):
            where = f"the event {quoted(event.name.text)} is declared in another way in {other.name.at}"
            self._wrong("E02", event.name.at, f"{where}; say the same in both places, or remove one")

    def _wrong(self, rule: str, at: Position, message: str) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(rule, Severity.ERROR, at, message))


def _initial(included: Included) -> list[StateSpec]:
    """The states marked as the way in, here and in what is used without a prefix."""
    parts = _together(included.fragment, included.included)
    return [state for part in parts for state in part.states.values() if state.initial]


def _frame(
    part: Part,
    included: dict[str, Included],
    prefix: str,
    via: Position | None,
    by: tuple[UseSpec, Frame] | None = None,
) -> Frame:
    """A file without a prefix of its own shares what is called its own with whoever uses it."""
    given: dict[str, tuple[Name, Frame]] = {}
    if by is not None:
        use, user = by
        given = {name: (bind.value, user) for name, bind in use.given.items()}
        if use.prefix is None:
            return Frame(prefix, via, user.states, user.groups, given, user.entries)
    files = list(_together(part, included))
    states = frozenset(name for each in files for name in each.states)
    return Frame(prefix, via, states, frozenset(name for each in files for name in each.groups), given)


def _together(part: Part, included: dict[str, Included]) -> Iterator[Part]:
    """A file, and those that it uses without a prefix, and so on; each once."""
    work, seen = [(part, included)], {id(part)}
    while work:
        here, known = work.pop()
        yield here
        for use in here.use:
            found = known.get(use.fragment.text) if use.prefix is None else None
            if found is not None and id(found.fragment) not in seen:
                seen.add(id(found.fragment))
                work.append((found.fragment, found.included))


def _taken(prefix: str, part: Part, frame: Frame) -> str | None:
    """What else is called like the prefix of a use."""
    named: Iterable[tuple[str, Callable[[str], bool]]] = (
        ("the name of a state", frame.states.__contains__),
        ("the name of a group", frame.groups.__contains__),
        ("the name of an event", part.events.__contains__),
        ("an exit or parameter of this fragment", frame.given.__contains__),
        ("the prefix of another use", frame.entries.__contains__),
    )
    return next((what for what, known in named if known(prefix)), None)
