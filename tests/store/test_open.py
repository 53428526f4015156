"""Store URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pawl.runtime.records.errors import InvalidArguments, StoreUnavailable
from pawl.runtime.simulation.samples import an_agent, done
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.open import open_store, store_at
from pawl.runtime.store.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:///relative.db", "relative.db"),
        ("sqlite:///folder/relative.db", "folder/relative.db"),
        ("sqlite:////absolute/a.db", "/absolute/a.db"),
        ("sqlite:////with%20space/a.db", "/with space/a.db"),
        ("sqlite:///a.db?synchronous=normal&busy_timeout=0.5", "a.db"),
        ("plain.db", "plain.db"),
        ("/absolute/plain.db", "/absolute/plain.db"),
        ("odd?name.db", "odd?name.db"),
        (Path("path.db"), "path.db"),
    ],
)
def test_a_url_or_path_names_a_file(url: str | Path, place: str) -> None:
    store = store_at(url)
    assert isinstance(store, SqliteStore)
    assert store.info.place == place


def test_memory_is_a_store_too() -> None:
    assert isinstance(store_at("memory://"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgres://user:secret@host/db", "unknown kind of store 'postgres'; use memory://, sqlite:///relative.db"),
        ("sqlite://runs.db", "sqlite://runs.db names a host; write sqlite:///runs.db for a relative path"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file; use memory://"),
        ("", "names no file"),
        ("memory://name", "memory:// takes no path, 'name' was given"),
        ("memory://?synchronous=FULL", "unknown option synchronous of memory:// (known: none)"),
        ("sqlite:///a.db?sync=FULL", "unknown option sync of sqlite:// (known: synchronous, busy_timeout)"),
        ("sqlite:///a.db?synchronous=OFF", "synchronous=OFF is not possible; use FULL or NORMAL"),
        ("sqlite:///a.db?busy_timeout=soon", "busy_timeout=soon is not a number of seconds between 0 and 3600"),
        ("sqlite:///a.db?busy_timeout=-1", "busy_timeout=-1 is not a number of seconds between 0 and 3600"),
        ("sqlite:///a.db?busy_timeout=nan", "busy_timeout=nan is not a number of seconds between 0 and 3600"),
        ("sqlite:///a.db?synchronous", "not name=value&name=value"),
        ("sqlite:///a.db?busy_timeout=1&busy_timeout=2", "has an option twice"),
    ],
)
def test_a_url_that_is_not_understood_says_what_to_write(url: str, message: str) -> None:
    with pytest.raises(InvalidArguments) as raised:
        store_at(url)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


def test_an_opened_store_works(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/a.db?synchronous=NORMAL")
    assert done(store, lambda tx: tx.agents.insert(an_agent())) is None
    store.close()
    assert (tmp_path / "a.db").exists()


def test_opening_what_can_not_be_opened_raises(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        open_store(tmp_path / "none" / "a.db")
