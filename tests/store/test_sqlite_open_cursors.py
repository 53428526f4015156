"""An error that somebody holds on to holds no snapshot: what is read after it is what was written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pawl.runtime.records.errors import CodecError, ExecutionNotFound
from pawl.runtime.simulation.samples import an_agent, an_execution, done
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore


def damaged(path: Path) -> SqliteStore:
    """A store with two executions, one of which cannot be read."""
    store = SqliteStore(path, "NORMAL", inline=True)
    store.open()

    def fill(tx: Transaction) -> None:
        for name in ("a", "b"):
            tx.agents.insert(an_agent(agent_id=name))
            tx.executions.insert(an_execution(execution_id=f"x{name}", agent_id=name, start_id=name))

    done(store, fill)
    with sqlite3.connect(path) as database:
        database.execute(
            "UPDATE executions SET record = replace(record, '\"revision\":', '\"revisions\":') WHERE id = 1"
        )
    database.close()
    return store


def test_a_reader_whose_operation_did_not_decode_is_not_read_with_again(tmp_path: Path) -> None:
    store = damaged(tmp_path / "a.db")
    with pytest.raises(CodecError) as held:
        store.read(lambda tx: tx.executions.list())
    done(store, lambda tx: tx.agents.insert(an_agent(agent_id="c")))
    assert store.read(lambda tx: tx.agents.get("c")) == an_agent(agent_id="c")
    assert held.value is not None
    store.close()


def test_a_record_that_does_not_decode_keeps_no_cursor_open_in_the_writer(tmp_path: Path) -> None:
    store = damaged(tmp_path / "a.db")
    answers: list[object] = []
    store.submit(lambda tx: tx.executions.list(), answers.append)
    other = SqliteStore(tmp_path / "a.db", "NORMAL", inline=True)
    other.open()
    done(other, lambda tx: tx.agents.insert(an_agent(agent_id="c")))
    done(store, lambda tx: tx.agents.insert(an_agent(agent_id="d")))  # SQLite: its snapshot would be out of date
    assert len(answers) == 1
    other.close()
    store.close()


def test_an_answer_that_is_no_fault_of_the_store_keeps_its_reader(tmp_path: Path) -> None:
    store = damaged(tmp_path / "a.db")

    def nothing(tx: Transaction) -> None:
        raise ExecutionNotFound("no")

    with pytest.raises(ExecutionNotFound):
        store.read(nothing)
    assert len(store._readers) == 1
    store.close()
