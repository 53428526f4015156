"""The tables, as sqlite-utils migrations.

The columns that are integers (`agent`, `execution`, `content`) are row numbers inside the file: a
journal row costs its meta and about 40 bytes. What is looked up by a public id has that id as a unique key. Columns
beside `record` repeat what queries need; the record is the truth.

* A body is stored once, in insertion order, with its digest as a 32-byte key.
* The journal is clustered by (agent, position): reading a run's history is one range, and an append writes 0.6 pages
  less than to a table with a separate index, at the same size.
* An execution's record is replaced in place; everything that grows is an appended row.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlite_utils.db import Database
from sqlite_utils.migrations import Migrations

from pawl.runtime.store.sqlite_connect import APPLICATION, SCHEMA, check_file

migrations: Final = Migrations("pawl")

_FIRST: Final = (
    """CREATE TABLE agents (
        id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL UNIQUE, owner TEXT, record TEXT NOT NULL)""",
    """CREATE TABLE owners (
        owner_id TEXT PRIMARY KEY, expires_at REAL NOT NULL, record TEXT NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE contents (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body TEXT NOT NULL)""",
    """CREATE TABLE executions (
        id INTEGER PRIMARY KEY, execution_id TEXT NOT NULL UNIQUE, agent INTEGER NOT NULL, start_id TEXT NOT NULL,
        created_at REAL NOT NULL, status TEXT NOT NULL, open INTEGER NOT NULL, awaiting TEXT, due REAL,
        revision INTEGER NOT NULL, record TEXT NOT NULL, UNIQUE (agent, start_id))""",
    "CREATE UNIQUE INDEX executions_one_open ON executions (agent) WHERE open = 1",
    "CREATE INDEX executions_open ON executions (awaiting, created_at, execution_id) WHERE open = 1",
    "CREATE INDEX executions_due ON executions (due) WHERE due IS NOT NULL",
    "CREATE INDEX executions_of_agent ON executions (agent, created_at, execution_id)",
    "CREATE INDEX executions_by_time ON executions (created_at, execution_id)",
    """CREATE TABLE journal (
        agent INTEGER NOT NULL, position INTEGER NOT NULL, execution INTEGER NOT NULL, kind TEXT NOT NULL,
        at REAL NOT NULL, content INTEGER, meta TEXT, PRIMARY KEY (agent, position)) WITHOUT ROWID""",
    """CREATE TABLE tools (
        id INTEGER PRIMARY KEY, tool_invocation_id TEXT NOT NULL UNIQUE, execution INTEGER NOT NULL,
        call INTEGER NOT NULL, record TEXT NOT NULL)""",
    "CREATE INDEX tools_of_call ON tools (execution, call)",
    """CREATE TABLE requests (
        request_id TEXT PRIMARY KEY, execution INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE decisions (
        id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, tool_call_id TEXT NOT NULL, decided_at REAL NOT NULL,
        record TEXT NOT NULL, UNIQUE (request_id, tool_call_id))""",
    """CREATE TABLE intents (
        execution_id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE TABLE seal (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL)",
    "INSERT INTO seal VALUES (1, 0)",
)


@migrations()
def m001_first(db: Database) -> None:
    """Everything that the port needs."""
    for statement in _FIRST:
        db.execute(statement)


@migrations()
def m002_sweeps(db: Database) -> None:
    """What a sweep of unused bodies needs (see `sqlite_sweep`)."""
    db.execute("CREATE TABLE sweeps (sweep TEXT PRIMARY KEY) WITHOUT ROWID")
    db.execute("CREATE TABLE stored_again (content INTEGER PRIMARY KEY)")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, in one transaction that shuts other openers out. Raises as `check_file`."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not check_file(connection):  # again: somebody may have been faster
            migrations.apply(Database(connection, recursive_triggers=False, execute_plugins=False))
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
