"""Arguments of a tool call: from the text that a model wrote to keyword arguments."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import attrs

from pawl.runtime.agent.ahead import ReadText
from pawl.runtime.agent.bounds import DEEPEST, UNBOUNDED, Bounds
from pawl.runtime.agent.constraints import ConstrainedShape
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.mismatch import Mismatch, got, quietly
from pawl.runtime.agent.reading import one_reading
from pawl.runtime.agent.redaction import inside, redacts
from pawl.runtime.agent.shapes import Reference, Shape, UnionShape
from pawl.runtime.records.errors import InvalidArguments

_ARGUMENTS: Final = "the arguments"


@attrs.frozen
class Parameters:
    """What a tool takes: `shape` reads the arguments as one object; `context` names the ToolContext parameter. `most`
    is how much of it.
    """

    tool: str
    shape: Shape
    context: str | None = None
    most: Bounds = Bounds()  # noqa: RUF009 - frozen
    redacts: bool = attrs.field(init=False)
    _watched: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "redacts", redacts(self.shape))
        object.__setattr__(self, "_watched", self.redacts or _is_watched(self.shape))

    def validate(self, raw_json: str) -> dict[str, Any]:
        """Canonical JSON arguments from model text; empty text is an empty object. Raises InvalidArguments."""
        made = raw_json.made(self) if isinstance(raw_json, ReadText) else None
        if made is not None:
            return made
        try:
            return self._read(parse_object(raw_json, self.most))[0]
        except Mismatch as mismatch:
            raise self._invalid(mismatch) from None

    def validate_value(self, arguments: object) -> dict[str, Any]:
        """The same for arguments given as data: edited by a person, read back from a store. Raises InvalidArguments."""
        try:
            return self._read(plain(arguments, most=self.most))[0]
        except Mismatch as mismatch:
            raise self._invalid(mismatch) from None

    def bind(self, arguments: dict[str, Any], context: ToolContext[Any]) -> dict[str, Any]:
        """Keyword arguments with Python values, and the context where it is wanted. Raises InvalidArguments."""
        try:
            values = self._read(plain(arguments, most=UNBOUNDED))[1]
        except Mismatch as mismatch:
            raise self._invalid(mismatch) from None
        return values if self.context is None else {**values, self.context: context}

    def _read(self, arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if not self._watched:
            return self._read_object(arguments)
        with one_reading(), quietly(self.redacts):
            return self._read_object(arguments)

    def _read_object(self, arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if type(arguments) is not dict:
            raise Mismatch(f"the arguments must be a JSON object, got {got(arguments)}")
        return self.shape.read(arguments, "")

    def _invalid(self, mismatch: Mismatch) -> InvalidArguments:
        return InvalidArguments(f"invalid arguments for {self.tool}: {mismatch.said()}")


def parse_object(raw_json: object, most: Bounds = Bounds()) -> Any:  # noqa: B008 - frozen
    """Read the arguments that a model wrote; no text is no arguments. Raises Mismatch."""
    if isinstance(raw_json, str) and not raw_json.strip():
        return {}
    return parse_json(raw_json, most=most)


def parse_json(raw_json: object, noun: str = _ARGUMENTS, most: Bounds = Bounds()) -> Any:  # noqa: B008 - frozen
    """Read model text strictly: no duplicate names, no NaN, no deep nesting, Unicode only, and no more than `most`.

    `noun` is what the text is called, in the plural. Raises Mismatch.
    """
    if not isinstance(raw_json, str):
        raise Mismatch(f"{noun} must be JSON text, got a {type(raw_json).__name__}")
    most.check_text(raw_json, noun)
    try:
        value = _decode(raw_json)
    except RecursionError:
        raise Mismatch(f"{noun} are nested too deep") from None
    except json.JSONDecodeError as error:
        raise Mismatch(f"{noun} are not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError:  # the only other one: Python refuses to read integers of thousands of digits
        raise Mismatch(f"{noun} hold a number of thousands of digits") from None
    return plain(value, noun, most)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise Mismatch(f"the name {twice!r:.60} is given twice in one object")
    return made


def _no_constant(text: str) -> Any:
    raise Mismatch(f"{text} is not JSON; leave the value out or write null")


_decode: Final[Callable[[str], Any]] = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant).decode


def plain(value: object, noun: str = _ARGUMENTS, most: Bounds = Bounds()) -> Any:  # noqa: B008 - frozen
    """A copy of `value` in plain dicts, lists and scalars; tuples become lists. Raises Mismatch: it is not JSON, or
    more than `most`.
    """
    return _Plain(noun, most).whole(value)


class _Wrong(Exception):
    """A part is not JSON data; `parts` lead to it, from the inside."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.parts: list[Any] = []
        super().__init__(problem)

    def said(self, noun: str) -> str:
        """The problem with its place, in which no name is long."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part!s:.60}" for part in reversed(self.parts))
        return f"{''.join(parts).lstrip('.') or noun}: {self.problem}"


class _Plain:
    """Copies one value. Where it is in it is told only when something is wrong: a place could become long."""

    __slots__ = ("_left", "_most", "_noun", "_values")

    def __init__(self, noun: str, most: Bounds) -> None:
        self._noun, self._most = noun, most
        self._values, self._left = most.values, most.bytes

    def whole(self, value: Any) -> Any:
        """The copy. Raises Mismatch."""
        try:
            return self._copy(value, 0)
        except _Wrong as wrong:
            raise Mismatch(wrong.said(self._noun)) from None

    def _copy(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0:
            raise self._most.too_many(self._noun)
        kind = type(value)
        if kind is str:
            return self._text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if value.bit_length() > 4096:
                raise _Wrong("a number of more than a thousand digits")
            return value
        if kind is float:
            if not math.isfinite(value):
                raise _Wrong(f"{value} is not a JSON number")
            return value
        if not isinstance(value, dict | list | tuple):
            raise _Wrong(f"a {kind.__name__} is not JSON data")
        if depth >= DEEPEST and value:
            raise Mismatch(f"{self._noun} are nested deeper than {DEEPEST} levels")
        return self._names(value, depth + 1) if isinstance(value, dict) else self._items(value, depth + 1)

    def _names(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        made = {}
        for name, item in value.items():
            if type(name) is not str:
                raise _Wrong(f"the name {name!r:.60} must be text")
            key = self._text(name)
            try:
                made[key] = self._copy(item, depth)
            except _Wrong as wrong:
                wrong.parts.append(name)
                raise
        return made

    def _items(self, value: Any, depth: int) -> list[Any]:
        made: list[Any] = []
        for item in value:
            try:
                made.append(self._copy(item, depth))
            except _Wrong as wrong:
                wrong.parts.append(len(made))
                raise
        return made

    def _text(self, text: str) -> str:
        try:
            self._left -= len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError as error:
            raise _Wrong(f"not Unicode text (a lone surrogate at character {error.start})") from None
        if self._left < 0:
            raise self._most.too_long(self._noun)
        return text


def _is_watched(shape: Shape) -> bool:
    """Whether reading it has to know what was read before: of unions, of what contains itself, of patterns."""
    left, seen = [shape], set()
    while left:
        one = left.pop()
        if isinstance(one, UnionShape | Reference) or (isinstance(one, ConstrainedShape) and one.has_pattern):
            return True
        if id(one) not in seen:
            seen.add(id(one))
            left.extend(inside(one))
    return False
