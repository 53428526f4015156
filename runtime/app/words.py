"""What callers' answers have in common: they take turns, and they can be written."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from pawl.runtime.records.errors import InvalidArguments


class Turns:
    """One answer at a time for each execution."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, execution_id: str) -> asyncio.Lock:
        """Hold it while bringing an answer to that execution."""
        return self._locks.setdefault(execution_id, asyncio.Lock())


def check_text(what: str, value: object) -> None:
    """Raises InvalidArguments for text that is not Unicode; what is no text is none of its business."""
    if not isinstance(value, str):
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments(f"{what} is not Unicode text: a lone surrogate at character {error.start}") from None
