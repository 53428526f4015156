"""Shapes: what a parameter takes from JSON, one class for each kind of scalar; unions of them.

A shape does three things with one definition, so that they cannot disagree: it describes itself as JSON schema,
it checks a JSON value and makes it canonical, and it builds the Python value. Strict as a reader of model output
expects: an integral number is an integer (`5.0` is 5), an integer is a number (`5` is 5.0), and nothing else is
converted; text is never a number and 0 is never false.
"""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import attrs

from pawl.runtime.agent.mismatch import Mismatch, got, place
from pawl.runtime.agent.reading import read_once

Read: TypeAlias = tuple[Any, Any]
"""The canonical JSON value, and the Python value that is built from it."""


class Shape(Protocol):
    """What a parameter, a field or an item takes."""

    @property
    def says(self) -> str:
        """What is expected, in words, such as `an integer`."""
        ...

    def schema(self) -> dict[str, Any]:
        """JSON schema of the values that `read` takes, as a new dict."""
        ...

    def read(self, value: Any, path: str) -> Read:
        """Take a JSON value that stands at `path`. Raises Mismatch."""
        ...


def refuse(shape: Shape, value: Any, path: str) -> Mismatch:
    """The error for a value of another kind."""
    return Mismatch(f"{place(path)}: expected {shape.says}, got {got(value)}")


@attrs.frozen
class AnyShape:
    """Any JSON value, as it is."""

    says: str = "any value"

    def schema(self) -> dict[str, Any]:
        """Say nothing: everything is allowed."""
        return {}

    def read(self, value: Any, path: str) -> Read:
        """Take it."""
        return value, value


@attrs.frozen
class KindShape:
    """One kind of JSON scalar, exactly: text, boolean or null."""

    kind: type
    json_type: str
    says: str

    def schema(self) -> dict[str, Any]:
        """Name the JSON type."""
        return {"type": self.json_type}

    def read(self, value: Any, path: str) -> Read:
        """Take a value of exactly this kind."""
        if type(value) is not self.kind:
            raise refuse(self, value, path)
        return value, value


TEXT: Final = KindShape(str, "string", "text")
BOOLEAN: Final = KindShape(bool, "boolean", "true or false")
NULL: Final = KindShape(type(None), "null", "null")


@attrs.frozen
class IntegerShape:
    """An integer; a number without a fraction is one."""

    says: str = "an integer"

    def schema(self) -> dict[str, Any]:
        """Name the JSON type."""
        return {"type": "integer"}

    def read(self, value: Any, path: str) -> Read:
        """Take `5` and `5.0`, never `"5"` or true."""
        # Beyond 2**53 a float has lost digits already: which integer was meant is not known.
        if type(value) is float and value.is_integer() and abs(value) <= 2**53:
            value = int(value)
        if type(value) is not int:
            raise refuse(self, value, path)
        return value, value


@attrs.frozen
class NumberShape:
    """A number; an integer is one."""

    says: str = "a number"

    def schema(self) -> dict[str, Any]:
        """Name the JSON type."""
        return {"type": "number"}

    def read(self, value: Any, path: str) -> Read:
        """Take `5` and `5.5`, never `"5"` or true."""
        if type(value) is int:
            try:
                value = float(value)
            except OverflowError:
                raise refuse(self, value, path) from None
        if type(value) is not float:
            raise refuse(self, value, path)
        return value, value


@attrs.frozen
class WrittenShape:
    """A value that JSON writes as text, such as a date. `parse` may raise ValueError or ArithmeticError."""

    format: str
    says: str
    parse: Callable[[str], Any]
    write: Callable[[Any], str] = str

    def schema(self) -> dict[str, Any]:
        """Name the text's format."""
        return {"type": "string", "format": self.format}

    def read(self, value: Any, path: str) -> Read:
        """Take text that parses; write it canonically."""
        if type(value) is not str:
            raise refuse(self, value, path)
        try:
            made = self.parse(value)
        except (ValueError, ArithmeticError):
            raise refuse(self, value, path) from None
        return self.write(made), made


def _decimal(text: str) -> decimal.Decimal:
    made = decimal.Decimal(text)
    if not made.is_finite():
        raise ValueError(text)
    return made


WRITTEN: Final[dict[type, WrittenShape]] = {
    datetime.datetime: WrittenShape(
        "date-time",
        'a date and time as text, such as "2026-01-31T12:00:00+00:00"',
        datetime.datetime.fromisoformat,
        datetime.datetime.isoformat,
    ),
    datetime.date: WrittenShape(
        "date", 'a date as text, such as "2026-01-31"', datetime.date.fromisoformat, datetime.date.isoformat
    ),
    datetime.time: WrittenShape(
        "time", 'a time as text, such as "12:30:00"', datetime.time.fromisoformat, datetime.time.isoformat
    ),
    decimal.Decimal: WrittenShape("decimal", 'a decimal number as text, such as "12.50"', _decimal),
    uuid.UUID: WrittenShape("uuid", "a UUID as text", uuid.UUID),
    pathlib.Path: WrittenShape("path", "a path as text", pathlib.Path),
}


