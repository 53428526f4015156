"""E02, E05, E06, E10: names that are taken, reserved, or no names at all."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

import attrs

from pawl.tools.compiler.checks import mentions
from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.findings import line_of, quoted
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.names import LONGEST, folded, is_group_name, is_name, reserved
from pawl.tools.compiler.scope import EVERY
from pawl.tools.compiler.spec import Fragment, Name, Names, Spec


def duplicate(subject: Subject) -> Found:
    """E02: a list that names a thing twice, a group with the name of a state or event, two machines of one name."""
    spec = subject.spec
    for names in _lists(spec):
        first: dict[str, Name] = {}
        for name in names:
            if name.text in first:
                yield name.at, f"{quoted(spec.local(name))} is listed twice; remove one"
            first.setdefault(name.text, name)
    for group in spec.groups.values():
        if group.name.text in subject.scope.used:
            continue  # a use; it was looked at when it was written out
        what = f"the group {quoted(spec.local(group.name))}"
        for kind, known in (("a state", spec.states), ("an event", spec.events)):
            if group.name.text in known:
                yield group.name.at, f"{what} has the name of {kind}; rename the group"
    for other in subject.run:
        same = other.machine.text == spec.machine.text and spec.machine.at != spec.at
        if same and other.file < spec.file:
            yield (
                spec.machine.at,
                f"the machine {quoted(spec.machine.text)} is also in {other.file}; rename one of them",
            )


def colliding(subject: Subject) -> Found:
    """E05: names that differ for a reader and are the same identifier where the compiler writes them."""
    spec = subject.spec
    yield from _collisions("states", [state.name for state in spec.states.values()])
    yield from _collisions("events", [event.name for event in spec.events.values()])
    yield from _collisions("outcomes", mentions.outcomes(spec))
    kinds = dict(subject.scope.brought)
    seen: set[tuple[str, str]] = set()
    for kind, name in mentions.methods(spec):
        other = kinds.setdefault(name.text, kind)
        if other != kind and (kind, name.text) not in seen:
            seen.add((kind, name.text))
            yield (
                name.at,
                f"{quoted(name.text)} is used as {kind} here and as {other} elsewhere, and the context has one method "
                "of that name; rename one",
            )


def reserved_name(subject: Subject) -> Found:
    """E06: a name that Python, its enum or its standard library needs for itself."""
    spec = subject.spec
    why = reserved(spec.machine.text, module=True)
    if why is not None:
        yield spec.machine.at, f"{quoted(spec.machine.text)} is {why}; choose another name for the machine"
    seen: set[str] = set()
    for name in _identifiers(spec):
        text = spec.local(name)
        why = reserved(text) if is_name(text) else None
        if why is not None and name.text not in seen:
            seen.add(name.text)
            yield name.at, f"{quoted(text)} is {why}; choose another name"


def not_a_name(subject: Subject) -> Found:
    """E10: a number, a time, a sentence or nothing where a name was meant."""
    spec = subject.spec
    seen: set[str] = set()
    if not (is_name(spec.machine.text) and spec.machine.text.isascii()):
        yield spec.machine.at, f"{quoted(spec.machine.text)} is not a machine name; {_advice(spec.machine.text, True)}"
    for valid, name in _all_names(spec):
        text = spec.local(name)
        if name.text not in seen and not valid(text):
            seen.add(name.text)
            yield name.at, f"{quoted(text)} is not a name; {_advice(text)}"


def is_mention(text: str) -> bool:
    """Whether `text` may stand where a state, an event or a group is used."""
    return is_group_name(text) or _is_dotted(text)


def _is_source(text: str) -> bool:
    """Whether `text` may stand in `from`: a state, a group, or a wildcard."""
    return text == EVERY or is_mention(text.removesuffix(f".{EVERY}"))


def _is_dotted(text: str) -> bool:
    """A state inside of a barrier, or of a use of a fragment."""
    *heads, tail = text.split(".")
    return bool(heads) and all(map(is_name, heads)) and is_group_name(tail)


def _is_behind(text: str) -> bool:
    """`machine.barrier`."""
    return text.count(".") == 1 and all(map(is_name, text.split(".")))


def _advice(text: str, ascii_only: bool = False) -> str:
    if text == EVERY:
        return "it is every state in `from`, and every other event in `unhandled`; name what is meant here"
    if len(text) > LONGEST:
        return f"a name has at most {LONGEST} characters"
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", unicodedata.normalize("NFKC", text)))
    proposal = "_".join(words).lower() if re.fullmatch(r"[\w\s.-]+", text) else ""
    if proposal != text and is_name(proposal) and (proposal.isascii() or not ascii_only):
        return f"write {quoted(proposal)}"
    return "write lower-case letters, digits and single underscores, a letter first"


def _collisions(what: str, names: list[Name] | Iterator[Name]) -> Found:
    first: dict[str, Name] = {}
    for name in names:
        other = first.setdefault(folded(name.text), name)
        if other.text != name.text:
            pair = f"the {what} {quoted(name.text)} and {quoted(other.text)} ({line_of(other.at, name.at)})"
            yield name.at, f"{pair} become the same identifier; rename one"


def _identifiers(spec: Spec) -> Iterator[Name]:
    """Names that become Python identifiers, declarations first."""
    yield from (state.name for state in spec.states.values())
    yield from (event.name for event in spec.events.values())
    yield from (name for _, name in mentions.methods(spec))
    yield from mentions.outcomes(spec)


def _all_names(spec: Spec) -> Iterator[tuple[Callable[[str], bool], Name]]:
    """Every name with the test that it must pass, declarations first."""
    yield from ((is_name, name) for name in _identifiers(spec))
    used = set(spec.prefixes.values())
    yield from ((is_group_name, group.name) for group in spec.groups.values() if group.name.text not in used)
    yield from ((is_name, name) for name in mentions.labels(spec))
    yield from ((is_name, name) for name in mentions.events(spec))
    yield from ((is_mention, name) for name in mentions.event_lists(spec))
    yield from ((is_mention, name) for name in mentions.targets(spec))
    yield from ((is_mention, name) for name in mentions.migrated(spec))
    yield from ((is_mention, name) for name in mentions.elsewhere(spec))
    yield from ((is_mention, m) for g in spec.groups.values() if g.name.text not in used for m in g.members)
    for row in spec.transitions:
        yield from ((_is_source, name) for name in row.source)
        yield from ((is_mention, name) for name in ((row.target,) if row.target is not None else ()))
    for via, part in spec.parts():
        yield from ((is_name, _used(use.prefix, via)) for use in part.use if use.prefix is not None)
        if isinstance(part, Fragment):
            yield (is_name, _used(part.fragment, via))
            asked = (*part.exits.values(), *part.parameters.values())
            yield from ((is_group_name, _used(each.name, via)) for each in asked)
    yield from ((_is_behind, state.behind) for state in spec.states.values() if state.behind is not None)


def _used(name: Name, via: Position | None) -> Name:
    """A name in a file that is used at `via`."""
    return attrs.evolve(name, at=attrs.evolve(name.at, via=via))


def _lists(spec: Spec) -> Iterator[Names]:
    used = set(spec.prefixes.values())
    yield from (state.enter for state in spec.states.values())
    yield from (group.members for group in spec.groups.values() if group.name.text not in used)
    for row in spec.transitions:
        yield from (row.source, row.event, row.when, row.unless, row.do)
    if spec.barriers is not None:
        yield spec.barriers.stop
    if spec.unhandled is not None:
        yield from (names for _, names in spec.unhandled.lists())
