"""One reading of a JSON value: what has been read of it already, and how many steps its patterns may still take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import attrs

from pawl.runtime.agent.mismatch import Mismatch, place

if TYPE_CHECKING:
    from pawl.runtime.agent.shapes import Read, Shape

_STEPS: Final = 5_000_000
"""Steps that all the patterns of one reading may take: some tenths of a second."""


@attrs.define(eq=False)
class _Reading:
    known: dict[tuple[int, int], Read | Mismatch] = attrs.Factory(dict)
    steps: float = _STEPS


_NOW: Final[ContextVar[_Reading | None]] = ContextVar("reading", default=None)


@contextmanager
def one_reading() -> Iterator[None]:
    """What is read inside is one value.

    Members of unions then read each list and object in it once, however many ways lead there: types that contain
    themselves in two members of a union would be read twice as often with each level.
    """
    before = _NOW.set(_Reading())
    try:
        yield
    finally:
        _NOW.reset(before)


def read_once(shape: Shape, value: Any, path: str) -> Read:
    """What a member of a union makes of a value, which stands in one place and lives as long as the reading."""
    reading = _NOW.get()
    if reading is None or type(value) not in (dict, list):
        return shape.read(value, path)
    found = reading.known.get((id(shape), id(value)))
    if found is None:
        try:
            found = shape.read(value, path)
        except Mismatch as mismatch:
            found = mismatch.with_traceback(None)
        reading.known[id(shape), id(value)] = found
    if isinstance(found, Mismatch):
        raise Mismatch(*found.problems, more=found.more)
    return found


def spend(steps: float, path: str) -> None:
    """Count the steps that a pattern is about to take. Raises Mismatch where there are no more."""
    reading = _NOW.get()
    if reading is None:
        return
    reading.steps -= steps
    if reading.steps < 0:
        raise Mismatch(f"{place(path)}: all the text that has to match patterns is too long to be checked; give less")
