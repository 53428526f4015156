"""The least that a durable program can do in SQLite: append a row to a log and move a status row, then commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from time import time


class BareLog:
    """A file with a log and a status for each run, in WAL with synchronous=FULL."""

    def __init__(self, path: Path) -> None:
        self._connection = connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE log (run TEXT, place INTEGER, at REAL, body TEXT, PRIMARY KEY (run, place)) WITHOUT ROWID"
        )
        connection.execute("CREATE TABLE status (run TEXT PRIMARY KEY, place INTEGER, at REAL) WITHOUT ROWID")
        self.commits = 0

    def write(self, run: str, bodies: Sequence[str]) -> None:
        """One transaction for each body."""
        execute = self._connection.execute
        for place, body in enumerate(bodies):
            now = time()
            execute("BEGIN IMMEDIATE")
            execute("INSERT INTO log VALUES (?, ?, ?, ?)", (run, place, now, body))
            if place:
                execute("UPDATE status SET place = ?, at = ? WHERE run = ?", (place, now, run))
            else:
                execute("INSERT INTO status VALUES (?, ?, ?)", (run, place, now))
            execute("COMMIT")
            self.commits += 1

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
