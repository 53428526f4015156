"""Looking over, clearing out and putting in, in SQLite. How unused bodies are found is in `sqlite_sweep`."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from pawl.runtime.records.errors import InvalidArguments, StoreCorrupt
from pawl.runtime.records.journal import JournalEntry
from pawl.runtime.store.rules import digest_key
from pawl.runtime.store.sqlite_journal import SqliteJournal
from pawl.runtime.store.sqlite_rows import Rows
from pawl.runtime.store.sqlite_shape import misshapen
from pawl.runtime.store.sqlite_sweep import Sweep
from pawl.runtime.store.upkeep import Cleared, Stored, Stray, Table

_TABLES: Final = ("agents", "owners", "contents", "executions", "journal", "tools", "requests", "decisions", "intents")

# What a digest is called: one that is not kept as a blob is found by nobody, and is none.
_NAME: Final = "CASE typeof({0}) WHEN 'blob' THEN 'sha256:' || lower(hex({0})) ELSE typeof({0}) || ':' || hex({0}) END"

# Each: (query, the names of its columns behind place, key and body). Bodies as blobs: what is no UTF-8 can be told.
_ROWS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "agents": (
        "SELECT id, agent_id, CAST(record AS BLOB), owner FROM agents WHERE id {after} ? ORDER BY id",
        ("owner",),
    ),
    "owners": (
        "SELECT owner_id, owner_id, CAST(record AS BLOB), expires_at FROM owners WHERE owner_id {after} ? "
        "ORDER BY owner_id",
        ("expires_at",),
    ),
    "contents": (
        f"SELECT id, {_NAME.format('digest')}, CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) END "
        "FROM contents WHERE id {after} ? ORDER BY id",
        (),
    ),
    "requests": (
        "SELECT r.request_id, r.request_id, x'', e.execution_id FROM requests r LEFT JOIN executions e "
        "ON e.id = r.execution WHERE r.request_id {after} ? ORDER BY r.request_id",
        ("execution_id",),
    ),
    "decisions": (
        "SELECT d.id, d.request_id, CAST(d.record AS BLOB), d.tool_call_id, d.decided_at, e.execution_id "
        "FROM decisions d LEFT JOIN requests r ON r.request_id = d.request_id "
        "LEFT JOIN executions e ON e.id = r.execution WHERE d.id {after} ? ORDER BY d.id",
        ("tool_call_id", "decided_at", "execution_id"),
    ),
    "intents": (
        "SELECT execution_id, execution_id, CAST(record AS BLOB) FROM intents WHERE execution_id {after} ? "
        "ORDER BY execution_id",
        (),
    ),
}
_FIRST: Final[dict[str, Any]] = {"owners": "", "requests": "", "intents": ""}
"""Below every key of the table; elsewhere keys are row numbers."""
_BELOW: Final = -(2**63)

_EXECUTION_COLUMNS: Final = ("start_id", "created_at", "status", "open", "awaiting", "due", "revision")
_EXECUTIONS: Final = (
    "SELECT created_at, execution_id, CAST(record AS BLOB), start_id, created_at, status, open, awaiting, due, "
    "revision FROM executions WHERE agent = ? AND (created_at, execution_id) > (?, ?) "
    "ORDER BY created_at, execution_id LIMIT ?"
)
_JOURNAL: Final = (
    "SELECT j.position, CAST(j.meta AS BLOB), e.execution_id, j.kind, j.at, CASE WHEN j.content IS NULL THEN NULL "
    f"WHEN c.id IS NULL THEN 'missing' ELSE {_NAME.format('c.digest')} END FROM journal j "
    "LEFT JOIN executions e ON e.id = j.execution AND e.agent = j.agent LEFT JOIN contents c ON c.id = j.content "
    "WHERE j.agent = ? AND j.position > ? ORDER BY j.position LIMIT ?"
)
_TOOLS: Final = (
    "SELECT t.id, t.tool_invocation_id, CAST(t.record AS BLOB), t.call FROM executions e JOIN tools t "
    "ON t.execution = e.id WHERE e.execution_id = ? ORDER BY t.id"
)
_STRAYS: Final = (
    ("executions", "agent", "SELECT execution_id FROM executions WHERE agent NOT IN (SELECT id FROM agents)"),
    (
        "journal",
        "agent",
        "SELECT agent || ':' || position FROM journal WHERE agent NOT IN (SELECT id FROM agents)",
    ),
    ("tools", "execution", "SELECT tool_invocation_id FROM tools WHERE execution NOT IN (SELECT id FROM executions)"),
    ("requests", "execution", "SELECT request_id FROM requests WHERE execution NOT IN (SELECT id FROM executions)"),
    (
        "decisions",
        "request",
        "SELECT request_id || ' ' || tool_call_id FROM decisions "
        "WHERE request_id NOT IN (SELECT request_id FROM requests)",
    ),
    (
        "intents",
        "execution",
        "SELECT execution_id FROM intents WHERE execution_id NOT IN (SELECT execution_id FROM executions)",
    ),
)


class SqliteUpkeep(Sweep):
    """The back door of a connection."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._rows = rows

    # --- looking over ---

    def problems(self) -> Sequence[str]:
        """What `PRAGMA integrity_check` says, and what of the tables is not as they were made."""
        try:
            found = self._rows.all("PRAGMA integrity_check(100)")
            shape = list(misshapen(self._rows.all))
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [*(str(line) for (line,) in found if line != "ok"), *shape]

    def counts(self) -> dict[str, int]:
        """Rows by table."""
        return {table: self._one(f"SELECT count(*) FROM {table}") for table in _TABLES}

    def rows(self, table: Table, after: Any = None, limit: int = 500) -> Sequence[Stored]:
        """Rows behind a place."""
        query, names = _ROWS[table]
        operator, since = (">=", _FIRST.get(table, _BELOW)) if after is None else (">", after)
        found = self._rows.all(f"{query.replace('{after}', operator)} LIMIT ?", (since, limit))
        return [
            Stored(str(name), body or b"", dict(zip(names, columns, strict=True)), place)
            for place, name, body, *columns in found
        ]

    def agent(self, agent_id: str) -> Stored | None:
        """One row of the agents."""
        query = "SELECT id, CAST(record AS BLOB), owner FROM agents WHERE agent_id = ?"
        found = self._rows.execute(query, (agent_id,)).fetchone()
        return None if found is None else Stored(agent_id, found[1] or b"", {"owner": found[2]}, found[0])

    def executions(self, agent_id: str, after: Any = None, limit: int = 500) -> Sequence[Stored]:
        """The executions of an agent."""
        values = (self._rows.known_agent(agent_id), *(after or (-math.inf, "")), limit)
        return [
            Stored(str(name), body, dict(zip(_EXECUTION_COLUMNS, columns, strict=True)), (at, name))
            for at, name, body, *columns in self._rows.all(_EXECUTIONS, values)
        ]

    def journal(self, agent_id: str, after: int = 0, limit: int = 500) -> Sequence[Stored]:
        """The journal of an agent."""
        found = self._rows.all(_JOURNAL, (self._rows.known_agent(agent_id), after, limit))
        return [
            Stored(
                str(position),
                meta or b"",
                {"execution_id": None if name is None else str(name), "kind": kind, "at": at, "digest": digest},
                position,
            )
            for position, meta, name, kind, at, digest in found
        ]

    def tools(self, execution_id: str) -> Sequence[Stored]:
        """The tool rows of an execution."""
        return [
            Stored(str(name), body, {"call": call}, place)
            for place, name, body, call in self._rows.all(_TOOLS, (execution_id,))
        ]

    def strays(self, limit: int = 100) -> Sequence[Stray]:
        """Rows that belong to nothing."""
        found: list[Stray] = []
        for table, what, query in _STRAYS:
            found += [Stray(table, str(key), what) for (key,) in self._rows.all(f"{query} LIMIT ?", (limit,))]
        return found[:limit]

    def has_content(self, digest: str) -> bool:
        """Whether there is a body under that digest."""
        try:
            key = digest_key(digest)
        except InvalidArguments:
            return False
        return self._some("SELECT 1 FROM contents WHERE digest = ?", key)

    def has_execution(self, execution_id: str) -> bool:
        """Whether there is such an execution."""
        return self._some("SELECT 1 FROM executions WHERE execution_id = ?", execution_id)

    def request_of(self, request_id: str) -> str | None:
        """The execution that a request is known to be of."""
        found = self._rows.execute(
            "SELECT e.execution_id FROM requests r JOIN executions e ON e.id = r.execution WHERE r.request_id = ?",
            (request_id,),
        ).fetchone()
        return None if found is None else str(found[0])

    # --- clearing out ---

    def weigh(
        self, agent_id: str, upto: int, executions: Sequence[str], requests: Sequence[str], whole: bool
    ) -> Cleared:
        """What would be removed."""
        agent = self._rows.known_agent(agent_id)
        rows = [self._rows.execution(name)[0] for name in executions]
        journal, freed = self._weight("journal", "meta", "agent = ? AND position <= ?", agent, upto)
        tools = decisions = 0
        for row in rows:
            count, size = self._weight("tools", "record", "execution = ?", row)
            tools, freed = tools + count, freed + size + self._weight("executions", "record", "id = ?", row)[1]
        for request in requests:
            count, size = self._weight("decisions", "record", "request_id = ?", request)
            decisions, freed = decisions + count, freed + size
        if whole:
            freed += self._weight("agents", "record", "id = ?", agent)[1]
        return Cleared(int(whole), len(rows), journal, tools, decisions, bytes=freed)

    def forget(self, agent_id: str, upto: int, executions: Sequence[str], requests: Sequence[str]) -> Cleared:
        """Remove executions with all that is theirs."""
        cleared = self.weigh(agent_id, upto, executions, requests, False)
        self._do("DELETE FROM journal WHERE agent = ? AND position <= ?", self._rows.known_agent(agent_id), upto)
        for request in requests:
            self._do("DELETE FROM decisions WHERE request_id = ?", request)
            self._do("DELETE FROM requests WHERE request_id = ?", request)
        for name in executions:
            row = self._rows.execution(name)[0]
            self._do("DELETE FROM tools WHERE execution = ?", row)
            self._do("DELETE FROM intents WHERE execution_id = ?", name)
            self._do("DELETE FROM executions WHERE id = ?", row)
        self._rows.forget()
        return cleared

    def forget_agent(self, agent_id: str) -> Cleared:
        """Remove a root that has no execution any more."""
        freed = self._weight("agents", "record", "agent_id = ?", agent_id)[1]
        gone = self._do(
            "DELETE FROM agents WHERE agent_id = ? AND NOT EXISTS (SELECT 1 FROM executions WHERE agent = agents.id)",
            agent_id,
        )
        self._rows.forget()
        return Cleared(agents=gone, bytes=freed if gone else 0)

    def _weight(self, table: str, column: str, where: str, *values: Any) -> tuple[int, int]:
        """Rows, and bytes of a column."""
        query = f"SELECT count(*), ifnull(sum(length(CAST({column} AS BLOB))), 0) FROM {table} WHERE {where}"
        count, size = self._rows.execute(query, values).fetchone()
        return count, size

    # --- putting in ---

    def place_request(self, request_id: str, execution_id: str) -> None:
        """Know an earlier request as one of an execution."""
        self._do(
            "INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING",
            request_id,
            self._rows.execution(execution_id)[0],
        )

    def place_journal(self, agent_id: str, first: int, entries: Sequence[JournalEntry]) -> None:
        """The journal of an agent that has none."""
        agent = self._rows.agent(agent_id)
        journal = SqliteJournal(self._rows)
        if journal.position(agent_id):
            raise StoreCorrupt(f"agent {agent_id!r} has a journal already")
        self._rows.heads[agent] = first - 1
        journal.append(agent_id, first - 1, entries)

    # --- inside ---

    def _some(self, query: str, *values: Any) -> bool:
        return self._rows.execute(query, values).fetchone() is not None
