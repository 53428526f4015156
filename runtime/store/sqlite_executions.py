"""Execution records and stop intents in SQLite: each record replaced in place, found by what it waits for."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import AgentBusy, ExecutionNotFound, IdConflict, StoreCorrupt
from pawl.runtime.records.executions import Awaiting, ExecutionRecord, StopIntent
from pawl.runtime.store.rules import due_at, is_open
from pawl.runtime.store.sqlite_rows import Rows, decoded
from pawl.runtime.store.unreadable import Surveyed, Unreadable

_BYTES = "CASE typeof({0}record) WHEN 'text' THEN CAST({0}record AS BLOB) END"
"""A record that may be damaged: as text, one row that is no UTF-8 would keep all others from being fetched."""

_BEHIND = "SELECT created_at FROM executions WHERE execution_id = ?"

_ROW = "WHERE execution_id = ? AND revision = ? AND agent = ? AND start_id = ? AND created_at = ?"
_BEFORE_ALL = -1e300

_ADOPTABLE = """
    SELECT {}, e.created_at, e.execution_id
    FROM executions e INDEXED BY {} JOIN agents a ON a.id = e.agent LEFT JOIN owners o ON o.owner_id = a.owner
    WHERE {} AND (e.created_at, e.execution_id) > (:since, :after)
    AND (a.owner IS NULL OR (a.owner <> :owner AND (o.owner_id IS NULL OR o.expires_at <= :now)))
"""
_ADOPT = f"""
    {_ADOPTABLE.format(_BYTES.format("e."), "executions_open", "e.open = 1 AND e.awaiting IS NULL")} UNION ALL
    {_ADOPTABLE.format(_BYTES.format("e."), "executions_due", "e.due <= :now")}
    ORDER BY 2, 3 LIMIT :limit
