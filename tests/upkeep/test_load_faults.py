"""A load that dies at any of its statements has written nothing, and the next one writes all of it."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import pytest

from pawl.runtime.records.errors import PawlError
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.asking import Asker
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.dump import dump
from pawl.runtime.upkeep.load import load
from upkeep.mortal import Mortal


def loaded(path: Path, lines: list[str], mortal: Mortal) -> int:
    """How many statements it took."""
    store = SqliteStore(path, inline=True, connect=mortal.connect)
    store.open()
    try:
        load(store, lines)
        return mortal.statements
    finally:
        store.close()


@pytest.mark.parametrize("agent", ["edited", "waits"])
def test_wherever_it_dies_nothing_or_all_is_there(
    whole: Path, tmp_path: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Asker.__init__, "__defaults__", (lambda _: None,))
    look = SqliteLook(whole)
    look.open()
    last = [record for record, _ in look.read(lambda tx: tx.executions.list(limit=100)) if record.agent_id == agent][-1]
    lines = list(dump(look, last.execution_id, redact=False, conversation=True))
    look.close()
    for at in range(loaded(tmp_path / "undisturbed.db", lines, Mortal(math.inf))):
        path = tmp_path / f"{at}.db"
        with pytest.raises((PawlError, sqlite3.Error)):
            loaded(path, lines, Mortal(at))
        store = SqliteStore(path, inline=True)
        store.open()
        assert set(store.read(lambda tx: tx.upkeep.counts()).values()) == {0}, at
        load(store, lines)
        assert list(check_store(store)) == []
        store.close()
        path.unlink()
