"""Operations one at a time, each waited for: upkeep is a guest of the store, and in no hurry."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TypeVar

from pawl.runtime.records.errors import StoreError
from pawl.runtime.store.answers import Answer, Committed, Superseded, Unavailable
from pawl.runtime.store.port import Operation, Store

T = TypeVar("T")

TRIES: Final = 5
"""How often an operation is tried while the store is not available."""


class Asker:
    """Submits to an open store. `pause` waits for so many seconds: as long as others had to wait, and longer after each
    failure.
    """

    def __init__(self, store: Store, pause: Callable[[float], None] = time.sleep) -> None:
        self._store, self._pause = store, pause

    def ask(self, operation: Operation[T]) -> T:
        """The value of a committed operation; others get their turn behind it.

        Raises what it was refused with, StoreUnavailable, and StoreError where nobody knows whether it was written:
        then it must not be tried again.
        """
        for attempt in range(1, TRIES + 1):
            begun = time.monotonic()
            answer = self._answer(operation)
            self._pause(time.monotonic() - begun)
            if isinstance(answer, Committed):
                value: T = answer.value
                return value
            if isinstance(answer, Superseded):
                raise StoreError("the store was taken over")
            if not isinstance(answer, Unavailable) or attempt == TRIES:
                raise answer.error
            self._pause(0.1 * attempt)
        raise AssertionError("the last try raises")

    def _answer(self, operation: Operation[T]) -> Answer[T]:
        answers: SimpleQueue[Answer[T]] = SimpleQueue()
        self._store.submit(operation, answers.put)
        return answers.get()
