"""An SQLite file that is only looked at: never made, never migrated, never written, and read where nobody may write."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeVar

from pawl.runtime.records.errors import (
    PawlError,
    RuntimeClosed,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from pawl.runtime.store.answers import Answer, Refused
from pawl.runtime.store.port import Operation, StoreInfo
from pawl.runtime.store.sqlite_connect import SCHEMA, Connect, check_file, connect
from pawl.runtime.store.sqlite_errors import translated
from pawl.runtime.store.sqlite_transaction import SqliteTransaction

T = TypeVar("T")


class SqliteLook:
    """A store that refuses to write. `busy_timeout` in seconds."""

    def __init__(self, path: str | PathLike[str], busy_timeout: float = 5.0, *, connect: Connect = connect) -> None:
        self._path, self._timeout, self._connect = Path(path), busy_timeout, connect
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    @property
    def info(self) -> StoreInfo:
        """Adapter, file, schema."""
        return StoreInfo("sqlite", str(self._path), SCHEMA)

    def open(self) -> None:
        """Open; nothing when it is open. Raises StoreUnavailable, StoreReadOnly, StoreCorrupt, SchemaTooNew."""
        with self._lock:
            if self._closed:
                raise RuntimeClosed(f"the store {self._path} was closed; look anew")
            if self._connection is None:
                self._connection = self._opened()

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:  # noqa: ARG002
        """Refused, always."""
        answer(Refused(StoreReadOnly(f"{self._path} is only looked at")))

    def read(self, operation: Operation[T]) -> T:
        """Run a read-only operation on one snapshot. Raises PawlError, StoreError."""
        with self._lock:
            connection = self._connection
            if connection is None:
                raise StoreUnavailable(f"the store {self._path} is not open")
            try:
                connection.execute("BEGIN")
                return operation(SqliteTransaction(connection))
            except sqlite3.Error as error:
                raise self._named(error) from error
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close. Idempotent."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _opened(self) -> sqlite3.Connection:
        if not self._path.is_file():
            raise StoreUnavailable(f"{self._path}: there is no such file")
        try:
            return self._checked("mode=ro")
        except sqlite3.Error as error:
            told = translated(error)
            if not isinstance(told, StoreUnavailable | StoreReadOnly):
                raise self._named(error) from error
            return self._unwritable(error)

    def _unwritable(self, error: sqlite3.Error) -> sqlite3.Connection:
        """Where no log can be made beside the file, nobody writes it: it is read as it stands, if that is all of it."""
        log = self._path.with_name(f"{self._path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreReadOnly(
                f"{self._path}: its log holds more of it, and cannot be read in a folder that is read-only; "
                "copy the file with its -wal to where you may write, and look there"
            ) from error
        try:
            return self._checked("mode=ro&immutable=1")
        except sqlite3.Error as again:
            raise self._named(again) from again

    def _checked(self, options: str) -> sqlite3.Connection:
        connection = self._connect(f"{self._path.absolute().as_uri()}?{options}", self._timeout)
        try:
            connection.execute("PRAGMA query_only = 1")
            if not check_file(connection):
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                older = (
                    f"it has schema {version}, and is looked at with schema {SCHEMA}; `pawl ls` brings it up to date"
                )
                raise StoreUnavailable(older if version else "it is empty, and no store")
        except PawlError as error:
            connection.close()
            raise type(error)(f"{self._path}: {error}") from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _named(self, error: sqlite3.Error) -> StoreError:
        told = translated(error)
        assert isinstance(told, StoreError)
        return type(told)(f"{self._path}: {told}")