@attrs.frozen
class ChoiceShape:
    """One of fixed scalars; `options` pairs each JSON value with its Python value (a Literal, an Enum)."""

    options: tuple[tuple[Any, Any], ...]

    @property
    def says(self) -> str:
        """List the options."""
        texts = [f'"{option}"' if isinstance(option, str) else got(option).split(" ")[-1] for option, _ in self.options]
        return "one of " + ", ".join(texts) if len(texts) > 1 else texts[0]

    def schema(self) -> dict[str, Any]:
        """List the options, with their type where they share one."""
        kinds = {type(option) for option, _ in self.options}
        types = {str: "string", int: "integer", bool: "boolean", float: "number"}
        kind = types.get(next(iter(kinds))) if len(kinds) == 1 else None
        return ({"type": kind} if kind else {}) | {"enum": [option for option, _ in self.options]}

    def read(self, value: Any, path: str) -> Read:
        """Take one of the options; 1 is not true and "1" is not 1."""
        for option, made in self.options:
            if type(option) is type(value) and option == value:
                return option, made
        raise refuse(self, value, path)


def bare(shape: Shape) -> Shape:
    """A shape without what was added to it."""
    while isinstance(shape, WrappedShape):
        shape = shape.shape
    return shape


def tags_of(shape: Shape) -> dict[str, Any]:
    """The fields of a record that take one literal only, with that."""
    shape = bare(shape)
    tags: dict[str, Any] = getattr(bare(shape.target) if isinstance(shape, Reference) else shape, "tags", {})
    return tags


def _has_tags(shape: Shape, value: Any) -> bool:
    tags = tags_of(shape)
    return bool(tags) and type(value) is dict and all(value.get(name) == tag for name, tag in tags.items())


@attrs.frozen
class UnionShape:
    """The first of several shapes that takes the value unchanged, else the first that takes it at all."""

    members: tuple[Shape, ...]

    @property
    def says(self) -> str:
        """List the members."""
        return " or ".join(dict.fromkeys(member.says for member in self.members))

    def schema(self) -> dict[str, Any]:
        """List the members."""
        return {"anyOf": [member.schema() for member in self.members]}

    def read(self, value: Any, path: str) -> Read:
        """Take what one member takes. The problems are those of the member whose tags (fields with one literal) the
        value has, or else of the only member of its kind, if there is just one.
        """
        reads: list[Read] = []
        problems: list[Mismatch] = []
        for member in self.members:
            try:
                read = read_once(member, value, path)
            except Mismatch as mismatch:
                problems.append(mismatch)
                continue
            if type(read[0]) is type(value) and read[0] == value:
                return read
            reads.append(read)
        if reads:
            return reads[0]
        tagged = [found for member, found in zip(self.members, problems, strict=True) if _has_tags(member, value)]
        top = f"{path}: expected "
        inside = [found for found in problems if not found.problems[0].startswith(top)]
        for found in (tagged, inside):
            if len(found) == 1:
                raise Mismatch(*found[0].problems, more=found[0].more)
        raise self._untagged(value, path) or refuse(self, value, path)

    def _untagged(self, value: Any, path: str) -> Mismatch | None:
        """The error for an object that none of the tags fits, where all members are told apart by one."""
        every = [tags_of(member) for member in self.members if member is not NULL]
        shared = [name for name in every[0] if all(name in tags for tags in every)] if every else []
        if not shared or type(value) is not dict:
            return None
        name = shared[0]
        known = ", ".join(f'"{tags[name]}"' if isinstance(tags[name], str) else str(tags[name]) for tags in every)
        given = f"got {got(value[name])}" if name in value else "missing"
        return Mismatch(f"{path}.{name}".lstrip(".") + f": expected one of {known}, {given}")


@attrs.frozen
class WrappedShape:
    """A shape with something added to it; by itself it is that shape."""

    shape: Shape

    @property
    def says(self) -> str:
        """Say what the shape says."""
        return self.shape.says

    def schema(self) -> dict[str, Any]:
        """Say what the shape says."""
        return self.shape.schema()

    def read(self, value: Any, path: str) -> Read:
        """Take what the shape takes."""
        return self.shape.read(value, path)


@attrs.frozen
class DescribedShape(WrappedShape):
    """A shape with words for people and models (`Annotated[int, "in cents"]`)."""

    description: str

    def schema(self) -> dict[str, Any]:
        """Add the description."""
        return self.shape.schema() | {"description": self.description}


@attrs.frozen
class SecretShape(WrappedShape):
    """A shape whose values nobody but the tool may see. Where there is one, values are read `quietly`."""


class Reference:
    """A named shape that stands inside of itself; its `target` is given when that is made."""

    target: Shape

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def says(self) -> str:
        """Name it: its own words would have no end."""
        return f"a {self.name}"

    def schema(self) -> dict[str, Any]:
        """Refer to the definition beside the whole schema."""
        return {"$ref": f"#/$defs/{self.name}"}

    def read(self, value: Any, path: str) -> Read:
        """Take what the target takes; nothing, while that is being made."""
        if not hasattr(self, "target"):
            raise refuse(self, value, path)
        return self.target.read(value, path)
