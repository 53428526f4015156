"""Results of tools as text."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import types
import uuid
from typing import Any, NamedTuple

import attrs
import pytest

from pawl.runtime.agent.results import result_text
from pawl.runtime.records.errors import ToolError


class Color(enum.Enum):
    RED = "red"


class Word(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


@dataclasses.dataclass
class Item:
    sku: str
    price: decimal.Decimal
    tags: set[str]


@attrs.frozen
class Order:
    items: list[Item]
    color: Color = Color.RED


class Point(NamedTuple):
    y: float
    x: int


class Model:
    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"mode": mode}


class Broken(collections.UserDict[str, int]):
    def __iter__(self) -> Any:
        raise OSError("disk on fire")


ID = uuid.UUID(int=1)
LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is: {}", "as it is: {}"),
        ("", ""),
        (None, ""),
        (True, "true"),
        (7, "7"),
        (1.5, "1.5"),
        (Color.RED, "red"),
        (Word("word"), "word"),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (ID, str(ID)),
        (pathlib.Path("a/b"), "a/b"),
        ([], "[]"),
        ({"b": 1, "a": [None, "ü"]}, '{"a":[null,"ü"],"b":1}'),
        ({Color.RED: 1, 2: 3}, '{"2":3,"red":1}'),
        ((1, "a"), '[1,"a"]'),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        (Point(1.0, 2), '{"x":2,"y":1.0}'),
        (types.MappingProxyType({"a": 1}), '{"a":1}'),
        (collections.UserDict({"a": 1}), '{"a":1}'),
        (Model(), '{"mode":"json"}'),
        (
            Order([Item("a", decimal.Decimal("1.5"), {"y", "x"})]),
            '{"color":"red","items":[{"price":"1.5","sku":"a","tags":["x","y"]}]}',
        ),
    ],
)
def test_a_value_is_written_for_the_model(value: object, text: str) -> None:
    assert result_text("look", value) == text


def numbers() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"x", "look returned a bytes, which JSON cannot write; decode it, or return base64 text"),
        ({"a": [b"x"]}, "look returned a bytes at a[0], which JSON cannot write; decode it"),
        (math.nan, "look returned nan, which JSON cannot write; return None or text for it"),
        ([1, {"x": math.inf}], "look returned inf at [1].x, which JSON cannot write"),
        (numbers(), "look returned a generator, which JSON cannot write; return a list"),
        (object(), "look returned a object, which JSON cannot write; return text, JSON data"),
        (Item, "look returned the class Item, which JSON cannot write"),
        (len, "look returned a builtin_function_or_method, which"),
        ({(1, 2): 3}, "look returned a dict with the key (1, 2); JSON has text as keys"),
        (LOOP, "look returned a value that is nested too deep, or contains itself"),
        (10**2000, "look returned a number of more than a thousand digits"),
        ("\ud800", "look returned text that is not Unicode"),
        ({"a": "\ud800"}, "look returned text that is not Unicode"),
        (Broken(a=1), "look returned a Broken that cannot be written: OSError: disk on fire"),
        ("ü" * 600, "look returned 1200 bytes, more than the 1000 that a result may have; return less"),
    ],
)
def test_what_cannot_be_written_is_the_calls_error(value: object, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        result_text("look", value, 1000)
    assert says in str(caught.value)
    str(caught.value).encode()


def test_a_result_of_exactly_the_limit_is_allowed() -> None:
    assert len(result_text("look", "ü" * 500, 1000)) == 500


def test_a_coroutine_is_closed_and_named() -> None:
    async def later() -> None: ...

    with pytest.raises(ToolError, match="returned a coroutine, which JSON cannot write; await it, or make the tool"):
        result_text("look", later())
