"""A collection that dies at any of its statements has removed nothing by half; what runs beside it is not disturbed."""

from __future__ import annotations

import math
import shutil
import sqlite3
from pathlib import Path

import pytest

from pawl.runtime.records.errors import PawlError
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.collect import collect
from upkeep.mortal import Mortal


def collected(path: Path, mortal: Mortal) -> int:
    """How many statements it took until all was removed."""
    store = SqliteStore(path, inline=True, connect=mortal.connect)
    store.open()
    try:
        collect(store, math.inf, idle=True, pause=lambda _: None)
        return mortal.statements
    finally:
        store.close()


def kept(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    tables = ("agents", "executions", "journal", "tools", "requests", "decisions", "intents", "contents", "sweeps")
    rows = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    connection.close()
    return rows


def test_wherever_it_dies_the_store_is_whole_and_the_next_one_goes_on(whole: Path, tmp_path: Path) -> None:
    undisturbed = Path(shutil.copy(whole, tmp_path / "undisturbed.db"))
    for at in range(collected(undisturbed, Mortal(math.inf))):
        path = Path(shutil.copy(whole, tmp_path / f"{at}.db"))
        with pytest.raises((PawlError, sqlite3.Error)):
            collected(path, Mortal(at))
        store = SqliteStore(path, inline=True)
        store.open()
        assert [str(finding) for finding in check_store(store)] == [], at
        store.close()
        collected(path, Mortal(math.inf))
        assert kept(path) == kept(undisturbed), at
        path.unlink()
