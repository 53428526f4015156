"""What an SQLite error means: which of the store's errors it is, and whether anything can have been written.

Everything here but `of_commit` is about errors before COMMIT was reached, when nothing is written whatever happened: a
transaction that has not committed leaves at most frames without a commit mark in the write-ahead log, which no reader
and no recovery ever takes. So an operation is Refused (asking again would give the same) or Unavailable (it may work
later). What a failed COMMIT means is decided in `of_commit`.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from pawl.runtime.records.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreUnavailable
from pawl.runtime.store.answers import Refused, Superseded, Unavailable, Uncertain
from pawl.runtime.store.classify import of_error

_UNAVAILABLE: Final = {
    sqlite3.SQLITE_BUSY: "the store is locked by another process",
    sqlite3.SQLITE_LOCKED: "the store is locked by another connection",
    sqlite3.SQLITE_FULL: "the disk, or the size limit of the store, is full",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "the store's file can not be opened",
    sqlite3.SQLITE_PROTOCOL: "the store's locks are contended",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
    sqlite3.SQLITE_INTERRUPT: "the store was interrupted",
}
_CORRUPT: Final = {
    sqlite3.SQLITE_CORRUPT: ("the store's file is damaged", "restore a backup"),
    sqlite3.SQLITE_NOTADB: ("the file is not an SQLite database", "name the right one, or restore a backup"),
    sqlite3.SQLITE_ERROR: ("the store's tables are not as they were made", "restore a backup"),
}


def code_of(error: BaseException) -> int | None:
    """The primary result code of SQLite, or None when the error is not SQLite's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def translated(error: BaseException) -> BaseException:
    """`error` in the store's words, caused by it; what is not SQLite's is returned as it is."""
    if not isinstance(error, sqlite3.Error):
        return error
    told = _translated(error)
    told.__cause__ = error
    return told


def _translated(error: sqlite3.Error) -> StoreError:
    code = code_of(error)
    if code in _UNAVAILABLE:
        return StoreUnavailable(f"{_UNAVAILABLE[code]} ({error})")
    if code in _CORRUPT:
        what, to_do = _CORRUPT[code]
        return StoreCorrupt(f"{what} ({error}); {to_do}")
    if code == sqlite3.SQLITE_READONLY:
        return StoreReadOnly(f"the store's file or folder is read-only ({error}); make both writable")
    if code is None and isinstance(error, sqlite3.OperationalError):  # text that is not UTF-8 carries no code
        return StoreCorrupt(f"the store has a value that can not be read ({error})")
    return StoreError(f"SQLite refuses the operation: {error}")


def of_operation(error: BaseException) -> Refused | Unavailable | Superseded:
    """The answer to an operation that raised `error` and whose savepoint, or whole transaction, was rolled back."""
    return of_error(translated(error))


def of_commit(error: BaseException, still_open: bool) -> Unavailable | Uncertain:
    """The answer to every member of a group whose COMMIT raised `error`.

    A COMMIT in WAL mode appends the changed pages, the last one with the commit mark, syncs, and then publishes them
    in the shared index.

    * SQLITE_BUSY, and whatever else leaves the transaction open: COMMIT did not begin. The caller rolls back:
      known unwritten.
    * SQLITE_FULL: a write of the log was cut off. The commit mark is in the last page that is written, so there is
      none: known unwritten.
    * Anything else (an I/O error, no memory, …) may have come after the commit mark was written: in the sync, or when
      the index grew. SQLite rolls back in memory, yet the marked pages stay in the log, and recovery after a crash
      would take them. Nobody knows, until the log has been overwritten: see `sqlite_group`.
    """
    told = translated(error)
    known = told if isinstance(told, Exception) else StoreError(f"COMMIT was ended by {told!r}")
    if still_open or code_of(error) == sqlite3.SQLITE_FULL:
        return Unavailable(known)
    return Uncertain(known)
