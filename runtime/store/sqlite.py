"""The SQLite store: one file, one thread that writes in groups, readers beside it that never take the write lock.

How a group commits is in `sqlite_group`, what an error means in `sqlite_errors`, how a file is opened (with the
measurements behind its pragmas) in `sqlite_connect`, the tables in `sqlite_schema`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TypeVar

import attrs

from pawl.runtime.records.errors import InvalidArguments, PawlError, RuntimeClosed, StoreError, StoreUnavailable
from pawl.runtime.store.answers import Answer, Unavailable
from pawl.runtime.store.port import Operation, StoreInfo
from pawl.runtime.store.sqlite_connect import SCHEMA, Connect, Identity, Place, Synchronous, connect
from pawl.runtime.store.sqlite_errors import translated
from pawl.runtime.store.sqlite_group import GroupWriter
from pawl.runtime.store.sqlite_transaction import SqliteTransaction
from pawl.runtime.store.worker import InlineWorker, ThreadWorker, Worker

T = TypeVar("T")

IDLE_READERS = 4
"""How many reading connections are kept for the next reader."""


@attrs.frozen
class _Reader:
    """A connection that reads, and which file."""

    connection: sqlite3.Connection
    transaction: SqliteTransaction
    identity: Identity | None


class SqliteStore:
    """A durable store in one file. `busy_timeout` in seconds.

    `synchronous="NORMAL"` gives up the sync of each commit: what was committed survives the process, not the power.
    `inline` runs operations inside `submit`, for deterministic tests; `connect` makes connections: put faults there.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        synchronous: Synchronous = "FULL",
        busy_timeout: float = 5.0,
        *,
        inline: bool = False,
        connect: Connect = connect,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise InvalidArguments(f"synchronous={synchronous!r} is not possible; use 'FULL' or 'NORMAL'")
        if not str(path) or str(path) == ":memory:":
            raise InvalidArguments(f"{str(path)!r} names no file; for a store in memory use memory://")
        self._place = Place(Path(path), synchronous, busy_timeout, connect)
        self._inline = inline
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._closed = False
        self._readers: list[_Reader] = []

    @property
    def info(self) -> StoreInfo:
        """Adapter, file, schema."""
        return StoreInfo("sqlite", str(self._place.path), SCHEMA)

    def open(self) -> None:
        """Open and migrate; nothing when it is open. Raises StoreUnavailable, StoreReadOnly, StoreCorrupt,
        SchemaTooNew, RuntimeClosed (after `close`).
        """
        with self._lock:
            if self._closed:
                raise RuntimeClosed(f"the store {self._place.path} was closed; make a new one")
            if self._worker is not None:
                return
            try:
                writer = GroupWriter(self._place, self._place.create())
            except (sqlite3.Error, StoreError) as error:
                raise _named(self._place, error) from error
            if self._inline:
                self._worker = InlineWorker(writer.serve, writer.end)
            else:
                self._worker = ThreadWorker("pawl-store", writer.serve, writer.end)

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:
        """Run `operation` with others in one write transaction; `answer` is called once, from the store's thread
        (from the caller's when the store is not open).
        """
        worker = self._worker
        if worker is None or not worker.submit((operation, answer)):
            answer(Unavailable(self._not_open()))

    def read(self, operation: Operation[T]) -> T:
        """Run a read-only operation now, on one snapshot. Raises PawlError, StoreError, and InvalidArguments where it
        asks for a name that no store can hold.

        A read-back is submitted, not read: only the writer makes sure that what it did not see can not land.
        """
        if self._worker is None:
            raise self._not_open()
        try:
            reader = self._reader()
        except sqlite3.Error as error:
            raise _named(self._place, error) from error
        connection, transaction = reader.connection, reader.transaction
        whole = False
        try:
            connection.execute("BEGIN")
            transaction.renew()
            value = operation(transaction)
            whole = True
        except sqlite3.Error as error:
            raise _named(self._place, error) from error
        except UnicodeEncodeError as error:
            raise InvalidArguments(f"{error.object!r:.60} is not Unicode text (a lone surrogate)") from None
        except PawlError as error:
            whole = not isinstance(error, StoreError)
            raise
        finally:
            if whole:
                self._keep(reader)
            else:  # a cursor may be open in the traceback, and would hold its snapshot for later readers
                connection.close()
        return value

    def close(self) -> None:
        """Answer what was submitted, move the log into the file, close. Idempotent."""
        with self._lock:
            self._closed = True
            readers, self._readers = self._readers, []
            for reader in readers:
                with suppress(sqlite3.Error):
                    reader.connection.close()
        if self._worker is not None:
            self._worker.stop()

    def _reader(self) -> _Reader:
        """One that reads the file that stands at the path now, which is not always the one that was opened first."""
        identity = self._place.identity()
        with self._lock:
            if self._closed:
                raise self._not_open()
            while self._readers:
                reader = self._readers.pop()
                if reader.identity == identity:
                    return reader
                reader.connection.close()
        connection = self._place.reader()
        return _Reader(connection, SqliteTransaction(connection), identity)

    def _keep(self, reader: _Reader) -> None:
        connection = reader.connection
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        with self._lock:
            if not self._closed and len(self._readers) < IDLE_READERS and not connection.in_transaction:
                self._readers.append(reader)
                return
        connection.close()

    def _not_open(self) -> RuntimeClosed | StoreUnavailable:
        if self._closed:
            return RuntimeClosed(f"the store {self._place.path} is closed")
        return StoreUnavailable(f"the store {self._place.path} is not open; call `open` first")


def _named(place: Place, error: sqlite3.Error | StoreError) -> BaseException:
    """The error with the name of the file."""
    told = translated(error)
    return type(told)(f"{place.path}: {told}")
