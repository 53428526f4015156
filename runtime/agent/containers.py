"""Shapes of what holds others: lists, tuples, sets, dicts, records."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from pawl.runtime.agent.mismatch import Mismatch, Problems, is_quiet, place
from pawl.runtime.agent.shapes import ChoiceShape, DescribedShape, Read, Shape, WrappedShape, bare, refuse
from pawl.runtime.agent.spoken import said
from pawl.runtime.records.canonical import canonical

REQUIRED: Final = object()
"""In place of a default: the value must be given."""

OPEN: Final = object()
"""In place of a default: the value may be left out, and Python fills it in with what JSON cannot show."""

_WORDS: Final = 1000
"""Characters that are kept of what a constructor says: it may quote what it was given, of whatever length."""

_NAME: Final = 100
"""Characters of a name that another one may be meant by."""


def _gather(parts: Iterable[tuple[Shape, Any, str]]) -> list[Read]:
    """Read each value with its shape at its path, then raise what is wrong with any of them."""
    reads: list[Read] = []
    problems = Problems()
    for shape, value, path in parts:
        try:
            reads.append(shape.read(value, path))
        except Mismatch as mismatch:
            problems.add(mismatch)
    problems.check()
    return reads


@attrs.frozen
class ListShape:
    """Any number of items of one shape, built with `make` (list, tuple, set, frozenset)."""

    item: Shape
    make: Callable[[Iterable[Any]], Any] = list
    unique: bool = False

    @property
    def says(self) -> str:
        """Say list."""
        return "a list"

    def schema(self) -> dict[str, Any]:
        """Describe an array."""
        return {"type": "array", "items": self.item.schema()} | ({"uniqueItems": True} if self.unique else {})

    def read(self, value: Any, path: str) -> Read:
        """Take a list. What a set holds twice it holds once, in the order of first mention."""
        if type(value) is not list:
            raise refuse(self, value, path)
        reads = _gather((self.item, item, f"{path}[{at}]") for at, item in enumerate(value))
        if self.unique:
            reads = list({canonical(read[0]): read for read in reversed(reads)}.values())[::-1]
        return [read[0] for read in reads], self.make(read[1] for read in reads)


@attrs.frozen
class TupleShape:
    """A fixed number of items, each of its own shape."""

    items: tuple[Shape, ...]

    @property
    def says(self) -> str:
        """Say how long."""
        return f"a list of {len(self.items)}"

    def schema(self) -> dict[str, Any]:
        """Describe an array of fixed length; some providers refuse an array without `items`."""
        schemas = [item.schema() for item in self.items]
        distinct = [schema for at, schema in enumerate(schemas) if schema not in schemas[:at]]
        items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct} if distinct else {}
        ends = {"minItems": len(self.items), "maxItems": len(self.items)}
        return {"type": "array", "prefixItems": schemas, "items": items, **ends}

    def read(self, value: Any, path: str) -> Read:
        """Take a list of exactly this length."""
        if type(value) is not list or len(value) != len(self.items):
            raise refuse(self, value, path)
        pairs = zip(self.items, value, strict=True)
        reads = _gather((shape, item, f"{path}[{at}]") for at, (shape, item) in enumerate(pairs))
        return [read[0] for read in reads], tuple(read[1] for read in reads)


@attrs.frozen
class DictShape:
    """Any names with values of one shape."""

    value: Shape

    @property
    def says(self) -> str:
        """Say object."""
        return "an object"

    def schema(self) -> dict[str, Any]:
        """Describe an object of any properties."""
        return {"type": "object", "additionalProperties": self.value.schema() or True}

    def read(self, value: Any, path: str) -> Read:
        """Take an object."""
        if type(value) is not dict:
            raise refuse(self, value, path)
        names = list(value)
        reads = _gather((self.value, value[name], f"{path}[{name!r:.60}]") for name in names)
        return (
            {name: read[0] for name, read in zip(names, reads, strict=True)},
            {name: read[1] for name, read in zip(names, reads, strict=True)},
        )


@attrs.frozen
class Field:
    """One named value of a record, or one parameter of a tool. `default` is JSON, REQUIRED or OPEN."""

    name: str
    shape: Shape
    default: Any = REQUIRED
    description: str = ""

    def schema(self) -> dict[str, Any]:
        """The shape's schema with description and default; words in `Annotated` win over those in a docstring."""
        schema = self.shape.schema()
        if self.description and not _is_described(self.shape):
            schema["description"] = self.description
        if self.default is not REQUIRED and self.default is not OPEN:
            schema["default"] = self.default
        return schema


