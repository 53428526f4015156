"""Reading beside the writer, the indexes that queries use, and how much a history costs on disk."""

from __future__ import annotations

import random
import sqlite3
import string
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.samples import WAIT, a_tool, an_agent, an_execution, done
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_transaction import SqliteTransaction


def test_a_read_waits_for_no_writer_and_sees_one_snapshot(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db", busy_timeout=0)
    store.open()
    writing, finish, written = threading.Event(), threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        tx.agents.insert(an_agent())
        writing.set()
        assert finish.wait(WAIT)

    def before_and_after(tx: Transaction) -> list[Any]:
        before = tx.agents.get("a")
        finish.set()
        assert written.wait(WAIT)
        return [before, tx.agents.get("a")]

    store.submit(slow, lambda _: written.set())
    assert writing.wait(WAIT)
    assert store.read(before_and_after) == [None, None]
    assert store.read(lambda tx: tx.agents.get("a")) == an_agent()
    store.close()


def test_a_store_that_is_closed_during_a_read_lets_it_end(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.open()

    def closing(tx: Transaction) -> list[Any]:
        store.close()
        return list(tx.agents.list())

    assert store.read(closing) == []


# --- query plans ------------------------------------------------------------------------------------------------------

LOOKUPS: dict[str, Callable[[SqliteTransaction], Any]] = {
    "an execution by id": lambda tx: tx.executions.get("e"),
    "an execution by start id": lambda tx: tx.executions.of_start("a", "s"),
    "an execution by request": lambda tx: tx.executions.of_request("r"),
    "executions by prefix": lambda tx: tx.executions.find("e"),
    "all executions": lambda tx: tx.executions.list(),
    "all executions after one": lambda tx: tx.executions.list(after="e"),
    "executions of an agent": lambda tx: tx.executions.list("a"),
    "the open execution of an agent": lambda tx: tx.executions.list("a", open_only=True, limit=1),
    "open executions": lambda tx: tx.executions.list(open_only=True),
    "adoptable executions": lambda tx: tx.executions.adoptable("me", 1.0),
    "an agent": lambda tx: tx.agents.get("a"),
    "agents": lambda tx: tx.agents.list(),
    "a lease": lambda tx: tx.owners.get("me"),
    "the journal": lambda tx: tx.journal.read("a"),
    "the transcript": lambda tx: tx.journal.transcript("a", "e"),
    "the end of the journal": lambda tx: tx.journal.append("a", 0, []),
    "a tool": lambda tx: tx.tools.get("t"),
    "tools of an execution": lambda tx: tx.tools.of_execution("e"),
    "tools of a model answer": lambda tx: tx.tools.of_execution("e", "call"),
    "receipts": lambda tx: tx.decisions.of_request("r"),
    "a stop intent": lambda tx: tx.intents.get("e"),
}


@pytest.mark.parametrize("lookup", LOOKUPS.values(), ids=LOOKUPS)
def test_every_lookup_uses_an_index_and_none_looks_through_a_table(
    tmp_path: Path, lookup: Callable[[SqliteTransaction], Any]
) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.open()
    done(store, lambda tx: tx.agents.insert(an_agent()))
    done(store, lambda tx: tx.executions.insert(an_execution()))
    store.close()
    statements: list[str] = []
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.set_trace_callback(statements.append)
    lookup(SqliteTransaction(connection))
    connection.set_trace_callback(None)
    assert statements
    for statement in statements:
        for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statement}"):
            assert not step.startswith("SCAN") or "USING" in step or step.startswith("SCAN (subquery"), step
    connection.close()


def test_open_work_is_found_through_the_partial_indexes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.open()
    store.close()
    statements: list[str] = []
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.set_trace_callback(statements.append)
    SqliteTransaction(connection).executions.adoptable("me", 1.0)
    connection.set_trace_callback(None)
    plan = "\n".join(step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}"))
    assert "USING INDEX executions_open (awaiting=?" in plan
    assert "USING INDEX executions_due (due<?)" in plan
    connection.close()


# --- storage ----------------------------------------------------------------------------------------------------------


def _rounds(store: SqliteStore, rounds: int) -> int:
    """A run with two bodies of 2 KB a round, as its barriers write them; the bytes of those bodies."""
    source = random.Random(7)

    def body() -> Content:
        return Content.of("".join(source.choices(string.ascii_letters + "    ", k=2048)))

    def entry(kind: JournalKind, content: Content | None, **meta: Any) -> JournalEntry:
        return JournalEntry(kind, "e" * 36, 1764428743.5, content, meta)

    done(store, lambda tx: tx.agents.insert(an_agent("customer-42")))
    record = an_execution("e" * 36, "customer-42", batch=(f"tool-{0:032x}",), token="t" * 32)
    done(store, lambda tx: tx.executions.insert(record))
    for number in range(rounds):
        answer, result, call = body(), body(), f"call_{number:024x}"
        row = a_tool(f"tool-{number:032x}", "e" * 36, llm_call_id=f"{number:036x}", tool_call_id=call)
        ended = replace(row, status=ToolStatus.COMPLETED, output=result.digest, token=f"{number:032x}")
        asked = [
            entry(JournalKind.LLM_CALL_RECORDED, None, llm_call_id=row.llm_call_id, usage=[1000, 100]),
            entry(JournalKind.ASSISTANT_MESSAGE, answer, calls=[{"id": call, "name": "refund", "arguments": "{}"}]),
        ]
        told = [
            entry(JournalKind.TOOL_RESULT, result, tool_call_id=call, name="refund"),
            entry(JournalKind.TOOL_MESSAGE, result, tool_call_id=call),
        ]

        def dispatch(tx: Transaction, row: Any = row, asked: Any = asked, number: int = number) -> None:
            assert tx.executions.save(replace(record, revision=2 * number + 1), 2 * number)
            tx.journal.append("customer-42", 4 * number, asked)
            tx.tools.put([row])

        def outcome(tx: Transaction, ended: Any = ended, result: Content = result) -> None:
            tx.contents.put(result)
            tx.tools.put([ended])

        def call_again(tx: Transaction, told: Any = told, number: int = number) -> None:
            assert tx.executions.save(replace(record, revision=2 * number + 2), 2 * number + 1)
            tx.journal.append("customer-42", 4 * number + 2, told)

        for operation in (dispatch, outcome, call_again):
            done(store, operation)
    return rounds * 2 * 2048


def test_a_history_costs_less_than_twice_its_payload_and_grows_in_a_line(tmp_path: Path) -> None:
    sizes = []
    for rounds in (250, 500):
        path = tmp_path / f"{rounds}.db"
        store = SqliteStore(path, "NORMAL", inline=True)
        store.open()
        payload = _rounds(store, rounds)
        store.close()
        sizes.append(path.stat().st_size)
        assert sizes[-1] < 2.0 * payload
    assert sizes[1] < 2.0 * sizes[0]
