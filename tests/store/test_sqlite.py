"""The SQLite store keeps every promise of the port, on a thread and inline."""

from __future__ import annotations

from pathlib import Path

from pawl.runtime.simulation.conformance import StoreConformance
from pawl.runtime.store.sqlite import SqliteStore


class TestSqliteStore(StoreConformance):
    def make_store(self, folder: Path) -> SqliteStore:
        return SqliteStore(folder / "a.db")


class TestInlineSqliteStore(StoreConformance):
    def make_store(self, folder: Path) -> SqliteStore:
        return SqliteStore(folder / "a.db", inline=True)
