"""Virtual time: a clock that moves when it is told to, and an asyncio loop that lives on it and never waits.

Each process of a simulation has a loop of its own, which is only ever run by `turn`. So a process that is paused is a
loop that is not turned, and one that is lost is a loop that never will be again: nothing of it runs any more, not
even a `finally`.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar, TypeVarTuple, Unpack

from pawl.runtime.simulation.faults import ProcessLost

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

EPOCH = 1_800_000_000.0
"""The unix time at which every simulation begins."""


_CLEAN_UPS = 16
"""Places at which a coroutine that is being ended may want to await something more."""


_RESOLUTION = 1e-9
"""Seconds by which a timer may be early, as asyncio has it."""


class Left(Exception):
    """Carries a SystemExit out of a task."""

    def __init__(self, said: SystemExit) -> None:
        self.said = said
        super().__init__(said)


class Clock:
    """Seconds since the beginning, the same for all processes."""

    def __init__(self) -> None:
        self.time = 0.0


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a virtual clock: no input, no threads, no waiting."""

    def __init__(self, clock: Clock) -> None:
        self._virtual = clock
        self._blocked: float | None = 0.0
        self._unstarted: set[Coroutine[Any, Any, Any]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        super().__init__(_NoInput(self._would_block))
        self._clock_resolution = _RESOLUTION
        self.set_exception_handler(_report)

    def time(self) -> float:
        """Virtual seconds."""
        return self._virtual.time

    def turn(self) -> bool:
        """Run everything that is ready now, once. False when nothing was: then `due` says what the loop waits for.

        Also from inside of another loop's callback, which stands still meanwhile: an asynchronous test's, perhaps.
        """
        outer = running_loop()
        if outer is None:
            self.run_forever()
        else:
            _aside(outer, self.run_forever)
        return self._blocked == 0

    @property
    def due(self) -> float | None:
        """The time of the next timer, as seen by the last turn; None without one."""
        return None if self._blocked is None else self._virtual.time + self._blocked

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Held on to, so that what a lost process was doing is not collected, which would run its clean-up."""
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def tasks(self) -> tuple[asyncio.Task[Any], ...]:
        """Those that have not ended."""
        return tuple(self._tasks)

    def task(self, work: Awaitable[T], *, outcome: bool = False) -> asyncio.Task[T]:
        """A task of anything that can be awaited. What never gets its first turn is closed, and warns of nothing.

        `outcome`: a SystemExit is one, as Left, and does not end the loop.
        """

        def drop(_: object) -> None:
            if isinstance(work, Coroutine) and work in self._unstarted:
                self._unstarted.discard(work)
                work.close()

        async def run() -> T:
            if isinstance(work, Coroutine):
                self._unstarted.discard(work)
            try:
                return await work
            except ProcessLost:
                raise
            except SystemExit as said:
                if not outcome:
                    raise
                raise Left(said) from said

        if isinstance(work, Coroutine):
            self._unstarted.add(work)
        task = self.create_task(run())
        task.add_done_callback(drop)
        return task

    def _would_block(self, seconds: float | None) -> None:
        # A timer that is due within the loop's resolution is run in this very turn: what it makes ready needs another.
        self._blocked = seconds if seconds is None or seconds > _RESOLUTION else 0.0
        self.stop()

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Arguments]], object], *arguments: *Arguments, context: Any = None
    ) -> asyncio.Handle:
        """There are no other threads."""
        return self.call_soon(callback, *arguments, context=context)

    def run_in_executor(
        self, executor: object, function: Callable[[Unpack[Arguments]], T], *arguments: *Arguments
    ) -> asyncio.Future[T]:
        """Run it at once."""
        assert executor is None, "a simulation has no executors"
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def abandon(self) -> None:
        """Let go of a loop that will not be turned again, and of what was going on in it."""
        self.set_exception_handler(_forget)
        for task in tuple(self._tasks):
            coroutine = task.get_coro()
            if coroutine is not None:
                _end(coroutine)
        for unstarted in self._unstarted:
            unstarted.close()
        self.close()


def _end(coroutine: Generator[Any, None, Any] | Coroutine[Any, Any, Any]) -> None:
    for _ in range(_CLEAN_UPS):
        try:
            coroutine.close()
        except RuntimeError:
            continue  # it awaits something while it is being ended: ended again, at that place
        return


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs on this thread, None when none does."""
    return asyncio._get_running_loop()  # noqa: SLF001 - documented, for implementations of loops such as this


def _aside(outer: asyncio.AbstractEventLoop, run: Callable[[], None]) -> None:
    """Run while `outer` and the task in it count as not running."""
    task = asyncio.current_task(outer)  # none in a plain callback
    swap: Any = getattr(asyncio.tasks, "_swap_current_task", None)  # from Python 3.12 on, and unknown to type checkers
    if swap is not None and task is not None:
        swap(outer, None)
    asyncio._set_running_loop(None)  # noqa: SLF001
    try:
        run()
    finally:
        asyncio._set_running_loop(outer)  # noqa: SLF001
        if swap is not None and task is not None:
            swap(outer, task)


class _NoInput(selectors.SelectSelector):
    """Nothing ever arrives from outside; a loop that would wait says for how long instead."""

    def __init__(self, would_block: Callable[[float | None], None]) -> None:
        super().__init__()
        self._would_block = would_block

    def select(self, timeout: float | None = None) -> list[Any]:
        """Never wait."""
        self._would_block(timeout)
        return []


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    loop.default_exception_handler(context)


def _forget(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tasks of a lost process are destroyed while pending: that is what being lost means."""
