"""The environment port: clock, ids, leases, scheduling and work off the loop; and its asyncio implementation.

Everything that is not a fold over values comes through here, so that a simulator can stand in its place.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, Protocol, TypeVar

from pawl.runtime.loop.pool import Job, OffloadPool, PoolState
from pawl.runtime.records.agents import Owner
from pawl.runtime.store import process

T = TypeVar("T")

_ANY: Final = 1 << 60
"""Reads that may wait: as many as there are runs."""


class Cancellable(Protocol):
    """Something that can be called off."""

    def cancel(self) -> object:
        """Call it off; harmless when it is over."""


class Environment(Protocol):
    """What a runtime needs of the world. All but `now`, `elapsed` and `wake` is called on the loop only."""

    def now(self) -> float:
        """Unix seconds, on a clock that may be set."""

    def elapsed(self) -> float:
        """Seconds since some moment, on a clock that nobody sets."""

    def new_id(self) -> str:
        """A name that nothing else has, in any process."""

    def random(self) -> float:
        """A number from 0 to below 1, drawn evenly: for waits that are not to coincide."""

    def lease(self, owner_id: str, expires_at: float) -> Owner:
        """A lease of this process until `expires_at` (unix seconds)."""

    def is_dead(self, owner: Owner) -> bool:
        """Whether the process behind a lease is known to be gone."""

    def wake(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the loop soon; callable from any thread. Raises RuntimeError when the loop is gone."""

    def later(self, seconds: float, callback: Callable[[], None]) -> Cancellable:
        """Run `callback` on the loop after `seconds`."""

    def offload(self, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> Cancellable:
        """Run blocking `body` on the bounded pool; `done` runs on the loop when it has physically ended.

        Raises Backpressure when too much is waiting. Cancelling skips a body that has not begun.
        """

    def offloaded(self) -> PoolState:
        """How the bounded pool stands."""

    def read(self, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> Cancellable:
        """The same for what reads the store: it waits for no application code. No Backpressure."""

    def spawn(
        self, work: Coroutine[Any, Any, T], done: Callable[[T | None, BaseException | None], None]
    ) -> Cancellable:
        """Run a coroutine; `done` runs on the loop when it has physically ended, also after a cancellation."""

    def future(self) -> asyncio.Future[Any]:
        """A future of the loop."""

    async def close(self) -> None:
        """Let go of threads; bodies that still run are not waited for."""


class AsyncioEnvironment:
    """The production environment, on the running event loop. `workers` threads run blocking code, `backlog` waits;
    `readers` threads read the store.
    """

    def __init__(self, *, workers: int = 32, backlog: int = 10_000, readers: int = 8) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._context = contextvars.copy_context()
        self._pool = OffloadPool(workers, backlog)
        self._readers = OffloadPool(readers, _ANY)
        self._random = random.Random()
        self._tasks: set[asyncio.Task[Any]] = set()

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def elapsed(self) -> float:
        """On some systems without the time in which the machine slept."""
        return time.monotonic()

    def new_id(self) -> str:
        """32 random hex digits."""
        return uuid.uuid4().hex

    def random(self) -> float:
        """From a generator of its own, which no `random.seed` of the application touches."""
        return self._random.random()

    def lease(self, owner_id: str, expires_at: float) -> Owner:
        """Of this operating system process."""
        return process.lease(owner_id, expires_at)

    def is_dead(self, owner: Owner) -> bool:
        """Asks the operating system, about processes of this machine."""
        return process.is_dead(owner)

    def wake(self, callback: Callable[[], None]) -> None:
        """Thread-safe."""
        if threading.get_ident() == self._thread:
            self._loop.call_soon(callback, context=self._context)  # no system call to wake who is awake
        else:
            self._loop.call_soon_threadsafe(callback, context=self._context)

    def later(self, seconds: float, callback: Callable[[], None]) -> Cancellable:
        """On the loop's monotonic clock."""
        return self._loop.call_later(seconds, callback, context=self._context)  # as it would be copied for each

    def offload(self, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> Job[T]:
        """On a daemon thread of the pool."""
        return self._on(self._pool, body, done)

    def read(self, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> Job[T]:
        """On a daemon thread of the readers."""
        return self._on(self._readers, body, done)

    def _on(
        self, pool: OffloadPool, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]
    ) -> Job[T]:
        def ended(value: T | None, error: BaseException | None) -> None:
            try:
                self._loop.call_soon_threadsafe(done, value, error, context=self._context)
            except RuntimeError:
                return  # the loop is gone, and with it everything that could have used the result

        return pool.submit(body, ended)

    def offloaded(self) -> PoolState:
        """Of the pool."""
        return self._pool.state()

    def spawn(
        self, work: Coroutine[Any, Any, T], done: Callable[[T | None, BaseException | None], None]
    ) -> asyncio.Task[None]:
        """As a task of the running loop."""
        spawned = _Spawned(work, done, self._tasks)
        task = self._loop.create_task(spawned.run())
        self._tasks.add(task)
        task.add_done_callback(spawned.ended, context=self._context)
        return task

    def future(self) -> asyncio.Future[Any]:
        """A future of the running loop."""
        return self._loop.create_future()

    async def close(self) -> None:
        """Cancel what still runs as tasks, and let the threads go."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        self._pool.close()
        self._readers.close()


class _Spawned(Generic[T]):
    """Work in a task that calls `done` itself: a callback would come a turn of the loop later.

    An object, where closures would be a dozen: with a thousand runs the garbage collector looks at each of them often.
    """

    __slots__ = ("_begun", "_done", "_running", "_told", "_work")

    def __init__(
        self,
        work: Coroutine[Any, Any, T],
        done: Callable[[T | None, BaseException | None], None],
        running: set[asyncio.Task[Any]],
    ) -> None:
        self._work, self._done, self._running = work, done, running
        self._begun = self._told = False

    async def run(self) -> None:
        """The task."""
        self._begun = True
        try:
            value = await self._work
        except BaseException as error:
            self._done(None, error)
            self._told = True
            if not isinstance(error, SystemExit):  # an outcome like any other, as on the pool; not the loop's end
                raise
            return
        self._done(value, None)
        self._told = True

    def ended(self, task: asyncio.Task[None]) -> None:
        """What is left when the task is done."""
        self._running.discard(task)
        if not self._begun:  # cancelled before its first step
            self._work.close()
            self._done(None, asyncio.CancelledError())
        elif self._told and not task.cancelled():
            task.exception()  # seen; what `done` itself raises is left to be reported by asyncio
