"""How an SQLite store gets newer, older, damaged, full, read-only, and goes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pawl.runtime.simulation.conformance import DurableConformance
from pawl.runtime.store.sqlite import SqliteStore
from store.faults import Faults, failing_after, rolling_back


class SqlitePlaces(DurableConformance):
    """The suite, with these ways."""

    def make_newer(self, folder: Path) -> None:
        _run(folder, "PRAGMA user_version = 999; PRAGMA journal_mode = DELETE")

    def make_older(self, folder: Path) -> None:
        _run(
            folder,
            "DROP TABLE sweeps; DROP TABLE stored_again; PRAGMA user_version = 1;"
            "DELETE FROM _sqlite_migrations WHERE name = 'm002_sweeps'",
        )

    def damage(self, folder: Path) -> None:
        content = (folder / "a.db").read_bytes()
        (folder / "a.db").write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))

    def make_full(self, folder: Path) -> SqliteStore:
        def connect(uri: str, timeout: float) -> sqlite3.Connection:
            connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA max_page_count = 45")
            return connection

        return SqliteStore(folder / "a.db", connect=connect)

    def make_read_only(self, folder: Path) -> SqliteStore:
        return SqliteStore(folder / "a.db", connect=Faults(mode="ro").connect)

    def make_uncertain(self, folder: Path, landed: bool) -> SqliteStore:
        faults = Faults()
        store = SqliteStore(folder / "a.db", connect=faults.connect)
        store.open()
        faults.on("COMMIT", failing_after(sqlite3.SQLITE_IOERR) if landed else rolling_back(sqlite3.SQLITE_IOERR))
        return store

    def rewrite(self, folder: Path, text: str) -> None:
        connection = sqlite3.connect(folder / "a.db", isolation_level=None)
        connection.execute("UPDATE executions SET record = ?", (text,))
        connection.close()

    def remove(self, folder: Path) -> None:
        for path in folder.iterdir():
            path.unlink()


def _run(folder: Path, script: str) -> None:
    connection = sqlite3.connect(folder / "a.db")
    connection.executescript(script)
    connection.close()