def _is_described(shape: Shape) -> bool:
    while isinstance(shape, WrappedShape) and not isinstance(shape, DescribedShape):
        shape = shape.shape
    return isinstance(shape, DescribedShape)


@attrs.frozen
class RecordShape:
    """Known names, each with its own shape; an unknown name is a problem. `make` builds from keyword arguments.

    Defaults that JSON can show are filled in: whoever approves the arguments sees all that will be used.
    """

    fields: tuple[Field, ...]
    make: Callable[..., Any] = dict
    doc: str = ""
    noun: str = "field"

    @property
    def says(self) -> str:
        """Say which names."""
        return f"an object with {', '.join(field.name for field in self.fields)}" if self.fields else "an empty object"

    def schema(self) -> dict[str, Any]:
        """Describe an object of exactly these properties."""
        schema: dict[str, Any] = {"type": "object"}
        if self.doc:
            schema["description"] = self.doc
        schema["properties"] = {field.name: field.schema() for field in self.fields}
        required = [field.name for field in self.fields if field.default is REQUIRED]
        if required:
            schema["required"] = required
        return schema | {"additionalProperties": False}

    def read(self, value: Any, path: str) -> Read:
        """Take an object of these names."""
        if type(value) is not dict:
            raise refuse(self, value, path)
        known = {field.name for field in self.fields}
        problems = Problems()
        for name in value:
            if name not in known:
                problems.note(self._unknown, name, path)
        present: list[Field] = []
        for field in self.fields:
            if field.name in value or (field.default is not REQUIRED and field.default is not OPEN):
                present.append(field)
            elif field.default is REQUIRED:
                problems.note(_missing, field, path)
        try:
            reads = _gather(
                (field.shape, value.get(field.name, field.default), _join(path, field.name)) for field in present
            )
        except Mismatch as mismatch:
            problems.add(mismatch)
        problems.check()
        pairs = list(zip((field.name for field in present), reads, strict=True))
        return {name: read[0] for name, read in pairs}, self._build({name: read[1] for name, read in pairs}, path)

    @property
    def tags(self) -> dict[str, Any]:
        """The fields that take one literal only, with that: they tell members of a union apart."""
        shapes = {field.name: bare(field.shape) for field in self.fields}
        return {
            name: shape.options[0][0]
            for name, shape in shapes.items()
            if isinstance(shape, ChoiceShape) and len(shape.options) == 1
        }

    def _build(self, values: dict[str, Any], path: str) -> Any:
        try:
            return self.make(**values)
        except Exception as error:  # a validator of the user's class: its words are the problem
            where = place(path)
            if not is_quiet():
                words = said(error) or type(error).__name__
                raise Mismatch(f"{where}: {words if len(words) <= _WORDS else words[:_WORDS] + '…'}") from error
            problem = Mismatch(f"{where}: not accepted ({type(error).__name__})")
        raise problem  # without its cause, whose words may quote what is redacted

    def _unknown(self, name: str, path: str) -> str:
        known = [field.name for field in self.fields]
        close = difflib.get_close_matches(name, known, n=1) if len(name) <= _NAME else ()
        hint = f"did you mean {close[0]}? " if close else ""
        takes = f"known are {', '.join(known)}" if known else f"there are no {self.noun}s"
        return f"{path + ': ' if path else ''}no {self.noun} {name!r:.60}; {hint}{takes}"


def _missing(field: Field, path: str) -> str:
    return f"{_join(path, field.name)}: missing; expected {field.shape.says}"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
