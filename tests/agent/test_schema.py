"""Which types a tool may take: what a model is told of them, and what comes in."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import re
import typing
import uuid
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, Required, TypedDict, Union

import attrs
import pytest

from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.agent.schema import Scope, shape_of
from pawl.runtime.records.errors import InvalidArguments


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    A = object()


@dataclasses.dataclass
class Item:
    """An item of an order.

    Args:
        sku: The code on the shelf.
    """

    sku: str
    count: int = 1
    tags: list[str] = dataclasses.field(default_factory=list)
    seen: bool = dataclasses.field(default=False, init=False)


@dataclasses.dataclass
class Checked:
    cents: int

    def __post_init__(self) -> None:
        if self.cents < 0:
            raise ValueError("cents must not be negative")


@attrs.frozen
class Price:
    _cents: int = attrs.field(validator=attrs.validators.ge(0))
    currency: Literal["EUR", "USD"] = "EUR"


class Options(TypedDict, total=False):
    fast: Required[bool]
    note: Annotated[str, "For the driver."]


class Strict(TypedDict):
    a: int
    b: NotRequired[int]


class Point(NamedTuple):
    x: float
    y: float = 0.0


@dataclasses.dataclass
class WithInitVar:
    a: int
    b: dataclasses.InitVar[int]


@attrs.define(init=False)
class OwnInit:
    a: int

    def __init__(self, b: int) -> None:
        self.a = b


T = typing.TypeVar("T")


@dataclasses.dataclass
class Box(typing.Generic[T]):
    value: T


UserId = NewType("UserId", int)
EMPTY = type("Empty", (), {})


def label(*parts: Any) -> str:
    """A test id that is the same in every process."""
    return "-".join(re.sub(r" at 0x\w+", "", str(part))[:60] for part in parts)


def read(hint: Any, value: Any) -> Any:
    return shape_of(hint, Scope("x")).read(value, "x")[1]


def schema(hint: Any) -> dict[str, Any]:
    return shape_of(hint, Scope("x")).schema()


ITEM = {
    "type": "object",
    "description": "An item of an order.",
    "properties": {
        "sku": {"type": "string", "description": "The code on the shelf."},
        "count": {"type": "integer", "default": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["sku"],
    "additionalProperties": False,
}

SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (UserId, {"type": "integer"}),
    (Annotated[int, "In cents."], {"type": "integer", "description": "In cents."}),
    (Annotated[str, object(), "Two", "lines."], {"type": "string", "description": "Two\nlines."}),
    (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045 - the old spelling
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007 - the old spelling
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, "a", None], {"enum": [1, "a", None]}),
    (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (list, {"type": "array", "items": {}}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (typing.List[int], {"type": "array", "items": {"type": "integer"}}),  # noqa: UP006
    (collections.abc.Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (frozenset[Color], {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}, "uniqueItems": True}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (tuple, {"type": "array", "items": {}}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (dict, {"type": "object", "additionalProperties": True}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (typing.Mapping[str, Any], {"type": "object", "additionalProperties": True}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (decimal.Decimal, {"type": "string", "format": "decimal"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (pathlib.Path, {"type": "string", "format": "path"}),
    (Item, ITEM),
    (
        Price,
        {
            "type": "object",
            "properties": {
                "cents": {"type": "integer"},
                "currency": {"type": "string", "enum": ["EUR", "USD"], "default": "EUR"},
            },
            "required": ["cents"],
            "additionalProperties": False,
        },
    ),
    (
        Options,
        {
            "type": "object",
            "properties": {"fast": {"type": "boolean"}, "note": {"type": "string", "description": "For the driver."}},
            "required": ["fast"],
            "additionalProperties": False,
        },
    ),
    (
        Strict,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    ),
    (
        Point,
        {
            "type": "object",
            "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
            "required": ["x"],
            "additionalProperties": False,
        },
    ),
]


@pytest.mark.parametrize(("hint", "expected"), SCHEMAS, ids=[label(hint) for hint, _ in SCHEMAS])
def test_the_schema_of(hint: Any, expected: dict[str, Any]) -> None:
    assert schema(hint) == expected


ID = "12345678-1234-5678-1234-567812345678"

READS: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (int, 5.0, 5),
    (int, -(2**80), -(2**80)),
    (float, 5, 5.0),
    (float, 5.5, 5.5),
    (str, "", ""),
    (bool, False, False),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (int | None, None, None),
    (int | None, 3.0, 3),
    (int | str, "5", "5"),
    (int | float, 5, 5),
    (int | float, 5.0, 5.0),
    (float | int, 5, 5),
    (bool | int, 1, 1),
    (datetime.datetime | datetime.date, "2026-01-31", datetime.date(2026, 1, 31)),
    (Checked | Point, {"x": 1}, Point(1.0)),
    (Literal[1, True], True, True),
    (Color, "blue", Color.BLUE),
    (Level, 2, Level.HIGH),
    (Literal[Color.RED], "red", Color.RED),
    (list[float], [1, 2.5], [1.0, 2.5]),
    (set[int], [2, 1, 2.0], {1, 2}),
    (frozenset[str], [], frozenset()),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[()], [], ()),
    (tuple[int, ...], [1, 2, 3], (1, 2, 3)),
    (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
    (datetime.datetime, "2026-01-31T12:00:00Z", datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)),
    (datetime.time, "12:30", datetime.time(12, 30)),
    (decimal.Decimal, "12.50", decimal.Decimal("12.50")),
    (uuid.UUID, ID, uuid.UUID(ID)),
    (pathlib.Path, "a/b", pathlib.Path("a/b")),
    (Item, {"sku": "a", "count": 2.0}, Item("a", 2)),
    (Price, {"cents": 5, "currency": "USD"}, Price(5, "USD")),
    (Options, {"fast": True}, {"fast": True}),
    (Point, {"x": 1}, Point(1.0, 0.0)),
    (Checked, {"cents": 0}, Checked(0)),
]


@pytest.mark.parametrize(("hint", "value", "expected"), READS, ids=[label(hint, value) for hint, value, _ in READS])
def test_a_value_becomes_what_the_type_says(hint: Any, value: Any, expected: Any) -> None:
    made = read(hint, value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(("hint", "value", "expected"), READS, ids=[label(hint, value) for hint, value, _ in READS])
def test_canonical_values_read_the_same_again(hint: Any, value: Any, expected: Any) -> None:
    shape = shape_of(hint, Scope("x"))
    canonical, made = shape.read(value, "x")
    again, made_again = shape.read(canonical, "x")
    assert (again, made_again) == (canonical, made)


PROBLEMS: list[tuple[Any, Any, str]] = [
    (int, "500", 'x: expected an integer, got the text "500"'),
    (int, 5.5, "x: expected an integer, got the number 5.5"),
    (int, 2.0**60, "x: expected an integer, got the number 1.152921504606847e+18"),
    (int, True, "x: expected an integer, got true"),
    (int, None, "x: expected an integer, got null"),
    (float, "1.5", 'x: expected a number, got the text "1.5"'),
    (float, False, "x: expected a number, got false"),
    (float, 10**400, "x: expected a number, got the number 1000000000000000000000000000000000000000…"),
    (str, 7, "x: expected text, got the number 7"),
    (bool, 1, "x: expected true or false, got the number 1"),
    (int | None, "a", 'x: expected an integer or null, got the text "a"'),
    (Literal[1], True, "x: expected 1, got true"),
    (Literal["a", 2, None], "c", 'x: expected one of "a", 2, null, got the text "c"'),
    (Color, "RED", 'x: expected one of "red", "blue", got the text "RED"'),
    (list[int], {}, "x: expected a list, got an object"),
    (
        list[int],
        [1, "a", 2.5],
        'x[1]: expected an integer, got the text "a"; x[2]: expected an integer, got the number 2.5',
    ),
    (tuple[int, str], [1], "x: expected a list of 2, got a list of 1"),
    (dict[str, int], {"a b": "c"}, "x['a b']: expected an integer, got the text \"c\""),
    (datetime.date, "31.1.2026", 'x: expected a date as text, such as "2026-01-31", got the text "31.1.2026"'),
    (decimal.Decimal, 12.5, 'x: expected a decimal number as text, such as "12.50", got the number 12.5'),
    (decimal.Decimal, "NaN", 'x: expected a decimal number as text, such as "12.50", got the text "NaN"'),
    (decimal.Decimal, "ten", 'x: expected a decimal number as text, such as "12.50", got the text "ten"'),
    (uuid.UUID, "1", 'x: expected a UUID as text, got the text "1"'),
    (Item, [], "x: expected an object with sku, count, tags, got a list of 0"),
    (
        list[Item],
        [{"sku": 1, "cuont": 2}, {}],
        "x[0]: no field 'cuont'; did you mean count? known are sku, count, tags; "
        "x[0].sku: expected text, got the number 1; x[1].sku: missing; expected text",
    ),
    (Item | None, {"sku": 1}, "x.sku: expected text, got the number 1"),
    (Checked, {"cents": -1}, "x: cents must not be negative"),
    (Price, {"cents": -1}, "x: '_cents' must be >= 0: -1"),
    (str, ["a" * 100], "x: expected text, got a list of 1"),
    (int, "a" * 100, f'x: expected an integer, got the text "{"a" * 40}…"'),
]


@pytest.mark.parametrize(
    ("hint", "value", "problem"), PROBLEMS, ids=[label(hint, value) for hint, value, _ in PROBLEMS]
)
def test_what_does_not_fit_is_named_with_its_place(hint: Any, value: Any, problem: str) -> None:
    with pytest.raises(Mismatch) as caught:
        read(hint, value)
    assert str(caught.value) == problem


UNSUPPORTED: list[tuple[Any, str]] = [
    (bytes, "x: the type bytes cannot come from JSON; bytes cannot be JSON; take text, base64 for instance"),
    (EMPTY, "x: the type Empty cannot come from JSON; use str, int,"),
    (complex, "x: the type complex cannot come from JSON"),
    (T, "x: the type T cannot come from JSON"),
    (Box, "x.value: the type T cannot come from JSON"),
    (collections.abc.Callable[[], int], "x: the type Callable cannot come from JSON"),
    (list[bytes], "x[]: the type bytes cannot come from JSON"),
    (dict[int, str], "x: JSON objects have text as keys; use dict[str, …], not int"),
    (set[list[int]], "x: a set cannot hold"),
    (set[Item], "x: a set cannot hold Item, which has no hash; use a list"),
    (set, "x: a set cannot hold"),
    (WithInitVar, "x: the constructor of WithInitVar takes (a, b) and its fields are (a)"),
    (OwnInit, "x: the constructor of OwnInit takes (b) and its fields are (a)"),
    (Mixed, "x: the value <object object"),
    (Literal[b"a"], "x: the literal b'a' cannot come from JSON; use text"),
]


@pytest.mark.parametrize(("hint", "says"), UNSUPPORTED, ids=[label(hint) for hint, _ in UNSUPPORTED])
def test_a_type_that_json_cannot_give_is_refused_with_advice(hint: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        shape_of(hint, Scope("x"))
    assert says in str(caught.value)
