"""Redaction: JSON data with the values at some places taken out, and put back in.

A place is a JSON pointer (RFC 6901): `/card`, `/items/0/number`; the empty pointer is all of it. Places are stored with
a tool call, so that a process without the code of its tool knows what not to show.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pawl.runtime.records.canonical import canonical

REDACTED: Final = "[redacted]"
"""What stands in the place of a redacted value, wherever people look."""

ALL: Final = ("",)
"""The places of arguments of which nothing may be shown."""

_ABSENT: Final = object()


class Unrestorable(ValueError):
    """Edited data leaves a redacted value as it was, in a place where there was none."""


def pointer(parts: Iterable[str | int]) -> str:
    """A place from its parts, names of objects and indexes of lists."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parts_of(place: str) -> tuple[str, ...]:
    """The parts of a place, as text."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:])


def hidden(value: dict[str, Any], places: Sequence[str]) -> dict[str, Any]:
    """A copy of an object without what stands at `places`; of an object of which nothing may be shown, its names."""
    if not places:
        return value
    if "" in places:
        return dict.fromkeys(value, REDACTED)
    found: dict[str, Any] = _without(value, [parts_of(place) for place in places])
    return found


def _without(value: Any, places: Sequence[tuple[str, ...]]) -> Any:
    if any(not place for place in places):
        return REDACTED
    within = _within(places)
    if isinstance(value, dict):
        return {name: _without(item, within[name]) if name in within else item for name, item in value.items()}
    if isinstance(value, list):
        return [_without(item, within[str(at)]) if str(at) in within else item for at, item in enumerate(value)]
    return value


def _within(places: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    """The places inside of each part. Asked once a level: a model may have named as many as it likes."""
    within: dict[str, list[tuple[str, ...]]] = {}
    for place in places:
        within.setdefault(place[0], []).append(place[1:])
    return within


def hidden_text(arguments: str, places: Sequence[str]) -> str:
    """The same for JSON text. Text that is no JSON object is not shown at all."""
    if not places:
        return arguments
    try:
        value = json.loads(arguments) if "" not in places else None
    except (ValueError, RecursionError):
        value = None
    return canonical(hidden(value, places)) if isinstance(value, dict) else REDACTED


def restored(edit: dict[str, Any], real: dict[str, Any], places: Sequence[str]) -> dict[str, Any]:
    """An edited object with the real value wherever somebody who could not see it left it as it was.

    That is where the edit has REDACTED, or nothing at all, at one of `places`. Raises Unrestorable where it is not
    known which value was meant: in a list that got longer or shorter.
    """
    if not places:
        return edit
    everything = "" in places
    where = [(name,) for name in real] if everything else [parts_of(place) for place in places]
    made: dict[str, Any] = _put_back(edit, real, where, "", everything)
    if _mentions(made) and not _mentions(real):
        raise Unrestorable(f"the edit has the text {REDACTED} where no redacted value was; give the value")
    return made


def _put_back(edit: Any, real: Any, places: Sequence[tuple[str, ...]], path: str, deep: bool) -> Any:
    """`edit` with what stands at `places` in `real`; `deep` also with what stands below them."""
    if any(not place for place in places):
        if _kept(edit) and real is _ABSENT:
            raise Unrestorable(f"{path}: there was no redacted value here that could be kept; give one")
        if _kept(edit) or not deep:
            return real if _kept(edit) else edit
        places = [(str(part),) for part in _parts(real)]
    within = _within(places)
    if isinstance(edit, dict):
        before = real if isinstance(real, dict) else {}
        made = {name: _member(edit[name], before, within, path, name, deep) for name in edit}
        whole = {name for name, inside in within.items() if () in inside} if not deep or not path else ()
        left_out = [name for name in before if name not in edit and name in whole]
        return made | {name: before[name] for name in left_out}
    if isinstance(edit, list):
        items = real if isinstance(real, list) else []
        if len(edit) == len(items):
            return [_member(item, items, within, path, at, deep) for at, item in enumerate(edit)]
        if any(_mentions(item) for item in edit):
            raise Unrestorable(
                f"{path}: the list had {len(items)} items and has {len(edit)}, so that it is not known which redacted "
                "value was meant; give the values"
            )
    return edit


def _member(
    edit: Any, before: Any, within: Mapping[str, Sequence[tuple[str, ...]]], path: str, part: str | int, deep: bool
) -> Any:
    inside = within.get(str(part))
    if inside is None:
        return edit
    known = part in before if isinstance(before, dict) else True
    here = f"{path}[{part}]" if isinstance(part, int) else f"{path}.{part}".lstrip(".")
    return _put_back(edit, before[part] if known else _ABSENT, inside, here, deep)


def _parts(value: Any) -> Iterable[str | int]:
    return value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()


def _kept(edit: Any) -> bool:
    """Whether a value in a redacted place was left as it was shown."""
    return isinstance(edit, str) and edit == REDACTED


def _mentions(edit: Any) -> bool:
    if isinstance(edit, dict):
        return any(_mentions(item) for item in edit.values())
    return any(_mentions(item) for item in edit) if isinstance(edit, list) else _kept(edit)


def same_outline(one: Any, other: Any) -> bool:
    """Whether two values differ in scalars only: then the same places lead to the same things in both."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_outline(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_outline, one, other))
    return not isinstance(one, dict | list) and not isinstance(other, dict | list)


def picked(value: dict[str, Any], places: Sequence[str]) -> list[Any]:
    """What stands at `places`, with None where nothing does."""
    return [value] if "" in places else [_at(value, parts_of(place)) for place in places]


def _at(value: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
