"""A file that is deleted, or replaced by another, while a store has it open: nothing more goes into the old one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.errors import StoreUnavailable
from pawl.runtime.simulation.samples import an_agent
from pawl.runtime.store.answers import Answer, Committed, Unavailable
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore


def add(store: SqliteStore, agent_id: str) -> Answer[Any]:
    answers: list[Answer[Any]] = []
    store.submit(lambda tx: tx.agents.insert(an_agent(agent_id)), answers.append)
    (answer,) = answers
    return answer


def agents(store: SqliteStore) -> list[str]:
    def read(tx: Transaction) -> list[AgentRoot]:
        return list(tx.agents.list())

    return [root.agent_id for root in store.read(read)]


def opened(path: Path) -> SqliteStore:
    store = SqliteStore(path, inline=True)
    store.open()
    return store


def remove(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def test_nothing_is_written_or_read_once_the_file_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = opened(path)
    assert isinstance(add(store, "a"), Committed)
    assert agents(store) == ["a"]
    remove(path)
    said = add(store, "b")
    assert isinstance(said, Unavailable)
    assert isinstance(said.error, StoreUnavailable)
    with pytest.raises(StoreUnavailable):
        agents(store)
    assert not path.exists()
    store.close()


def test_a_backup_that_takes_the_place_of_the_file_is_what_is_written_and_read_from_then_on(tmp_path: Path) -> None:
    path, backup = tmp_path / "a.db", tmp_path / "backup.db"
    store = opened(path)
    add(store, "a")
    store.close()
    shutil.copy(path, backup)
    store = opened(path)
    add(store, "lost")
    assert agents(store) == ["a", "lost"]
    remove(path)
    backup.rename(path)
    assert agents(store) == ["a"]
    assert isinstance(add(store, "b"), Committed)
    assert agents(store) == ["a", "b"]
    other = opened(path)
    assert agents(other) == ["a", "b"]
    other.close()
    store.close()
