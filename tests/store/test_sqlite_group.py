"""What a group commits, what it takes back, and what it knows when COMMIT fails."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.records.errors import AgentExists, StoreUnavailable
from pawl.runtime.simulation.samples import WAIT, an_agent, answer_of, done
from pawl.runtime.store.answers import Answer, Committed, Refused, Unavailable, Uncertain
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore
from store.faults import Fault, Faults, failing, failing_after, rolling_back

IOERR, FULL, BUSY = sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def store(tmp_path: Path, faults: Faults) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "a.db", connect=faults.connect)
    store.open()
    faults.statements.clear()
    yield store
    store.close()


def grouped(store: SqliteStore, operations: list[Any]) -> list[Answer[Any]]:
    """The answers to operations that were all waiting before the first one ran."""
    gate, finished = threading.Event(), threading.Semaphore(0)
    answers: list[Answer[Any] | None] = [None] * len(operations)

    def closed(tx: Transaction) -> None:
        assert gate.wait(WAIT)

    def receiver(number: int) -> Any:
        def receive(answer: Answer[Any]) -> None:
            answers[number] = answer
            finished.release()

        return receive

    store.submit(closed, lambda _: None)
    for number, operation in enumerate(operations):
        store.submit(operation, receiver(number))
    gate.set()
    for _ in operations:
        assert finished.acquire(timeout=WAIT)
    return [answer for answer in answers if answer is not None]


def insert(agent_id: str) -> Any:
    return lambda tx: tx.agents.insert(an_agent(agent_id))


def agents(store: SqliteStore) -> list[str]:
    return [root.agent_id for root in done(store, lambda tx: tx.agents.list(limit=1000))]


def kinds(answers: list[Answer[Any]]) -> list[type]:
    return [type(answer) for answer in answers]


def test_operations_that_wait_share_one_commit(store: SqliteStore, faults: Faults) -> None:
    answers = grouped(store, [insert(f"{number:02}") for number in range(64)])
    assert kinds(answers) == [Committed] * 64
    assert faults.count("COMMIT") == 1
    assert faults.count("SAVEPOINT") == 0


def test_a_group_is_bounded(store: SqliteStore, faults: Faults) -> None:
    grouped(store, [insert(f"{number:03}") for number in range(300)])
    assert faults.count("COMMIT") == 2
    assert len(agents(store)) == 300


def test_a_lone_operation_needs_no_savepoint(store: SqliteStore, faults: Faults) -> None:
    done(store, insert("a"))
    assert [statement.split()[0] for statement in faults.statements] == ["BEGIN", "PRAGMA", "INSERT", "COMMIT"]


def test_a_group_with_a_refusal_runs_again_in_savepoints(store: SqliteStore, faults: Faults) -> None:
    answers = grouped(store, [insert("a"), insert("b"), insert("a"), insert("c")])
    assert kinds(answers) == [Committed, Committed, Refused, Committed]
    assert faults.count("SAVEPOINT") == 4  # all but the first of the transaction, which held the gate
    faults.statements.clear()
    grouped(store, [insert("d"), insert("e")])
    assert faults.count("SAVEPOINT") == 0  # the next group is not careful


def test_a_refusal_in_a_group_takes_back_its_own_part_only(store: SqliteStore, faults: Faults) -> None:
    def half(tx: Transaction) -> None:
        tx.agents.insert(an_agent("half"))
        tx.agents.insert(an_agent("b"))

    answers = grouped(store, [insert("a"), insert("b"), half, insert("c")])
    assert kinds(answers) == [Committed, Committed, Refused, Committed]
    assert faults.count("COMMIT") == 1
    assert agents(store) == ["a", "b", "c"]


def test_a_group_whose_first_operation_is_refused_commits_the_others(store: SqliteStore) -> None:
    done(store, insert("a"))
    gate = threading.Event()

    def refused(tx: Transaction) -> None:
        assert gate.wait(WAIT)
        tx.agents.insert(an_agent("half"))
        tx.agents.insert(an_agent("a"))

    answers: list[Answer[Any]] = []
    finished = threading.Event()
    store.submit(refused, answers.append)
    store.submit(insert("b"), lambda answer: (answers.append(answer), finished.set()))
    gate.set()
    assert finished.wait(WAIT)
    assert kinds(answers) == [Refused, Committed]
    assert agents(store) == ["a", "b"]


# --- COMMIT fails -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        pytest.param(failing(BUSY), Unavailable, id="busy, the transaction stays open"),
        pytest.param(failing(IOERR), Unavailable, id="any error that leaves the transaction open"),
        pytest.param(rolling_back(FULL), Unavailable, id="full, rolled back by SQLite"),
        pytest.param(rolling_back(IOERR), Uncertain, id="an I/O error, rolled back in memory"),
        pytest.param(rolling_back(sqlite3.SQLITE_NOMEM), Uncertain, id="no memory, rolled back in memory"),
    ],
)
def test_a_failed_commit_is_unavailable_only_when_nothing_can_be_written(
    store: SqliteStore, faults: Faults, fault: Fault, answer: type
) -> None:
    faults.on("COMMIT", fault)
    assert kinds(grouped(store, [insert("a"), insert("b")])) == [answer, answer]
    assert agents(store) == []
    done(store, insert("a"))


def test_an_uncertain_commit_that_landed_is_found_by_the_read_back(store: SqliteStore, faults: Faults) -> None:
    faults.on("COMMIT", failing_after(IOERR))
    assert isinstance(answer_of(store, insert("a")), Uncertain)
    assert agents(store) == ["a"]


def test_what_runs_after_an_uncertain_commit_runs_on_a_new_connection_and_a_sealed_log(
    store: SqliteStore, faults: Faults
) -> None:
    faults.on("COMMIT", rolling_back(IOERR))
    assert isinstance(answer_of(store, insert("a")), Uncertain)
    made = faults.connections
    faults.statements.clear()
    assert agents(store) == []
    assert faults.connections == made + 1
    sealed = faults.statements.index("UPDATE seal SET count = count + 1")
    assert faults.statements[sealed - 1 : sealed + 4] == [
        "BEGIN IMMEDIATE",
        "UPDATE seal SET count = count + 1",
        "COMMIT",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "BEGIN IMMEDIATE",
    ]
    done(store, insert("a"))
    assert faults.count("UPDATE seal") == 1


@pytest.mark.parametrize("seal", [failing(IOERR), rolling_back(IOERR), rolling_back(FULL)])
def test_while_the_log_can_not_be_sealed_every_operation_is_unavailable(
    store: SqliteStore, faults: Faults, seal: Fault
) -> None:
    for fault in (rolling_back(IOERR), seal, seal):
        faults.on("COMMIT", fault)
    assert isinstance(answer_of(store, insert("a")), Uncertain)
    assert isinstance(answer_of(store, insert("a")), Unavailable)
    assert isinstance(answer_of(store, lambda tx: tx.agents.list()), Unavailable)
    assert agents(store) == []
    done(store, insert("a"))


def test_a_refused_member_of_a_group_that_fails_is_unavailable(store: SqliteStore, faults: Faults) -> None:
    faults.on("COMMIT", rolling_back(IOERR))
    answers = grouped(store, [insert("a"), insert("a")])  # the second is refused because of the first, which is lost
    assert kinds(answers) == [Uncertain, Unavailable]


def _with_unpublished_commit(folder: Path, log: Path) -> bytes:
    """The log as it is after one more commit that the store's connections know nothing of."""
    twin = folder / "twin.db"
    twin.write_bytes((log.parent / "a.db").read_bytes())
    Path(f"{twin}-wal").write_bytes(log.read_bytes())
    connection = sqlite3.connect(twin, isolation_level=None)
    try:
        connection.execute("INSERT INTO agents (agent_id, record) VALUES ('ghost', '{}')")
        return Path(f"{twin}-wal").read_bytes()
    finally:
        connection.close()


