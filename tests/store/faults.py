"""Connections that fail when told to: the store's `connect` hook."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

Statement = Callable[[str], Any]
"""Runs SQL on the connection, with no faults."""

Fault = Callable[[Statement, str], Any]
"""Gets that, and the SQL that was to run."""


def sqlite_error(code: int, message: str = "injected") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


class Faults:
    """Makes connections; `on("COMMIT", fault)` has the next COMMIT go through `fault` instead."""

    def __init__(self, mode: str = "") -> None:
        self.statements: list[str] = []
        self.connections = 0
        self._mode = mode
        self._armed: list[tuple[str, Fault]] = []

    def on(self, prefix: str, fault: Fault) -> None:
        self._armed.append((prefix, fault))

    def count(self, prefix: str) -> int:
        return sum(statement.startswith(prefix) for statement in self.statements)

    def connect(self, uri: str, timeout: float) -> sqlite3.Connection:
        faults = self
        self.connections += 1

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                faults.statements.append(sql)
                fault = faults._take(sql)
                if fault is not None:
                    fault(super().execute, sql)
                return super().execute(sql, *parameters)

        if self._mode:
            uri = uri.rpartition("?")[0] + f"?mode={self._mode}"
        return sqlite3.connect(
            uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, factory=Connection
        )

    def _take(self, sql: str) -> Fault | None:
        for number, (prefix, fault) in enumerate(self._armed):
            if sql.startswith(prefix):
                del self._armed[number]
                return fault
        return None


def failing(code: int) -> Fault:
    """The statement is not run, and the transaction stays as it is."""

    def fault(run: Statement, sql: str) -> None:
        raise sqlite_error(code)

    return fault


def failing_after(code: int) -> Fault:
    """The statement is run, and its success is not told."""

    def fault(run: Statement, sql: str) -> None:
        run(sql)
        raise sqlite_error(code)

    return fault


def rolling_back(code: int) -> Fault:
    """The whole transaction is rolled back, as SQLite does after some errors."""

    def fault(run: Statement, sql: str) -> None:
        run("ROLLBACK")
        raise sqlite_error(code)

    return fault
