"""The world outside the demo's processes: a payment provider and a warehouse that keep books of their own.

Like any payment provider worth having, it takes an idempotency key: each call is counted, and each key pays once.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import attrs

FOLDER = "PAWL_DEMO_DIR"
"""Where the books are: this environment variable, else the current folder."""

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (tool TEXT, key TEXT, attempt INTEGER, pid INTEGER, at REAL);
CREATE TABLE IF NOT EXISTS refunds (key TEXT PRIMARY KEY, order_id TEXT, cents INTEGER);
"""


@attrs.frozen
class Call:
    """One call that came in."""

    tool: str
    key: str
    attempt: int
    pid: int


@attrs.frozen
class Refund:
    """Money that was paid back."""

    key: str
    order_id: str
    cents: int


class Ledger:
    """The books, in an SQLite file of their own."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or Path(os.environ.get(FOLDER, "."))) / "ledger.db"

    def note(self, tool: str, key: str, attempt: int) -> None:
        """A call came in."""
        with closing(self._open()) as books, books:
            _note(books, tool, key, attempt)

    def pay(self, key: str, attempt: int, order_id: str, cents: int) -> bool:
        """Pay back, unless that key has been paid. Whether money moved."""
        with closing(self._open()) as books, books:
            _note(books, "refund", key, attempt)
            paid = books.execute("INSERT OR IGNORE INTO refunds VALUES (?, ?, ?)", (key, order_id, cents)).rowcount
        return bool(paid)

    def calls(self) -> list[Call]:
        """Every call, in order."""
        with closing(self._open()) as books:
            return [Call(*row) for row in books.execute("SELECT tool, key, attempt, pid FROM calls ORDER BY rowid")]

    def refunds(self) -> list[Refund]:
        """Every payment, in order."""
        with closing(self._open()) as books:
            return [Refund(*row) for row in books.execute("SELECT key, order_id, cents FROM refunds ORDER BY rowid")]

    def _open(self) -> sqlite3.Connection:
        books = sqlite3.connect(self._path, timeout=10)
        books.executescript(_TABLES)
        return books


def _note(books: sqlite3.Connection, tool: str, key: str, attempt: int) -> None:
    books.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?)", (tool, key, attempt, os.getpid(), time.time()))
