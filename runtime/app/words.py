"""What callers' answers have in common: they take turns, and they can be written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final
from weakref import WeakValueDictionary

from pawl.runtime.agent.bounds import Bounds
from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.llm.port import LARGEST_ANSWER
from pawl.runtime.records.errors import InvalidArguments


class Turns:
    """One answer at a time for each execution."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, execution_id: str) -> asyncio.Lock:
        """Hold it while bringing an answer to that execution."""
        return self._locks.setdefault(execution_id, asyncio.Lock())


LONGEST: Final = LARGEST_ANSWER
"""UTF-8 bytes of one text that a person or an application gives: an input, a result."""

LONGEST_WORDS: Final = 1 << 16
"""UTF-8 bytes of what explains something: a message about a decision, an error."""

_CONTEXT: Final = Bounds()
"""Of a durable context: it is shown to whatever takes part in a run, each time."""

_EDIT: Final = Bounds(LARGEST_ANSWER, 100_000)
"""Of edited arguments, whatever their tool takes: its code may be elsewhere."""


def check_text(what: str, value: object, most: int = LONGEST) -> None:
    """Raises InvalidArguments for text that is not Unicode, or has more than `most` bytes; what is no text is none of
    its business.
    """
    if not isinstance(value, str):
        return
    try:
        size = len(str.encode(value))
    except UnicodeEncodeError as error:
        raise InvalidArguments(f"{what} is not Unicode text: a lone surrogate at character {error.start}") from None
    if size > most:
        raise InvalidArguments(f"{what} has {size} bytes, more than {most}; give less, or where it can be found")


def check_edit(name: str, edit: object) -> None:
    """Raises InvalidArguments for edited arguments that no tool takes so much of."""
    try:
        _EDIT.check(edit, f"the edited arguments of item {name!r:.100}")
    except Mismatch as mismatch:
        raise InvalidArguments(mismatch.said()) from None


def check_context(context: Mapping[str, object], text: str) -> None:
    """Raises InvalidArguments for a durable context that is too much; `text` is it as JSON."""
    check_text("durable_context, as JSON,", text, _CONTEXT.bytes)
    try:
        _CONTEXT.check(dict(context), "the values of durable_context")
    except Mismatch as mismatch:
        raise InvalidArguments(mismatch.said()) from None
