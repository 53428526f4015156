"""Processes that die at a statement: from there on nothing of them reaches the file."""

from __future__ import annotations

import sqlite3
from typing import Any

from store.faults import sqlite_error


class Mortal:
    """Connections of a process that dies behind so many statements."""

    def __init__(self, at: float) -> None:
        self.statements, self._at = 0, at

    def connect(self, uri: str, timeout: float) -> sqlite3.Connection:
        mortal = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                mortal.count()
                return super().execute(sql, *parameters)

            def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                mortal.count()
                return super().executemany(sql, *parameters)

        return sqlite3.connect(
            uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, factory=Connection
        )

    def count(self) -> None:
        self.statements += 1
        if self.statements > self._at:
            raise sqlite_error(sqlite3.SQLITE_IOERR)
