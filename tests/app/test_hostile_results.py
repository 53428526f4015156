"""What tools return, in a real runtime: told to the model, or an error that says what to return instead."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import itertools
import types
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pytest

from app.bodies import agent, said_by, said_of
from pawl import call, calls, tool


class Size(enum.Enum):
    BIG = "b"


@attrs.frozen
class Point:
    x: int
    y: float


@dataclasses.dataclass
class Row:
    when: datetime.date
    price: decimal.Decimal


class Table(list[int]):
    """A list of a class of one's own."""


RETURNED: list[tuple[Any, str]] = [
    (None, ""),
    ("text", "text"),
    ("", ""),
    (True, "true"),
    ({"b": 1, "a": [None]}, '{"a":[null],"b":1}'),
    ({3, 1, 2}, "[1,2,3]"),
    ({"x", Size.BIG}, '["b","x"]'),
    (frozenset({(1, 2)}), "[[1,2]]"),
    (datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC), "2026-01-31T12:00:00+00:00"),
    (decimal.Decimal("12.50"), "12.50"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Point(1, 2.5), '{"x":1,"y":2.5}'),
    ([Row(datetime.date(2026, 1, 31), decimal.Decimal(7))], '[{"price":"7","when":"2026-01-31"}]'),
    (Table([1, 2]), "[1,2]"),
    (range(3), "[0,1,2]"),
    ({"a": 1}.values(), "[1]"),
    ({"a": 1}.keys(), '["a"]'),
    (types.MappingProxyType({"a": 1}), '{"a":1}'),
    ({1: "a", Size.BIG: "b"}, '{"1":"a","b":"b"}'),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), RETURNED, ids=lambda part: type(part).__name__)
def test_what_json_can_write_is_told_to_the_model(value: Any, text: str) -> None:
    assert said_of(lambda: value) == text


class HostileRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")

    __hash__ = object.__hash__


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class HostileList(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise HostileError


class EndlessList(list[int]):
    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class EndlessMapping(Mapping[str, int]):
    def __getitem__(self, name: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return (f"key{n}" for n in itertools.count())

    def __len__(self) -> int:
        return 1


class HostileModel:
    def model_dump(self, mode: str) -> Any:
        raise LookupError("no dump")


class HostileProperty:
    @property
    def model_dump(self) -> Any:
        raise ZeroDivisionError


def nested(levels: int) -> Any:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


def circular() -> Any:
    made: list[Any] = []
    made.append(made)
    return made


TOO_LONG = "more than the 1048576 bytes that a result may have; return less"
UNWRITABLE: list[tuple[Any, str]] = [
    (lambda: float("nan"), "body returned nan, which JSON cannot write; return None or text for it"),
    (lambda: {"a": [float("-inf")]}, "body returned -inf at a[0], which JSON cannot write"),
    (lambda: decimal.Decimal("NaN"), "body returned NaN, which JSON cannot write"),
    (lambda: b"raw", "body returned a bytes, which JSON cannot write; decode it, or return base64 text"),
    (lambda: [memoryview(b"raw")], "body returned a memoryview at [0], which JSON cannot write; decode it"),
    (lambda: (n for n in range(3)), "body returned a generator, which JSON cannot write; return a list"),
    (lambda: map(str, [1]), "body returned a map, which JSON cannot write; return a list"),
    (lambda: {"a": iter([1])}, "body returned a list_iterator at a, which JSON cannot write; return a list"),
    (lambda: asyncio.sleep(0), "body returned a coroutine, which JSON cannot write; await it, or make the tool"),
    (lambda: {(1, 2): "a"}, "body returned a dict with the key (1, 2); JSON has text as keys"),
    (lambda: {None: "a"}, "body returned a dict with the key None; JSON has text as keys"),
    (lambda: {1: "a", "1": "b"}, "body returned a dict with two keys that are '1' as text; JSON has text as keys"),
    (lambda: {HostileRepr(): 1}, "body returned a dict that cannot be written: RuntimeError: no repr"),
    (object, "body returned a object, which JSON cannot write; return text, JSON data, a dataclass"),
    (HostileRepr, "body returned a HostileRepr, which JSON cannot write"),
    (lambda: Point, "body returned the class Point, which JSON cannot write"),
    (lambda: HostileList([1]), "body returned a HostileList that cannot be written: HostileError: its text"),
    (HostileModel, "body returned a HostileModel that cannot be written: LookupError: no dump"),
    (HostileProperty, "body returned a HostileProperty that cannot be written: ZeroDivisionError"),
    (lambda: nested(1000), "body returned a value that is nested too deep, or contains itself"),
    (circular, "body returned a value that is nested too deep, or contains itself"),
    (lambda: "\ud800", "body returned text that is not Unicode (a lone surrogate)"),
    (lambda: 10**5000, "body returned a number of more than a thousand digits"),
    (lambda: "x" * 2_000_000, "body returned 2000000 bytes, more than the 1048576 that a result may have; return less"),
    (EndlessList, f"body returned {TOO_LONG}"),
    (EndlessMapping, f"body returned {TOO_LONG}"),
    (lambda: [{"id": n, "name": "row"} for n in range(1_000_000)], f"body returned {TOO_LONG}"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "says"), UNWRITABLE, ids=[says[:45] for _, says in UNWRITABLE])
def test_what_cannot_be_written_is_the_call_s_error_and_says_what_to_return(body: Any, says: str) -> None:
    def returning() -> Any:
        return body()

    assert said_of(returning).startswith(f"error: {says}")


def test_an_async_generator_is_no_tool_and_one_that_is_returned_is_an_error() -> None:
    async def rows() -> Any:
        yield 1

    async def body() -> Any:
        return rows()

    assert said_of(body) == "error: body returned a async_generator, which JSON cannot write; return a list"


def test_what_an_async_body_does_not_await_is_an_error() -> None:
    async def body() -> Any:
        return asyncio.get_running_loop().create_future()

    assert "await it, or make the tool `async def`" in said_of(body)


def test_the_limit_of_a_result_is_the_tool_s_or_else_the_agent_s() -> None:
    def long() -> str:
        return "x" * 50

    own = tool(name="own", max_result_bytes=60)(long)
    by_agent = tool(name="by_agent")(long)
    both = agent(own, by_agent, script=[calls(call("own"), call("by_agent")), "done"], max_result_bytes=40)
    assert said_by(both) == [
        "x" * 50,
        "error: by_agent returned 50 bytes, more than the 40 that a result may have; return less",
    ]
    assert (both.tools[0], both.tools[1].limit) == (own, by_agent.limit)
