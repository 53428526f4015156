"""What of a tool's arguments people must not see: marked in types, or by path in `@tool(redact=[…])`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from pawl.runtime.agent.containers import DictShape, Field, ListShape, RecordShape, TupleShape
from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.agent.reading import one_reading, read_once
from pawl.runtime.agent.shapes import Reference, SecretShape, Shape, UnionShape, WrappedShape
from pawl.runtime.barriers.edits import Fit, unchecked
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.redaction import ALL, REDACTED, hidden_text, pointer

if TYPE_CHECKING:
    from pawl.runtime.agent.definition import Agent
    from pawl.runtime.records.messages import ToolCall
    from pawl.runtime.records.tools import ToolRow

Part = str | int

_LONGEST: Final = 1 << 18
"""Characters of all the places of one call."""


class Secret:
    """Marks a parameter or a field whose value people must not see: `Annotated[str, Secret]`.

    It is taken out of approval requests, events, logs, error texts and what `pawl` prints. The tool's body, its policy
    and the model get the real value.
    """


def is_secret(mark: object) -> bool:
    """Whether a mark in `Annotated` is Secret, the class or an instance."""
    return mark is Secret or isinstance(mark, Secret)


# --- which parts of a shape are secret --------------------------------------------------------------------------------


def redacts(shape: Shape) -> bool:
    """Whether anything that the shape takes is secret."""
    return _redacts(shape, set())


def _redacts(shape: Shape, seen: set[int]) -> bool:
    if isinstance(shape, SecretShape):
        return True
    if id(shape) in seen:
        return False
    seen.add(id(shape))
    return any(_redacts(inner, seen) for inner in inside(shape))


def inside(shape: Shape) -> Iterator[Shape]:
    """The shapes that one is made of."""
    match shape:
        case WrappedShape(inner):
            yield inner
        case Reference():
            yield shape.target
        case UnionShape(members):
            yield from members
        case ListShape(item):
            yield item
        case TupleShape(items):
            yield from items
        case DictShape(value):
            yield value
        case RecordShape(fields):
            yield from (field.shape for field in fields)


def references_in(shape: Shape) -> list[Reference]:
    """The references in a shape, each once, in order of first mention."""
    found: dict[int, Reference] = {}
    left = [shape]
    while left:
        one = left.pop(0)
        if isinstance(one, Reference):
            if id(one) in found:
                continue
            found[id(one)] = one
        left.extend(inside(one))
    return list(found.values())


def secret_places(shape: Shape, value: Any) -> tuple[str, ...]:
    """The places of what is secret in a canonical `value` of the shape, as JSON pointers; ALL where these would be too
    long to keep, as below a name of a megabyte.
    """
    places: dict[str, None] = {}
    room = _LONGEST
    with one_reading():
        for parts in _secrets(shape, value, ()):
            place = pointer(parts)
            room -= len(place)
            if room < 0:
                return ALL
            places[place] = None
    return tuple(places)


def _secrets(shape: Shape, value: Any, at: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    match shape:
        case SecretShape():
            yield at
        case WrappedShape(inner):
            yield from _secrets(inner, value, at)
        case Reference():
            yield from _secrets(shape.target, value, at)
        case UnionShape(members):
            # Which member was meant is not known here: what is secret to any that takes the value is secret.
            for member in members:
                if _takes(member, value):
                    yield from _secrets(member, value, at)
        case ListShape(item) if shape.unique and redacts(item):
            yield at  # what a model wrote twice is there once now: no place is the same in both
        case ListShape(item):
            yield from (found for n, one in enumerate(value) for found in _secrets(item, one, (*at, n)))
        case TupleShape(items):
            pairs = enumerate(zip(items, value, strict=True))
            yield from (found for n, (item, one) in pairs for found in _secrets(item, one, (*at, n)))
        case DictShape(item):
            yield from (found for name, one in value.items() for found in _secrets(item, one, (*at, name)))
        case RecordShape(fields):
            present = [field for field in fields if field.name in value]
            yield from (
                found for one in present for found in _secrets(one.shape, value[one.name], (*at, one.name))
            )  # fmt: skip


def _takes(shape: Shape, value: Any) -> bool:
    try:
        read_once(shape, value, "")
    except Mismatch:
        return False
    return True


# --- secrets by path --------------------------------------------------------------------------------------------------


def with_secrets(shape: RecordShape, paths: object, where: str) -> RecordShape:
    """The shape with what stands at each of `paths` secret.

    A path is names with dots: `card`, `address.zip`, `items.number` (of every item of a list), `headers.*` (every value
    of a dict). Raises InvalidArguments for a path that leads nowhere, naming `where`.
    """
    if isinstance(paths, str) or not isinstance(paths, Iterable):
        raise InvalidArguments(
            f"{where}: redact={paths!r:.60} must be a list of paths, such as ['card', 'address.zip']"
        )
    made: Shape = shape
    for path in paths:
        if not isinstance(path, str):
            raise InvalidArguments(f"{where}: redact has {path!r:.60}, and a path is text, such as 'address.zip'")
        made = _hide(made, path.replace("[]", "").split("."), f"{where}: redact={path!r}")
    assert isinstance(made, RecordShape)
    return made


def _hide(shape: Shape, parts: Sequence[str], where: str) -> Shape:
    if not parts:
        return shape if isinstance(shape, SecretShape) else SecretShape(shape)
    match shape:
        case WrappedShape():
            return attrs.evolve(shape, shape=_hide(shape.shape, parts, where))
        case ListShape() if parts != ["*"]:
            return attrs.evolve(shape, item=_hide(shape.item, parts, where))
        case TupleShape(items) if parts != ["*"]:
            return TupleShape(tuple(_hide(item, parts, where) for item in items))
        case DictShape(value) if parts[0] == "*":
            return DictShape(_hide(value, parts[1:], where))
        case UnionShape(members):
            return UnionShape(_each(members, parts, where))
        case RecordShape(fields):
            return attrs.evolve(shape, fields=_hide_field(fields, parts, where))
        case Reference():
            raise InvalidArguments(
                f"{where} leads into a type that contains itself; mark its field: Annotated[…, Secret]"
            )
    raise InvalidArguments(f"{where} leads nowhere: {shape.says} has no part {parts[0]!r}")


def _each(members: tuple[Shape, ...], parts: Sequence[str], where: str) -> tuple[Shape, ...]:
    """Every member that has such a part; one of them has to."""
    made, problems = [], []
    for member in members:
        try:
            made.append(_hide(member, parts, where))
        except InvalidArguments as error:
            problems.append(error)
            made.append(member)
    if len(problems) == len(members):
        raise problems[0]
    return tuple(made)


def _hide_field(fields: tuple[Field, ...], parts: Sequence[str], where: str) -> tuple[Field, ...]:
    names = [field.name for field in fields]
    if parts[0] not in names:
        close = difflib.get_close_matches(parts[0], names, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InvalidArguments(f"{where} leads nowhere: there is no {parts[0]!r}; {hint}known are {', '.join(names)}")
    return tuple(
        attrs.evolve(field, shape=_hide(field.shape, parts[1:], where)) if field.name == parts[0] else field
        for field in fields
    )


# --- calls of a model -------------------------------------------------------------------------------------------------


def places_of(agent: Agent[Any], call: ToolCall) -> tuple[str, ...]:
    """What of a call's arguments must not be shown; all, where that cannot be told.

    That is so for arguments that do not fit, and for a tool that does not exist: a misspelt name may have been one
    whose values are secret.
    """
    tool = agent.tool(call.name)
    if tool is None:
        return ALL if any(one.redacts for one in agent.tools) else ()
    if not tool.redacts:
        return ()
    try:
        return tool.redacted(tool.validate(call.arguments))
    except InvalidArguments:
        return ALL


def fit_of(agent: Agent[Any]) -> Fit:
    """Edited arguments as the agent's tools take them, with the places in them that must not be shown."""

    def fit(row: ToolRow, edit: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        tool = agent.tool(row.tool)
        try:
            arguments = tool.validate_value(edit) if tool is not None else None
        except InvalidArguments:  # by an older definition they did fit
            arguments = None
        return unchecked(row, edit) if tool is None or arguments is None else (arguments, tool.redacted(arguments))

    return fit


def shown_calls(agent: Agent[Any], calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """The arguments of each call, as JSON text that people may see."""
    return tuple(_shown(agent, call) for call in calls)


def _shown(agent: Agent[Any], call: ToolCall) -> str:
    places = places_of(agent, call)
    return REDACTED if "" in places else hidden_text(call.arguments, places)
