"""The store, as coroutines ask it: an operation gives its value, or raises what is known about it."""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeVar

from pawl.runtime.loop.environment import Environment
from pawl.runtime.records.errors import OutcomeUnknown, PawlError, StoreUnavailable
from pawl.runtime.records.errors import Superseded as SupersededError
from pawl.runtime.store.answers import Answer, Committed, Refused, Superseded, Unavailable, Uncertain
from pawl.runtime.store.port import Operation, Store

T = TypeVar("T")

TRIES: Final = 5
"""How often something is tried for a caller who waits for it, before the caller is told."""

BACKOFF: Final = 0.1
"""Seconds between the first try and the second."""


class AwaitedStore:
    """A store for who can wait: on the loop, by the clock of the environment."""

    def __init__(self, environment: Environment, store: Store) -> None:
        self._environment, self._store = environment, store

    async def commit(self, operation: Operation[T], *, once: bool = False, tries: int = TRIES) -> T:
        """Commit an operation, again and again for a while where it was not written, or where nobody knows.

        `once`: not where nobody knows; for what may not be written twice. `tries`: how often at most. Raises what it
        was refused with, Superseded, StoreUnavailable when nothing was written, OutcomeUnknown.
        """
        unknown: Exception | None = None
        for attempt in range(tries):
            match await self._answer(operation):
                case Committed(value):
                    return value
                case Refused(error):
                    raise error
                case Superseded(owner):
                    raise SupersededError(owner)
                case Uncertain(error):
                    unknown = last = error
                    if once:
                        break
                case Unavailable(error):
                    last = error
                    if isinstance(error, PawlError) and not isinstance(error, StoreUnavailable):
                        raise error
            await pause(self._environment, BACKOFF * 2**attempt)
        if unknown is not None:
            raise OutcomeUnknown(f"it is not known whether this was written: {unknown}; ask again") from unknown
        raise StoreUnavailable(f"the store cannot be written now, nothing was written: {last}") from last

    async def _answer(self, operation: Operation[T]) -> Answer[T]:
        future: asyncio.Future[Answer[T]] = self._environment.future()

        def arrived(said: Answer[T]) -> None:
            if not future.done():
                future.set_result(said)

        self._store.submit(operation, lambda said: self._environment.wake(lambda: arrived(said)))
        return await future

    async def read(self, operation: Operation[T]) -> T:
        """Read off the loop. Raises what the operation raises, and StoreError."""
        future: asyncio.Future[T] = self._environment.future()

        def arrived(value: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        self._environment.read(lambda: self._store.read(operation), arrived)
        return await future


async def pause(environment: Environment, seconds: float) -> None:
    """Wait for so many seconds by the clock of the environment."""
    future: asyncio.Future[None] = environment.future()
    environment.later(seconds, lambda: None if future.done() else future.set_result(None))
    await future
