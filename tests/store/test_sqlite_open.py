"""Opening a file: what is made, what is refused, and with which words."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pawl.runtime.records.errors import (
    InvalidArguments,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from pawl.runtime.simulation.samples import a_content, an_agent, answer_of, done
from pawl.runtime.store.answers import Committed, Refused, Unavailable
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.sqlite import SqliteStore
from store.faults import Faults, failing


def opened(path: Path, **options: object) -> SqliteStore:
    store = SqliteStore(path, **options)
    store.open()
    return store


def made(path: Path) -> Path:
    store = opened(path)
    done(store, lambda tx: tx.agents.insert(an_agent()))
    store.close()
    return path


def test_a_missing_file_is_made_and_kept(tmp_path: Path) -> None:
    path = made(tmp_path / "a b%20?#.db")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]  # the log went into it at the end
    store = opened(path)
    assert done(store, lambda tx: tx.agents.get("a")) == an_agent()
    store.close()


def test_an_empty_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    opened(tmp_path / "a.db").close()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"the folder .*none does not exist, or may not be entered; create it"):
        opened(tmp_path / "none" / "a.db")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="it is a folder"):
        opened(tmp_path)


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_path_must_name_a_file(path: str) -> None:
    with pytest.raises(InvalidArguments, match="memory://"):
        SqliteStore(path)


def test_synchronous_is_full_or_normal(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments, match="'FULL' or 'NORMAL'"):
        SqliteStore(tmp_path / "a.db", "OFF")


@pytest.mark.parametrize(("synchronous", "level"), [("FULL", 2), ("NORMAL", 1)])
def test_the_writer_runs_with_the_pragmas_that_were_asked_for(tmp_path: Path, synchronous: str, level: int) -> None:
    seen: list[sqlite3.Connection] = []

    def connect(uri: str, timeout: float) -> sqlite3.Connection:
        connection = Faults().connect(uri, timeout)
        seen.append(connection)
        return connection

    store = opened(tmp_path / "a.db", synchronous=synchronous, connect=connect)
    for pragma, value in (("synchronous", level), ("journal_mode", "wal"), ("page_size", 8192)):
        assert seen[0].execute(f"PRAGMA {pragma}").fetchone() == (value,)
    store.close()


# --- files that are not ours ------------------------------------------------------------------------------------------


def test_text_is_no_store_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("all my notes\n" * 100)
    with pytest.raises(StoreCorrupt, match=r"a\.db: the file is not an SQLite database"):
        opened(path)
    assert path.read_text() == "all my notes\n" * 100


def test_a_damaged_file_is_corrupt(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    content = bytearray(path.read_bytes())
    content[100:4096] = os.urandom(3996)  # the first page after the header: the table of tables
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="damaged"):
        opened(path)


def test_a_file_that_was_cut_off_is_corrupt(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    path.write_bytes(path.read_bytes()[:-20000])
    with pytest.raises(StoreCorrupt):
        opened(path)


def test_damage_behind_the_first_page_is_met_when_it_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    store = opened(path)
    answer = answer_of(store, lambda tx: tx.agents.get("a"))
    assert isinstance(answer, Refused)
    assert isinstance(answer.error, StoreCorrupt)
    with pytest.raises(StoreCorrupt):
        store.read(lambda tx: tx.agents.get("a"))
    store.close()


def test_the_database_of_another_application_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE agents (name)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another application"):
        opened(path)
    assert path.read_bytes() == before


def test_a_store_of_a_newer_pawl_is_left_alone(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"schema 999.*upgrade Pawl"):
        opened(path)
    assert path.read_bytes() == before


# --- files that can not be written ------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_or_folder_without_write_permission_is_read_only(tmp_path: Path, what: str) -> None:
    path = made(tmp_path / "a.db")
    target = path if what == "file" else tmp_path
    mode = target.stat().st_mode
    target.chmod(0o500)
    try:
        with pytest.raises(StoreReadOnly, match="read-only"):
            opened(path)
    finally:
        target.chmod(mode)


def test_what_sqlite_finds_read_only_is_read_only(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    store = opened(path, connect=Faults(mode="ro").connect)
    answer = answer_of(store, lambda tx: tx.agents.insert(an_agent("b")))
    assert isinstance(answer, Refused)
    assert isinstance(answer.error, StoreReadOnly)
    store.close()


def test_without_a_write_ahead_log_the_store_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no write-ahead log is possible here"):
        opened(tmp_path / "a.db", connect=Faults(mode="memory").connect)


def test_a_locked_store_is_unavailable_until_it_is_free(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    store = opened(path, busy_timeout=0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = answer_of(store, lambda tx: tx.agents.insert(an_agent("b")))
    assert isinstance(answer, Unavailable)
    assert isinstance(answer.error, StoreUnavailable)
    assert "locked by another process" in str(answer.error)
    assert store.read(lambda tx: tx.agents.get("a")) == an_agent()
    other.execute("ROLLBACK")
    other.close()
    assert answer_of(store, lambda tx: tx.agents.insert(an_agent("b"))) == Committed(None)
    store.close()


def test_a_store_that_is_locked_against_readers_can_not_be_opened(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreUnavailable, match=r"a\.db: the store is locked"):
        opened(path, busy_timeout=0.01)
    other.execute("ROLLBACK")
    other.close()
    opened(path).close()


def test_a_full_store_is_unavailable_and_can_still_be_read(tmp_path: Path) -> None:
    made(tmp_path / "a.db")
    connections: list[sqlite3.Connection] = []

    def connect(uri: str, timeout: float) -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA max_page_count = 40")
        connections.append(connection)
        return connection

    store = opened(tmp_path / "a.db", connect=connect)

    def large(tx: Transaction) -> None:
        tx.agents.insert(an_agent("half"))
        tx.contents.put(a_content("x" * 1_000_000))

    answer = answer_of(store, large)
    assert isinstance(answer, Unavailable)
    assert "full" in str(answer.error)
    assert done(store, lambda tx: [root.agent_id for root in tx.agents.list()]) == ["a"]
    done(store, lambda tx: tx.agents.insert(an_agent("small")))
    connections[0].execute("PRAGMA max_page_count = 1000000")
    done(store, large)
    store.close()


def test_a_file_that_has_gone_is_not_made_anew_behind_the_callers_back(tmp_path: Path) -> None:
    faults = Faults()
    store = opened(tmp_path / "a.db", connect=faults.connect)
    faults.on("ROLLBACK", failing(sqlite3.SQLITE_IOERR))

    def broken(tx: Transaction) -> None:
        raise StoreError("the rollback of this fails, which closes the connection")

    answer_of(store, broken)
    for file in tmp_path.iterdir():
        file.unlink()
    answer = answer_of(store, lambda tx: tx.agents.list())
    assert isinstance(answer, Unavailable)
    assert list(tmp_path.iterdir()) == []
    store.close()


# --- migrations -------------------------------------------------------------------------------------------------------


def test_the_tables_are_recorded_as_migrations_of_sqlite_utils(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT migration_set, name FROM _sqlite_migrations").fetchall() == [
        ("pawl", "m001_first"),
        ("pawl", "m002_sweeps"),
    ]
    connection.close()


def test_a_store_of_schema_1_is_brought_up_to_date_with_all_that_is_in_it(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    connection = sqlite3.connect(path)
    connection.executescript(
        "DROP TABLE sweeps; DROP TABLE stored_again; PRAGMA user_version = 1;"
        "DELETE FROM _sqlite_migrations WHERE name = 'm002_sweeps'"
    )
    connection.close()
    store = opened(path)
    assert done(store, lambda tx: tx.agents.get("a")) == an_agent()
    done(store, lambda tx: tx.upkeep.begin_sweep("one"))
    store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


def test_a_migration_that_fails_leaves_an_empty_file(tmp_path: Path) -> None:
    faults = Faults()
    faults.on("CREATE TABLE journal", failing(sqlite3.SQLITE_FULL))
    with pytest.raises(StoreUnavailable, match="full"):
        opened(tmp_path / "a.db", connect=faults.connect)
    connection = sqlite3.connect(tmp_path / "a.db")
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()
    opened(tmp_path / "a.db").close()


_OPENER = """
import sys
from pawl.runtime.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
sys.stdin.readline()
store.open()
store.close()
"""


def test_processes_that_open_a_fresh_file_at_once_all_succeed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPENER, str(tmp_path / "a.db")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    openers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(6)
    ]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    assert [(opener.communicate()[1], opener.returncode) for opener in openers] == [("", 0)] * 6
