"""Who runs submitted operations: a thread of the store's own, or the caller itself for a deterministic simulation."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeAlias

from pawl.runtime.store.answers import Answer
from pawl.runtime.store.port import Operation

Job: TypeAlias = "tuple[Operation[Any], Callable[[Answer[Any]], None]]"
"""An operation, and who wants its answer."""

Take: TypeAlias = "Callable[[], Job | None]"
"""One more job that is waiting already, or None; never blocks."""

Serve: TypeAlias = "Callable[[Job, Take], None]"
"""Runs a job, and as many that it takes as it likes, and answers every one of them. Never raises."""


_log: Final = logging.getLogger("pawl.store")


def reply(job: Job, answer: Answer[Any]) -> None:
    """Answer a job. An answer that raises is its owner's fault, and must not cost the others theirs."""
    try:
        job[1](answer)
    except Exception as error:
        _log.error("the receiver of an answer (%s) raised %s", type(answer).__name__, type(error).__name__)
        _log.debug("the receiver of an answer raised", exc_info=error)


class Worker(Protocol):
    """Runs jobs one group after another, in the order of submission."""

    def submit(self, job: Job) -> bool:
        """Have `job` served; False when the worker has been stopped."""

    def stop(self) -> None:
        """Serve what was submitted, then `end`. Returns when that is done, except on the worker's own thread."""


class ThreadWorker:
    """A daemon thread: an application that forgets to close loses no durable write, only a tidy end."""

    def __init__(self, name: str, serve: Serve, end: Callable[[], None]) -> None:
        self._serve, self._end = serve, end
        self._lock = threading.Lock()
        self._stopped = False
        self._draining = False
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> bool:
        """Have `job` served on the thread."""
        with self._lock:  # no job may get behind the end mark, where nobody would answer it
            if self._stopped:
                return False
            self._queue.put(job)
        return True

    def stop(self) -> None:
        """Serve what was submitted, then end the thread."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._queue.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _loop(self) -> None:
        get, serve, take = self._queue.get, self._serve, self._take
        while not self._draining:
            job = get()
            if job is None:
                break
            serve(job, take)
        self._end()

    def _take(self) -> Job | None:
        if self._draining or self._queue.empty():
            return None
        job = self._queue.get_nowait()
        self._draining = job is None
        return job


class InlineWorker:
    """Serves inside `submit`. A job that is submitted by an answer waits until that answer has returned."""

    def __init__(self, serve: Serve, end: Callable[[], None]) -> None:
        self._serve, self._end = serve, end
        self._waiting: deque[Job] = deque()
        self._serving = False
        self._stopped = False
        self._ended = False

    def submit(self, job: Job) -> bool:
        """Serve `job` now, or after the one that is being served."""
        if self._stopped:
            return False
        self._waiting.append(job)
        self._run()
        return True

    def stop(self) -> None:
        """Refuse later jobs, and end as soon as nothing is being served."""
        self._stopped = True
        self._run()

    def _run(self) -> None:
        if self._serving:
            return
        self._serving = True
        try:
            while (job := self._one()) is not None:
                self._serve(job, _nothing)
        finally:
            self._serving = False
        if self._stopped and not self._ended:
            self._ended = True
            self._end()

    def _one(self) -> Job | None:
        return self._waiting.popleft() if self._waiting else None


def _nothing() -> Job | None:
    return None
