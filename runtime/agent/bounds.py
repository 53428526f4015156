"""How much JSON may be given: by a model as the arguments of a call, or as its answer; by a person as an edit."""

from __future__ import annotations

import re
import sys
from typing import Final

import attrs

from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.agent.settings import shown
from pawl.runtime.records.errors import InvalidArguments

DEEPEST: Final = 64
"""Levels of nesting; far above any real call, far below what a JSON reader survives."""

_TEXT: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A JSON text inside JSON, also one without an end. It never looks at a character twice."""


@attrs.frozen
class Bounds:
    """At most so many UTF-8 bytes of text, and so many values: each scalar, each list and each object is one."""

    bytes: int = 1 << 20
    values: int = 10_000

    def check_text(self, text: str, noun: str) -> None:
        """Raise Mismatch where JSON text is too long, or plainly holds too much to be read at all."""
        if len(text) > self.bytes or (not text.isascii() and len(text.encode(errors="replace")) > self.bytes):
            raise self.too_long(noun)
        # Behind each comma is a value, and so is what each bracket begins: at most twice as many signs as values.
        if _signs(text) > 2 * self.values and _signs(_TEXT.sub("", text)) > 2 * self.values:
            raise self.too_many(noun)

    def check(self, value: object, noun: str) -> None:
        """Raise Mismatch for JSON data that is more; what is no such data is none of its business."""
        left, values, size = [value], self.values, self.bytes
        while left:
            one = left.pop()
            values -= 1
            if isinstance(one, str):
                size -= len(one)
            elif isinstance(one, dict | list | tuple) and len(one) <= values:
                left.extend(one.values() if isinstance(one, dict) else one)
                size -= sum(len(name) for name in one if isinstance(name, str)) if isinstance(one, dict) else 0
            elif isinstance(one, dict | list | tuple):
                values = -1
            if values < 0 or size < 0:
                raise self.too_many(noun) if values < 0 else self.too_long(noun)

    def too_long(self, noun: str) -> Mismatch:
        """The error of what has too many bytes."""
        return Mismatch(f"{noun} are more than {self.bytes} bytes; give less at once")

    def too_many(self, noun: str) -> Mismatch:
        """The error of what has too many values."""
        return Mismatch(f"{noun} hold more than {self.values} values; give less at once")


UNBOUNDED: Final = Bounds(sys.maxsize, sys.maxsize)
"""For what was let in before."""


def bounds_of(where: str, max_argument_bytes: int | None, max_argument_values: int | None) -> Bounds:
    """Bounds as options give them; None is the default. Raises InvalidArguments, naming the option."""
    usual = Bounds()
    return Bounds(
        _whole(where, "max_argument_bytes", max_argument_bytes, usual.bytes),
        _whole(where, "max_argument_values", max_argument_values, usual.values),
    )


def _whole(where: str, option: str, value: object, usual: int) -> int:
    if value is None:
        return usual
    if type(value) is not int or not 0 < value <= sys.maxsize:
        raise InvalidArguments(f"{where}: {option}={shown(value)} must be a whole number above 0")
    return value


def _signs(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")
