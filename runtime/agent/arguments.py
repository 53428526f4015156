"""Arguments of a tool call: from the text that a model wrote to keyword arguments."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import attrs

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.redaction import redacts
from pawl.runtime.agent.shapes import Mismatch, Shape, got, quietly
from pawl.runtime.records.errors import InvalidArguments

_DEEPEST: Final = 64
"""Levels of nesting in arguments; far above any real call, far below what a JSON reader survives."""

_ARGUMENTS: Final = "the arguments"
_SHOWN: Final = 6
"""Problems that one error names."""


@attrs.frozen
class Parameters:
    """What a tool takes: `shape` reads the arguments as one object; `context` names the ToolContext parameter."""

    tool: str
    shape: Shape
    context: str | None = None
    redacts: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "redacts", redacts(self.shape))

    def validate(self, raw_json: str) -> dict[str, Any]:
        """Canonical JSON arguments from model text; empty text is an empty object. Raises InvalidArguments."""
        try:
            return self._read(parse_object(raw_json))[0]
        except Mismatch as mismatch:
            raise self._invalid(mismatch) from None

    def validate_value(self, arguments: object) -> dict[str, Any]:
        """The same for arguments given as data: edited by a person, read back from a store. Raises InvalidArguments."""
        try:
            return self._read(plain(arguments))[0]
        except Mismatch as mismatch:
            raise self._invalid(mismatch) from None

    def bind(self, arguments: dict[str, Any], context: ToolContext[Any]) -> dict[str, Any]:
        """Keyword arguments with Python values, and the context where it is wanted. Raises InvalidArguments."""
        try:
            values = self._read(plain(arguments))[1]
        except Mismatch as mismatch:
            raise self._invalid(mismatch) from None
        return values if self.context is None else {**values, self.context: context}

    def _read(self, arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if not self.redacts:
            return self._read_object(arguments)
        with quietly(True):
            return self._read_object(arguments)

    def _read_object(self, arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if type(arguments) is not dict:
            raise Mismatch(f"the arguments must be a JSON object, got {got(arguments)}")
        return self.shape.read(arguments, "")

    def _invalid(self, mismatch: Mismatch) -> InvalidArguments:
        problems = list(mismatch.problems[:_SHOWN])
        if len(mismatch.problems) > _SHOWN:
            problems.append(f"and {len(mismatch.problems) - _SHOWN} more")
        return InvalidArguments(f"invalid arguments for {self.tool}: {'; '.join(problems)}")


def parse_object(raw_json: object) -> Any:
    """Read the arguments that a model wrote; no text is no arguments. Raises Mismatch."""
    if isinstance(raw_json, str) and not raw_json.strip():
        return {}
    return parse_json(raw_json)


def parse_json(raw_json: object, noun: str = _ARGUMENTS) -> Any:
    """Read model text strictly: no duplicate names, no NaN, no deep nesting, Unicode only.

    `noun` is what the text is called, in the plural. Raises Mismatch.
    """
    if not isinstance(raw_json, str):
        raise Mismatch(f"{noun} must be JSON text, got a {type(raw_json).__name__}")
    try:
        value = _decode(raw_json)
    except RecursionError:
        raise Mismatch(f"{noun} are nested too deep") from None
    except json.JSONDecodeError as error:
        raise Mismatch(f"{noun} are not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError:  # the only other one: Python refuses to read integers of thousands of digits
        raise Mismatch(f"{noun} hold a number of thousands of digits") from None
    return plain(value, noun)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise Mismatch(f"the name {twice!r:.60} is given twice in one object")
    return made


def _no_constant(text: str) -> Any:
    raise Mismatch(f"{text} is not JSON; leave the value out or write null")


_decode: Final[Callable[[str], Any]] = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant).decode


def plain(value: object, noun: str = _ARGUMENTS) -> Any:
    """A copy of `value` in plain dicts, lists and scalars; tuples become lists. Raises Mismatch: it is not JSON."""
    try:
        return _plain(value, "", 0)
    except Mismatch as mismatch:
        if noun == _ARGUMENTS:
            raise
        raise Mismatch(*(problem.replace(_ARGUMENTS, noun, 1) for problem in mismatch.problems)) from None


def _plain(value: Any, path: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise Mismatch(f"the arguments are nested deeper than {_DEEPEST} levels")
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _unicode(value, path)
    if type(value) is int:
        if value.bit_length() > 4096:
            raise Mismatch(f"{path or 'the arguments'}: a number of more than a thousand digits")
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise Mismatch(f"{path or 'the arguments'}: {value} is not a JSON number")
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            _name(name, path): _plain(item, f"{path}.{name}".lstrip("."), depth + 1) for name, item in value.items()
        }
    raise Mismatch(f"{path or 'the arguments'}: a {type(value).__name__} is not JSON data")


def _name(name: Any, path: str) -> str:
    if type(name) is not str:
        raise Mismatch(f"{path or 'the arguments'}: the name {name!r:.60} must be text")
    return _unicode(name, path)


def _unicode(text: str, path: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Mismatch(
            f"{path or 'the arguments'}: not Unicode text (a lone surrogate at character {error.start})"
        ) from None
    return text
