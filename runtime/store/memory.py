"""The store in memory: the shortest correct adapter, for tests, demonstrations and simulation; nothing survives it.

It keeps what the SQLite adapter keeps, encoded records, and undoes a failed operation write by write, so whatever runs
on it runs on a file. `inline=True` runs every operation inside `submit`, on the caller's thread, with no thread at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pawl.runtime.records.errors import PawlError, RuntimeClosed, StoreReadOnly, StoreUnavailable
from pawl.runtime.store.answers import Answer, Committed, Unavailable
from pawl.runtime.store.classify import of_error
from pawl.runtime.store.memory_tables import MemoryTransaction
from pawl.runtime.store.port import Operation, StoreInfo
from pawl.runtime.store.worker import InlineWorker, Job, Take, ThreadWorker, Worker, reply

T = TypeVar("T")


class MemoryStore:
    """A store that lives as long as this object."""

    def __init__(self, *, inline: bool = False) -> None:
        self._inline = inline
        self._transaction = MemoryTransaction()
        self._lock = threading.RLock()
        self._worker: Worker | None = None
        self._closed = False

    @property
    def info(self) -> StoreInfo:
        """Adapter and place; there is no schema to migrate."""
        return StoreInfo("memory", "memory://", 1)

    def open(self) -> None:
        """Begin; nothing when it is open. Raises RuntimeClosed after `close`."""
        with self._lock:
            if self._closed:
                raise RuntimeClosed("the store in memory was closed; make a new one")
            if self._worker is None:
                self._worker = (
                    InlineWorker(self._serve, _nothing)
                    if self._inline
                    else ThreadWorker("pawl-store", self._serve, _nothing)
                )

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:
        """Run `operation`; `answer` is called once, from the store's thread, or inside this call when inline."""
        worker = self._worker
        if worker is None or not worker.submit((operation, answer)):
            answer(Unavailable(self._not_open()))

    def read(self, operation: Operation[T]) -> T:
        """Run a read-only operation now. Raises PawlError, StoreReadOnly when it writes."""
        if self._worker is None or self._closed:
            raise self._not_open()
        with self._lock:
            try:
                value = operation(self._transaction)
                if self._transaction.written:
                    raise StoreReadOnly("a `read` may not write; `submit` the operation")
            finally:
                self._transaction.undo()
        return value

    def close(self) -> None:
        """Answer what was submitted. Idempotent."""
        with self._lock:
            self._closed = True
            worker = self._worker
        if worker is not None:
            worker.stop()

    def _serve(self, job: Job, _: Take) -> None:
        with self._lock:
            done = self._run(job[0])
        reply(job, done)

    def _run(self, operation: Operation[Any]) -> Answer[Any]:
        try:
            value = operation(self._transaction)
        except BaseException as error:
            self._transaction.undo()
            return of_error(error)
        self._transaction.keep()
        return Committed(value)

    def _not_open(self) -> PawlError:
        if self._closed:
            return RuntimeClosed("the store in memory is closed")
        return StoreUnavailable("the store in memory is not open; call `open` first")


def _nothing() -> None:
    """There is nothing to end."""