def _after_power_loss(folder: Path, name: str) -> list[str]:
    """Who is there when only the files are left."""
    copy = folder / f"{name}.db"
    copy.write_bytes((folder / "a.db").read_bytes())
    log = folder / "a.db-wal"
    if log.exists():
        Path(f"{copy}-wal").write_bytes(log.read_bytes())
    connection = sqlite3.connect(copy)
    try:
        return [agent_id for (agent_id,) in connection.execute("SELECT agent_id FROM agents ORDER BY agent_id")]
    finally:
        connection.close()


def test_a_commit_that_was_read_back_as_unwritten_never_comes_back(
    tmp_path: Path, store: SqliteStore, faults: Faults
) -> None:
    done(store, insert("a"))
    store.read(lambda tx: tx.agents.list())  # a reader stays, so that the log outlives the writer's connection
    log = tmp_path / "a.db-wal"
    ghost = _with_unpublished_commit(tmp_path, log)

    def cut_off_after_the_commit_mark(run: Any, sql: str) -> None:
        rolling = rolling_back(IOERR)
        with log.open("r+b") as file:
            file.write(ghost)
        rolling(run, sql)

    faults.on("COMMIT", cut_off_after_the_commit_mark)
    assert isinstance(answer_of(store, insert("ghost")), Uncertain)
    assert _after_power_loss(tmp_path, "before") == ["a", "ghost"]  # the danger is real
    assert agents(store) == ["a"]
    assert _after_power_loss(tmp_path, "after") == ["a"]


