"""One atomic unit over the repositories of an SQLite connection, and what it remembers of their rows."""

from __future__ import annotations

import sqlite3

from pawl.runtime.store.sqlite_agents import SqliteAgents, SqliteOwners
from pawl.runtime.store.sqlite_executions import SqliteExecutions, SqliteIntents
from pawl.runtime.store.sqlite_journal import SqliteContents, SqliteJournal
from pawl.runtime.store.sqlite_rows import KNOWN, Rows
from pawl.runtime.store.sqlite_tools import SqliteDecisions, SqliteTools
from pawl.runtime.store.sqlite_upkeep import SqliteUpkeep


class SqliteTransaction:
    """The repositories of one connection."""

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
        self.upkeep = SqliteUpkeep(self._rows)

    def renew(self) -> None:
        """Forget every row: something was rolled back, or somebody else may have written."""
        self._rows.forget()

    def renew_if_many(self) -> None:
        """Forget every row where too many are remembered."""
        if self._rows.known > KNOWN:
            self._rows.forget()
