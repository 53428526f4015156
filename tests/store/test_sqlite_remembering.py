"""What the writer remembers of its rows, and when it must not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content
from pawl.runtime.simulation.samples import an_agent, answer_of, done
from pawl.runtime.store import sqlite_transaction
from pawl.runtime.store.answers import Refused, Unavailable
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore
from store.faults import Faults, failing, rolling_back


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def store(tmp_path: Path, faults: Faults) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "a.db", connect=faults.connect)
    store.open()
    done(store, lambda tx: tx.agents.insert(an_agent("a")))
    faults.statements.clear()
    yield store
    store.close()


def root(tx: Transaction) -> Any:
    return tx.agents.get("a")


def raised(tx: Transaction) -> None:
    found = tx.agents.get("a")
    assert found is not None
    tx.agents.save(replace(found, fence=7))


def put(body: str) -> Any:
    return lambda tx: tx.contents.put(Content.of(body))


def fence(store: SqliteStore) -> int:
    return done(store, root).fence


def test_the_writer_reads_a_root_once(store: SqliteStore, faults: Faults) -> None:
    assert done(store, root) == done(store, root) == an_agent("a")
    assert faults.count("SELECT") == 0  # it wrote that root itself
    done(store, raised)
    assert fence(store) == 7


def test_a_body_that_was_stored_in_an_earlier_commit_is_not_offered_again(store: SqliteStore, faults: Faults) -> None:
    for _ in range(3):
        done(store, put("again"))
    assert faults.count("INSERT INTO contents") == 1


def test_what_another_connection_has_committed_is_seen(store: SqliteStore, tmp_path: Path) -> None:
    assert fence(store) == 0
    other = SqliteStore(tmp_path / "a.db", inline=True)
    other.open()
    done(other, raised)
    assert fence(store) == 7
    other.close()


def test_what_another_connection_has_removed_is_not_relied_on(store: SqliteStore, tmp_path: Path) -> None:
    done(store, put("gone"))
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.execute("DELETE FROM contents")
    connection.close()
    done(store, put("gone"))
    assert store.read(lambda tx: tx.contents.get(Content.of("gone").digest)) == "gone"


def test_a_refused_operation_is_forgotten_with_what_it_wrote(store: SqliteStore) -> None:
    def half(tx: Transaction) -> None:
        raised(tx)
        tx.contents.put(Content.of("half"))
        tx.agents.insert(an_agent("a"))

    assert isinstance(answer_of(store, half), Refused)
    assert fence(store) == 0
    done(store, put("half"))
    assert store.read(lambda tx: tx.contents.get(Content.of("half").digest)) == "half"


@pytest.mark.parametrize("fault", [failing(sqlite3.SQLITE_BUSY), rolling_back(sqlite3.SQLITE_FULL)])
def test_a_commit_that_failed_is_forgotten(store: SqliteStore, faults: Faults, fault: Any) -> None:
    faults.on("COMMIT", fault)
    assert isinstance(answer_of(store, raised), Unavailable)
    assert fence(store) == 0


def test_a_deleted_agent_is_forgotten(store: SqliteStore) -> None:
    assert done(store, root) is not None
    done(store, lambda tx: tx.agents.delete("a"))
    assert done(store, root) is None


def test_too_much_is_forgotten_at_the_next_commit(
    store: SqliteStore, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_transaction, "KNOWN", 2)
    for body in ("a", "b", "c", "a"):
        done(store, put(body))
    assert faults.count("INSERT INTO contents") == 4
    done(store, put("a"))
    assert faults.count("INSERT INTO contents") == 4