# --- SQLite rolls back more than the operation ------------------------------------------------------------------------


def breaking(agent_id: str) -> Any:
    """An operation whose statement SQLite answers by rolling back the whole transaction."""

    def operation(tx: Transaction) -> None:
        tx.agents.insert(an_agent(agent_id))
        tx.owners.delete("nobody")

    return operation


def test_what_was_rolled_back_with_a_broken_operation_runs_again_without_it(store: SqliteStore, faults: Faults) -> None:
    faults.on("DELETE FROM owners", rolling_back(IOERR))
    answers = grouped(store, [insert("a"), breaking("x"), insert("b")])
    assert kinds(answers) == [Committed, Unavailable, Committed]
    assert agents(store) == ["a", "b"]


def test_operations_that_were_rolled_back_too_often_come_later(store: SqliteStore, faults: Faults) -> None:
    for _ in range(3):
        faults.on("DELETE FROM owners", rolling_back(FULL))
    answers = grouped(store, [insert("a"), *[breaking(f"x{number}") for number in range(3)], insert("b")])
    assert kinds(answers) == [Unavailable, Unavailable, Unavailable, Unavailable, Committed]
    assert agents(store) == ["b"]


def test_an_operation_whose_savepoint_can_not_be_rolled_back_leaves_nothing(store: SqliteStore, faults: Faults) -> None:
    def half(tx: Transaction) -> None:
        tx.agents.insert(an_agent("half"))
        raise AgentExists("refused")

    faults.on("ROLLBACK TO", failing(IOERR))
    answers = grouped(store, [insert("a"), half, insert("b")])
    assert kinds(answers) == [Committed, Unavailable, Committed]
    assert agents(store) == ["a", "b"]


def test_a_transaction_that_can_not_be_rolled_back_ends_with_its_connection(store: SqliteStore, faults: Faults) -> None:
    def half(tx: Transaction) -> None:
        tx.agents.insert(an_agent("half"))
        raise AgentExists("refused")

    made = faults.connections
    faults.on("ROLLBACK", failing(IOERR))
    assert isinstance(answer_of(store, half), Refused)
    assert agents(store) == []
    assert faults.connections == made + 1


def test_when_no_transaction_can_begin_everyone_who_waits_is_told(store: SqliteStore, faults: Faults) -> None:
    done(store, insert("a"))
    gate, finished = threading.Event(), threading.Semaphore(0)
    answers: list[Answer[Any]] = []

    def refused(tx: Transaction) -> None:
        assert gate.wait(WAIT)
        faults.on("BEGIN", failing(BUSY))
        raise AgentExists("the transaction ends here, and the next one can not begin")

    def receive(answer: Answer[Any]) -> None:
        answers.append(answer)
        finished.release()

    store.submit(refused, receive)
    for _ in range(5):
        store.submit(insert("b"), receive)
    gate.set()
    for _ in range(6):
        assert finished.acquire(timeout=WAIT)
    assert kinds(answers) == [Refused, *[Unavailable] * 5]
    assert all(isinstance(answer.error, StoreUnavailable) for answer in answers if isinstance(answer, Unavailable))
    assert agents(store) == ["a"]
