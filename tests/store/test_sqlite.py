"""The SQLite store keeps every promise of the port, on a thread and inline."""

from __future__ import annotations

from pathlib import Path

from pawl.runtime.store.sqlite import SqliteStore
from store.sqlite_places import SqlitePlaces


class TestSqliteStore(SqlitePlaces):
    def make_store(self, folder: Path) -> SqliteStore:
        return SqliteStore(folder / "a.db")


class TestInlineSqliteStore(SqlitePlaces):
    def make_store(self, folder: Path) -> SqliteStore:
        return SqliteStore(folder / "a.db", inline=True)
