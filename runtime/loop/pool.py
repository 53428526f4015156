"""The offload pool: a bounded number of daemon threads for blocking application code, with back-pressure.

Not `concurrent.futures`: its threads are joined when the interpreter exits, so that one body that never ends would
keep a closed process alive. Completion here is physical: `done` is called when the body has returned.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

from pawl.runtime.records.errors import Backpressure, RuntimeClosed

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class PoolState:
    """A pool as it stands: `threads` that were started, those `idle` of them, and bodies `waiting` for one."""

    threads: int = 0
    idle: int = 0
    waiting: int = 0


class Job(Generic[T]):
    """One body, waiting or running."""

    __slots__ = ("_body", "_cancelled", "_context", "_done", "_lock", "_started")

    def __init__(self, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        self._body, self._done = body, done
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._started = self._cancelled = False

    def cancel(self) -> bool:
        """Skip it if it has not begun; `done` then gets a JobSkipped. False when it runs or has run."""
        with self._lock:
            if self._started or self._cancelled:
                return False
            self._cancelled = True
            return True

    def run(self) -> None:
        """Run the body, then `done`."""
        with self._lock:
            self._started = True
            skipped = self._cancelled
        if skipped:
            self._done(None, JobSkipped())
            return
        try:
            value = self._context.run(self._body)
        except BaseException as error:  # whatever a body raises is its outcome, SystemExit included
            self._done(None, error)
        else:
            self._done(value, None)


class JobSkipped(Exception):
    """The body was called off before it began."""


class OffloadPool:
    """At most `workers` threads, started as they are needed; at most `backlog` jobs wait for one."""

    def __init__(self, workers: int, backlog: int) -> None:
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._workers, self._backlog = workers, backlog
        self._lock = threading.Lock()
        self._threads = self._idle = 0
        self._closed = False

    def submit(self, body: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> Job[T]:
        """Queue a body. Raises Backpressure, RuntimeClosed."""
        with self._lock:
            if self._closed:
                raise RuntimeClosed("the runtime is closed; nothing more is started")
            waiting = self._jobs.qsize()
            if waiting >= self._backlog:
                raise Backpressure(f"{waiting} calls wait for a worker already; nothing was started, try again later")
            grow = waiting >= self._idle and self._threads < self._workers
            if grow:
                self._threads += 1
            job = Job(body, done)
            self._jobs.put(job)
        if grow:
            threading.Thread(target=self._work, name="pawl-offload", daemon=True).start()
        return job

    def state(self) -> PoolState:
        """How it stands; of the moment, since threads come and go beside it."""
        with self._lock:
            return PoolState(threads=self._threads, idle=self._idle, waiting=self._jobs.qsize())

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
            if job is None:
                return
            job.run()
            del job  # a result must not live on in an idle thread

    def close(self) -> None:
        """Take no more jobs; threads end when they have done what is queued."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            threads = self._threads
        for _ in range(threads):
            self._jobs.put(None)
