"""One atomic unit over the repositories of an SQLite connection, and the row numbers that it has met."""

from __future__ import annotations

import sqlite3

from pawl.runtime.store.sqlite_agents import SqliteAgents, SqliteOwners
from pawl.runtime.store.sqlite_executions import SqliteExecutions, SqliteIntents
from pawl.runtime.store.sqlite_journal import SqliteContents, SqliteJournal
from pawl.runtime.store.sqlite_rows import Rows
from pawl.runtime.store.sqlite_tools import SqliteDecisions, SqliteTools


class SqliteTransaction:
    """The repositories of one connection; `renew` before every operation."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._rows = Rows(connection)
        self.contents = SqliteContents(self._rows)
        self.agents = SqliteAgents(self._rows)
        self.journal = SqliteJournal(self._rows)
        self.executions = SqliteExecutions(self._rows)
        self.tools = SqliteTools(self._rows)
        self.decisions = SqliteDecisions(self._rows)
        self.intents = SqliteIntents(self._rows)
        self.owners = SqliteOwners(self._rows)

    def renew(self) -> None:
        """Forget row numbers: the last operation may have been rolled back, or somebody else may have written."""
        self._rows.forget()
