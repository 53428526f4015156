"""The `unhandled` lists of a machine and its fragments as one: what the user of a fragment says comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pawl.runtime.fsm.table import Unhandled
from pawl.tools.compiler.rename import Frame
from pawl.tools.compiler.scope import EVERY
from pawl.tools.compiler.spec import Fragment, GroupSpec, Name, Names, Part, UnhandledSpec


def merged(parts: Iterable[tuple[Part, Frame]], groups: Mapping[str, GroupSpec]) -> UnhandledSpec | None:
    """One `unhandled` for files in the order of their use, the machine first; `groups` are those of the whole."""
    whole: UnhandledSpec | None = None
    decided: set[str] = set()
    for part, frame in parts:
        if part.unhandled is None:
            continue
        lists = {kind: tuple(_names(part, names, frame)) for kind, names in part.unhandled.lists()}
        if isinstance(part, Fragment):
            lists = {kind: tuple(_left(names, decided, groups)) for kind, names in lists.items()}
        for names in lists.values():
            decided |= {event for name in names for event, _ in _events(name, groups)}
        before = whole or UnhandledSpec(frame.at(part.unhandled.at))
        whole = UnhandledSpec(
            before.at,
            ignore=(*before.ignore, *lists[Unhandled.IGNORE]),
            stale=(*before.stale, *lists[Unhandled.STALE]),
            refuse=(*before.refuse, *lists[Unhandled.REFUSE]),
        )
    return whole


def _names(part: Part, names: Names, frame: Frame) -> Iterator[Name]:
    """The names of one list; in a fragment `*` is every event that it declares and no list of its own names."""
    assert part.unhandled is not None
    for name in names:
        if name.text != EVERY or not isinstance(part, Fragment):
            yield from frame.events((name,))
            continue
        named = {other.text for _, others in part.unhandled.lists() for other in others}
        named |= {m.text for group in part.groups.values() if group.name.text in named for m in group.members}
        yield from (frame.event(Name(event, name.at)) for event in part.events if event not in named)


def _left(names: Names, decided: set[str], groups: Mapping[str, GroupSpec]) -> Iterator[Name]:
    """The names without the events that somebody further out has decided."""
    for name in names:
        events = list(_events(name, groups))
        if not any(event in decided for event, _ in events):
            yield name
        else:
            yield from (Name(event, at.at) for event, at in events if event not in decided)


def _events(name: Name, groups: Mapping[str, GroupSpec]) -> Iterator[tuple[str, Name]]:
    """The events of a name, each with where it is named."""
    group = groups.get(name.text)
    if group is None:
        yield name.text, name
    else:
        yield from ((member.text, name) for member in group.members)
