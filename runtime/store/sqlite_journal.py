"""Contents and the journal in SQLite: bodies once, by digest; records clustered by agent and position."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pawl.runtime.records.errors import StoreCorrupt, WrongAgent
from pawl.runtime.records.journal import MESSAGE_KINDS, Content, JournalEntry, JournalKind, JournalRecord
from pawl.runtime.records.strict_json import decode_json, encode_json
from pawl.runtime.store.rules import VISIBLE, digest_key
from pawl.runtime.store.sqlite_rows import Rows

_SELECT = (
    "SELECT j.position, j.kind, j.execution, j.at, j.content, c.digest, c.body, j.meta "
    "FROM journal j LEFT JOIN contents c ON c.id = j.content WHERE j.agent = ? AND j.position > ? "
)
_MESSAGES = f"AND j.kind IN ({', '.join(repr(str(kind)) for kind in MESSAGE_KINDS)}) "
_SEEN = (
    "AND j.execution IN (SELECT id FROM executions WHERE agent = ? "
    f"AND (status IN ({', '.join(map(repr, VISIBLE))}) OR execution_id = ?)) "
)
_STORED_AGAIN = "INSERT OR IGNORE INTO stored_again SELECT ? WHERE EXISTS (SELECT 1 FROM sweeps)"
_KINDS = {kind.value: kind for kind in JournalKind}


class SqliteContents:
    """Bodies by digest. A digest is checked against its body when it is read, not when it is written."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, content: Content) -> None:
        """Store a body; storing it again is nothing."""
        content_row(self._rows, content)

    def get(self, digest: str) -> str:
        """The body. Raises StoreCorrupt when it is missing or does not match its digest."""
        key = digest_key(digest)
        found = self._rows.execute("SELECT body FROM contents WHERE digest = ?", (key,)).fetchone()
        if found is None:
            raise StoreCorrupt(f"the body {digest} is missing; restore a backup")
        return _checked(key, found[0])


def content_row(rows: Rows, content: Content) -> int:
    """The row number of a body, stored now or before."""
    key = digest_key(content.digest)
    row = rows.contents.get(key)
    if row is None:
        put = rows.execute(
            "INSERT INTO contents (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, content.body)
        )
        if put.rowcount and put.lastrowid is not None:
            row = put.lastrowid
        else:
            (row,) = rows.execute("SELECT id FROM contents WHERE digest = ?", (key,)).fetchone()
            rows.execute(_STORED_AGAIN, (row,))  # a sweep that is under way must not take it
        rows.contents[key] = row
    return row


class SqliteJournal:
    """Appended rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def position(self, agent_id: str) -> int:
        """The last position of an agent; 0 before the first record, and for an agent that is not there."""
        agent = self._rows.known_agent(agent_id)
        return 0 if agent is None else self._last(agent)

    def _last(self, agent: int) -> int:
        last = self._rows.heads.get(agent)
        if last is None:
            (found,) = self._rows.execute("SELECT max(position) FROM journal WHERE agent = ?", (agent,)).fetchone()
            last = self._rows.heads[agent] = found or 0
        return last

    def append(self, agent_id: str, position: int, entries: Sequence[JournalEntry]) -> None:
        """Append after `position`, with their contents. Raises StoreCorrupt when `position` is not the last one,
        AgentNotFound, ExecutionNotFound, WrongAgent.
        """
        rows = self._rows
        agent = rows.agent(agent_id)
        last = self._last(agent)
        if last != position:
            raise StoreCorrupt(f"the journal of agent {agent_id!r} is at {last}, not at {position}")
        appended = []
        for place, entry in enumerate(entries, position + 1):
            content = None if entry.content is None else content_row(rows, entry.content)
            meta = encode_json(entry.meta, "journal.meta") if entry.meta else None
            execution, of = rows.execution(entry.execution_id)
            if of != agent:
                raise WrongAgent(f"execution {entry.execution_id!r} is not one of agent {agent_id!r}")
            appended.append((agent, place, execution, entry.kind.value, entry.at, content, meta))
        rows.execute_many("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)", appended)
        rows.heads[agent] = position + len(appended)

    def read(self, agent_id: str, after: int = 0, limit: int = 1000) -> Sequence[JournalRecord]:
        """Records after a position, in order, bodies included."""
        return self._select("", self._rows.known_agent(agent_id), after, (), limit)

    def transcript(self, agent_id: str, execution_id: str | None = None, after: int = 0) -> Sequence[JournalRecord]:
        """Message records visible to a run: of executions that ended well, and of `execution_id`."""
        agent = self._rows.known_agent(agent_id)
        return self._select(_MESSAGES + _SEEN, agent, after, (agent, execution_id), -1)

    def _select(
        self, where: str, agent: int | None, after: int, more: tuple[Any, ...], limit: int
    ) -> Sequence[JournalRecord]:
        if agent is None:
            return []
        query = f"{_SELECT}{where}ORDER BY j.position LIMIT ?"
        found = self._rows.all(query, (agent, after, *more, limit))
        names = {execution: self._name(execution) for execution in {row[2] for row in found}}
        return [_record(names, *row) for row in found]

    def _name(self, execution: int) -> str:
        """The id of the execution with that row number: asked once each, where a join would be asked by every row."""
        found = self._rows.execute("SELECT execution_id FROM executions WHERE id = ?", (execution,)).fetchone()
        if found is None:
            raise StoreCorrupt("the execution of some journal records is missing; restore a backup")
        name: str = found[0]
        return name


def _record(
    names: Mapping[int, str],
    position: int,
    kind: str,
    execution: int,
    at: float,
    content: int | None,
    digest: object,
    body: object,
    meta: str | None,
) -> JournalRecord:
    text = None
    if content is not None:
        if body is None:
            raise StoreCorrupt(f"the body of journal record {position} is missing; restore a backup")
        if not isinstance(digest, bytes):
            raise StoreCorrupt(f"the body of journal record {position} has no digest; restore a backup")
        text = _checked(digest, body)
    known = _KINDS.get(kind)
    if known is None:
        raise StoreCorrupt(f"journal record {position} is of an unknown kind {kind!r}; upgrade Pawl")
    return JournalRecord(position, known, names[execution], at, text, {} if meta is None else _meta(meta, position))


def _meta(text: str, position: int) -> dict[str, Any]:
    meta = decode_json(text, f"journal[{position}].meta")
    if not isinstance(meta, dict):
        raise StoreCorrupt(f"journal[{position}].meta: expected an object, found {meta!r}")
    return meta


def _checked(key: bytes, body: object) -> str:
    if not isinstance(body, str) or hashlib.sha256(body.encode()).digest() != key:
        raise StoreCorrupt(f"the body sha256:{key.hex()} is not what was written; restore a backup")
    return body
