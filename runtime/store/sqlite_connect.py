"""Opening an SQLite file: whether it can be one, the pragmas and their proof, the tables.

* WAL with `synchronous=FULL`: every commit is one sync. `NORMAL` survives the death of the process, not of the power.
* Pages of 8 KiB. A run of 1,000 rounds with two bodies of 2 KB each, four journal rows, one tool row and three barriers
  takes 2.4 times its payload with pages of 4 KiB (two such bodies do not share a page), 1.7 times with 8 KiB and 1.6
  times with 16 KiB; a barrier takes as long with 8 as with 4 KiB, and a fifth longer with 16.
* Bodies are not compressed: zlib at its fastest takes a fifth to two fifths off 2 KB of text, and a quarter of the time
  of a whole barrier.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from pawl.runtime.records.errors import SchemaTooNew, StoreCorrupt, StoreReadOnly, StoreUnavailable
from pawl.runtime.store.sqlite_errors import code_of

Synchronous: TypeAlias = Literal["FULL", "NORMAL"]

Connect: TypeAlias = Callable[[str, float], sqlite3.Connection]
"""(file URI, busy timeout in seconds) → a connection in autocommit mode. The place to put faults in a test."""

Identity: TypeAlias = "tuple[int, int]"
"""Device and number of a file: of the file itself, whatever path it stands at."""

SCHEMA: Final = 2
"""The version of the tables, in `PRAGMA user_version`: raised with every migration."""

APPLICATION: Final = 0x5061776C
""""Pawl", in `PRAGMA application_id`: whose file this is."""

PAGE_SIZE: Final = 8192

CHECKPOINT_PAGES: Final = 4000
"""A net for commits that outrun the store's own checkpoints (see `sqlite_group`)."""


def connect(uri: str, timeout: float) -> sqlite3.Connection:
    """A plain connection, used by one thread at a time."""
    return sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, cached_statements=256
    )


@attrs.frozen
class Place:
    """Where a store is and how it is opened; `busy_timeout` in seconds."""

    path: Path
    synchronous: Synchronous = "FULL"
    busy_timeout: float = 5.0
    connect: Connect = connect

    def check(self) -> None:
        """Look at file and folder, for errors that say more than SQLite's. Raises StoreUnavailable, StoreReadOnly."""
        folder = self.path.parent
        if not os.path.isdir(folder):  # False, and no error, for what may not be looked at
            raise StoreUnavailable(f"the folder {folder} does not exist, or may not be entered; create it first")
        if self.path.is_dir():
            raise StoreUnavailable("it is a folder; name a file")
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise StoreReadOnly("the file is read-only; make it writable")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StoreReadOnly(
                f"the folder {folder} is read-only, and SQLite's log lives beside the file; make it writable"
            )

    def identity(self) -> Identity | None:
        """Which file stands at the path now; None when there is none, or none that may be looked at."""
        try:
            stat = os.stat(self.path)
        except OSError:
            return None
        return stat.st_dev, stat.st_ino

    def create(self) -> sqlite3.Connection:
        """A connection that writes, to a file that is made or brought up to date where it has to be.

        Raises StoreUnavailable, StoreReadOnly, StoreCorrupt, SchemaTooNew, sqlite3.Error.
        """
        self.check()
        return self._writer("rwc")

    def writer(self) -> sqlite3.Connection:
        """A connection that writes, to the file that was there before: a new, empty one would be a lie.

        Raises as `create`.
        """
        return self._writer("rw")

    def reader(self) -> sqlite3.Connection:
        """A connection that refuses to write."""
        connection = self._connect("rw")
        try:
            connection.execute("PRAGMA query_only = 1")
        except BaseException:
            connection.close()
            raise
        return connection

    def _writer(self, mode: str) -> sqlite3.Connection:
        connection = self._connect(mode)
        try:
            ready = check_file(connection)  # before anything is changed: it may be somebody else's
            if not ready and mode != "rwc":
                raise StoreCorrupt("the tables have gone; restore a backup")
            connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # heeded by an empty file only
            self._write_ahead(connection)
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            connection.execute(f"PRAGMA fullfsync = {int(self.synchronous == 'FULL')}")  # macOS: past the drive's cache
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute("PRAGMA temp_store = MEMORY")
            self._prove(connection)
            if not ready:
                # Only here, and where a group needs savepoints: sqlite-utils takes longer to import than to migrate.
                from pawl.runtime.store.sqlite_schema import migrate  # noqa: PLC0415

                migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        return self.connect(f"{self.path.absolute().as_uri()}?mode={mode}", self.busy_timeout)

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Switch to WAL. While another process does the same to a fresh file, SQLite answers busy at once: wait."""
        until = time.monotonic() + self.busy_timeout
        pause = 0.001
        while True:
            try:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        if mode != "wal":
            raise StoreUnavailable(f"no write-ahead log is possible here (journal mode {mode!r}); use a local disk")

    def _prove(self, connection: sqlite3.Connection) -> None:
        (level,) = connection.execute("PRAGMA synchronous").fetchone()
        if level != {"NORMAL": 1, "FULL": 2}[self.synchronous]:
            raise StoreUnavailable(f"SQLite did not accept synchronous={self.synchronous}")


def check_file(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there as this Pawl needs them; False for an empty or older file. Reads only.

    This reads the header and the table of tables, the cheap part of a check of the whole file.
    Raises SchemaTooNew, StoreCorrupt (another application's database), sqlite3.Error.
    """
    if connection.in_transaction:
        return _check_file(connection)
    connection.execute("BEGIN")  # one snapshot: another process may be making the tables now
    try:
        return _check_file(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_file(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (tables or application):
        raise StoreCorrupt("this SQLite file belongs to another application; give Pawl a file of its own")
    if version > SCHEMA:
        raise SchemaTooNew(f"this store has schema {version}, this Pawl knows {SCHEMA}; upgrade Pawl")
    return bool(version == SCHEMA)