"""


class SqliteExecutions:
    """Records with their indexed columns."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, record: ExecutionRecord) -> None:
        """Add a record. Raises AgentBusy when the agent has another nonterminal one, IdConflict for a used id."""
        agent = self._rows.agent(record.agent_id)
        values = (record.execution_id, agent, record.start_id, record.created_at, record.status, is_open(record))
        try:
            made = self._rows.execute(
                "INSERT INTO executions (execution_id, agent, start_id, created_at, status, open, revision, record) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, record.revision, encode(record)),
            )
        except sqlite3.IntegrityError as error:
            raise self._conflict(record, agent) or error from error
        assert made.lastrowid is not None
        self._rows.executions[record.execution_id] = (made.lastrowid, agent)
        self._note_request(record)

    def get(self, execution_id: str) -> ExecutionRecord | None:
        """The record, or None."""
        found = self._rows.execute(
            "SELECT id, agent, record FROM executions WHERE execution_id = ?", (execution_id,)
        ).fetchone()
        if found is None:
            return None
        self._rows.executions[execution_id] = found[:2]
        return decoded(found[2], ExecutionRecord, execution_id, "execution_id")

    def of_start(self, agent_id: str, start_id: str) -> ExecutionRecord | None:
        """The record that a caller's start id made, or None."""
        agent = self._rows.known_agent(agent_id)
        found = self._rows.execute(
            "SELECT record FROM executions WHERE agent = ? AND start_id = ?", (agent, start_id)
        ).fetchone()
        return None if found is None else decoded(found[0], ExecutionRecord, start_id, "start_id")

    def of_request(self, request_id: str) -> ExecutionRecord | None:
        """The execution whose current approval request has that id, or None."""
        found = self._rows.execute(
            "SELECT e.record FROM requests r JOIN executions e ON e.id = r.execution WHERE r.request_id = ?",
            (request_id,),
        ).fetchone()
        if found is None:
            return None
        record = decode(found[0], ExecutionRecord)
        return record if record.request is not None and record.request.id == request_id else None

    def save(self, record: ExecutionRecord, expected_revision: int, awaiting: Awaiting | None = None) -> bool:
        """Replace the record if its stored revision is `expected_revision`; False when it is not. Raises AgentBusy,
        IdConflict when it is another agent's, or of another start.
        """
        text, due = encode(record), due_at(record, awaiting)
        row = (record.execution_id, expected_revision, *self._identity(record))
        # Most barriers change no indexed column, and SQLite rewrites the index of every column that it is told to set.
        done = self._rows.execute(
            f"UPDATE executions SET revision = ?, record = ? {_ROW} AND status = ? AND awaiting IS ? AND due IS ?",
            (record.revision, text, *row, record.status, awaiting, due),
        ).rowcount
        if not done:
            columns = (record.status, is_open(record), awaiting, due, record.revision, text)
            done = self._save_all(columns, row)
        if not done:
            return self._not_saved(record, expected_revision)
        self._note_request(record)
        return True

    def _save_all(self, columns: tuple[Any, ...], row: tuple[Any, ...]) -> int:
        try:
            return self._rows.execute(
                f"UPDATE executions SET status = ?, open = ?, awaiting = ?, due = ?, revision = ?, record = ? {_ROW}",
                (*columns, *row),
            ).rowcount
        except sqlite3.IntegrityError as error:
            raise self._busy(row[2]) or error from error

    def _not_saved(self, record: ExecutionRecord, expected_revision: int) -> bool:
        before = self.get(record.execution_id)
        if before is not None and before.revision == expected_revision:
            raise IdConflict(f"execution {record.execution_id!r} can not change its agent, start id or creation time")
        return False

    def _identity(self, record: ExecutionRecord) -> tuple[int | None, str, float]:
        return self._rows.known_agent(record.agent_id), record.start_id, record.created_at

    def rest(self, execution_id: str, awaiting: Awaiting | None) -> None:
        """Note what an execution at rest waits for. Raises ExecutionNotFound."""
        record = self.get(execution_id)
        if record is None:
            raise ExecutionNotFound(f"there is no execution {execution_id!r}")
        self._rows.execute(
            "UPDATE executions SET awaiting = ?, due = ? WHERE execution_id = ?",
            (awaiting, due_at(record, awaiting), execution_id),
        )

    def find(self, prefix: str, limit: int = 20) -> Sequence[str]:
        """Execution ids that start with `prefix`, in order."""
        found = self._rows.execute(
            "SELECT execution_id FROM executions WHERE execution_id >= ? AND execution_id < ? "
            "ORDER BY execution_id LIMIT ?",
            (prefix, f"{prefix}\U0010ffff", limit),
        )
        return [execution_id for (execution_id,) in found]

    def list(
        self, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[tuple[ExecutionRecord, Awaiting | None]]:
        """Records in order of creation (created_at, id), after the id `after`. Raises ExecutionNotFound for that id,
        CodecError for what cannot be decoded.
        """
        found = self._page("record, awaiting", agent_id, open_only, after, limit)
        return [(decode(record, ExecutionRecord), awaiting) for record, awaiting in found]

    def survey(
        self, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[tuple[Surveyed, Awaiting | None]]:
        """The same, with what cannot be decoded in its place."""
        columns = f"{_BYTES.format('')}, created_at, execution_id, awaiting"
        found = self._page(columns, agent_id, open_only, after, limit)
        return [(self._found(*row), awaiting) for *row, awaiting in found]

    def _page(self, columns: str, agent_id: str | None, open_only: bool, after: str, limit: int) -> Sequence[Any]:
        where: list[str] = []
        values: list[Any] = []
        if agent_id is not None:
            where.append("agent = ?")
            values.append(self._rows.known_agent(agent_id))
        if open_only:
            where.append("open = 1")
        if after:
            where.append("(created_at, execution_id) > (?, ?)")
            values += [self._since(after), after]
        condition = f"WHERE {' AND '.join(where)} " if where else ""
        query = f"SELECT {columns} FROM executions {condition}ORDER BY created_at, execution_id LIMIT ?"
        return self._rows.all(query, (*values, limit))

    def adoptable(self, owner_id: str, now: float, limit: int = 100, after: str = "") -> Sequence[Surveyed]:
        """Nonterminal records that nobody drives: see the port."""
        since = self._since(after)
        values = {"owner": owner_id, "now": now, "limit": limit, "since": since, "after": after}
        return [self._found(*row) for row in self._rows.all(_ADOPT, values)]

    def _found(self, record: bytes | None, created_at: float, execution_id: str) -> Surveyed:
        try:
            text = str(record, "utf-8", "surrogateescape") if record is not None else ""
            return decoded(text, ExecutionRecord, execution_id, "execution_id")
        except StoreCorrupt as error:
            found = self._rows.execute(
                "SELECT a.agent_id FROM executions e JOIN agents a ON a.id = e.agent WHERE e.execution_id = ?",
                (execution_id,),
            ).fetchone()
            return Unreadable(execution_id, found[0] if found is not None else "", created_at, str(error))

    def _since(self, after: str) -> float:
        """When the execution `after` was made; before everything for the empty name."""
        if not after:
            return _BEFORE_ALL
        found = self._rows.execute(_BEHIND, (after,)).fetchone()
        if found is None:
            raise ExecutionNotFound(f"there is no execution {after!r} to list after; begin again")
        since: float = found[0]
        return since

    def _note_request(self, record: ExecutionRecord) -> None:
        if record.request is not None:
            self._rows.execute(
                "INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING",
                (record.request.id, self._rows.execution(record.execution_id)[0]),
            )

    def _conflict(self, record: ExecutionRecord, agent: int) -> Exception | None:
        if self.get(record.execution_id) is not None:
            return IdConflict(f"execution id {record.execution_id!r} is taken; use a new id for new work")
        if self.of_start(record.agent_id, record.start_id) is not None:
            return IdConflict(f"start id {record.start_id!r} was used before; use a new id for new work")
        return self._busy(agent)

    def _busy(self, agent: int) -> Exception | None:
        found = self._rows.execute(
            "SELECT e.execution_id, e.status, a.owner FROM executions e JOIN agents a ON a.id = e.agent "
            "WHERE e.agent = ? AND e.open = 1",
            (agent,),
        ).fetchone()
        return None if found is None else AgentBusy(*found)


class SqliteIntents:
    """Stop intents; the first one stays."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, intent: StopIntent) -> StopIntent:
        """Write it unless there is one; the one that stands is returned."""
        done = self._rows.execute(
            "INSERT INTO intents VALUES (?, ?) ON CONFLICT DO NOTHING", (intent.execution_id, encode(intent))
        )
        return intent if done.rowcount else self.get(intent.execution_id) or intent

    def get(self, execution_id: str) -> StopIntent | None:
        """The intent, or None."""
        found = self._rows.execute("SELECT record FROM intents WHERE execution_id = ?", (execution_id,)).fetchone()
        return None if found is None else decoded(found[0], StopIntent, execution_id, "execution_id")
