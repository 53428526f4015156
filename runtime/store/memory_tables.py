"""The repositories in memory: dicts of encoded records, and the list of what to put back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.canonical import digest as digest_of
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import (
    AgentBusy,
    AgentExists,
    AlreadyDecided,
    CodecError,
    ExecutionNotFound,
    IdConflict,
    StoreCorrupt,
    WrongAgent,
)
from pawl.runtime.records.executions import Awaiting, ExecutionRecord, StopIntent
from pawl.runtime.records.journal import MESSAGE_KINDS, Content, JournalEntry, JournalKind, JournalRecord
from pawl.runtime.records.strict_json import check_unicode, decode_json, encode_json
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.memory_upkeep import MemoryUpkeep
from pawl.runtime.store.rules import VISIBLE, digest_key, due_at, is_open, no_agent
from pawl.runtime.store.unreadable import Surveyed, Unreadable

_ABSENT: Final = object()


class Tables:
    """Dicts by name, each write noted, so that an operation can be undone."""

    def __init__(self) -> None:
        self.undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self.agents: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        self.contents: dict[str, str] = {}
        self.executions: dict[str, tuple[str, Awaiting | None]] = {}
        self.made: dict[str, tuple[str, float]] = {}
        """By execution: its agent, and when it was made; kept beside the record, for when that cannot be read."""
        self.open_of: dict[str, str] = {}
        self.starts: dict[tuple[str, str], str] = {}
        self.requests: dict[str, str] = {}
        self.heads: dict[str, int] = {}
        self.journal: dict[tuple[str, int], tuple[str, str, float, str | None, str]] = {}
        self.tools: dict[str, str] = {}
        self.tools_of: dict[str, tuple[str, ...]] = {}
        self.decisions: dict[tuple[str, str], str] = {}
        self.decisions_of: dict[str, tuple[tuple[str, str], ...]] = {}
        self.intents: dict[str, str] = {}
        self.sweeps: dict[str, str] = {}
        self.stored_again: dict[str, bool] = {}
        """Bodies that were stored again since the sweep began."""

    def starts_of(self, agent_id: str) -> Iterable[tuple[tuple[str, str], str]]:
        """(agent, start id) and execution, of one agent."""
        return [(key, name) for key, name in self.starts.items() if key[0] == agent_id]

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Write, noting what was there."""
        self.undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def drop(self, table: dict[Any, Any], keys: Iterable[Any]) -> None:
        """Remove what is there of `keys`, noting it."""
        for key in list(keys):
            if key in table:
                self.undo.append((table, key, table.pop(key)))


class MemoryTransaction:
    """All repositories over one set of tables. One operation at a time."""

    def __init__(self) -> None:
        self._tables = Tables()
        self.contents = _Contents(self._tables)
        self.agents = _Agents(self._tables)
        self.executions = _Executions(self._tables)
        self.journal = _Journal(self._tables)
        self.tools = _Tools(self._tables)
        self.decisions = _Decisions(self._tables)
        self.intents = _Intents(self._tables)
        self.owners = _Owners(self._tables)
        self.upkeep = MemoryUpkeep(self._tables, self)

    @property
    def written(self) -> bool:
        """Whether the operation wrote anything so far."""
        return bool(self._tables.undo)

    def keep(self) -> None:
        """The operation stands."""
        self._tables.undo.clear()

    def undo(self) -> None:
        """Put everything back as it was before the operation."""
        undo = self._tables.undo
        while undo:
            table, key, before = undo.pop()
            if before is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = before


class _Repository:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables


class _Contents(_Repository):
    def put(self, content: Content) -> None:
        digest_key(content.digest)
        check_unicode(content.body, "content")
        if content.digest not in self._tables.contents:
            self._tables.put(self._tables.contents, content.digest, content.body)
        elif self._tables.sweeps:
            self._tables.put(self._tables.stored_again, content.digest, True)

    def get(self, digest: str) -> str:
        body = self._tables.contents.get(digest)
        if body is None:
            raise StoreCorrupt(f"the body {digest} is missing; restore a backup")
        if digest_of(body) != digest:
            raise StoreCorrupt(f"the body {digest} is not what was written; restore a backup")
        return body


class _Agents(_Repository):
    def insert(self, root: AgentRoot) -> None:
        if root.agent_id in self._tables.agents:
            raise AgentExists(f"agent {root.agent_id!r} exists already; `load` or `open` it")
        self._tables.put(self._tables.agents, root.agent_id, encode(root))

    def get(self, agent_id: str) -> AgentRoot | None:
        text = self._tables.agents.get(agent_id)
        return None if text is None else decode(text, AgentRoot)

    def save(self, root: AgentRoot) -> None:
        _known_agent(self._tables, root.agent_id)
        self._tables.put(self._tables.agents, root.agent_id, encode(root))

    def list(self, after: str = "", limit: int = 100) -> Sequence[AgentRoot]:
        ids = sorted(agent_id for agent_id in self._tables.agents if agent_id > after)
        return [decode(self._tables.agents[agent_id], AgentRoot) for agent_id in ids[:limit]]

    def delete(self, agent_id: str) -> None:
        tables = self._tables
        mine = {key for key, (agent, _) in tables.made.items() if agent == agent_id}
        requests = [request for request, execution in tables.requests.items() if execution in mine]
        for request in requests:
            tables.drop(tables.decisions, tables.decisions_of.get(request, ()))
        for execution in mine:
            tables.drop(tables.tools, tables.tools_of.get(execution, ()))
        tables.drop(tables.decisions_of, requests)
        tables.drop(tables.requests, requests)
        for table in (tables.tools_of, tables.intents, tables.executions, tables.made):
            tables.drop(table, mine)
        tables.drop(tables.journal, [key for key in tables.journal if key[0] == agent_id])
        tables.drop(tables.starts, [key for key in tables.starts if key[0] == agent_id])
        for by_agent in (tables.heads, tables.open_of, tables.agents):
            tables.drop(by_agent, (agent_id,))


class _Owners(_Repository):
    def put(self, owner: Owner) -> None:
        self._tables.put(self._tables.owners, owner.owner_id, encode(owner))

    def get(self, owner_id: str) -> Owner | None:
        text = self._tables.owners.get(owner_id)
        return None if text is None else decode(text, Owner)

    def list(self) -> Sequence[Owner]:
        return [decode(text, Owner) for _, text in sorted(self._tables.owners.items())]

    def delete(self, owner_id: str) -> None:
        self._tables.drop(self._tables.owners, (owner_id,))


class _Journal(_Repository):
    def position(self, agent_id: str) -> int:
        return self._tables.heads.get(agent_id, 0)

    def append(self, agent_id: str, position: int, entries: Sequence[JournalEntry]) -> None:
        tables = self._tables
        _known_agent(tables, agent_id)
        last = self.position(agent_id)
        if last != position:
            raise StoreCorrupt(f"the journal of agent {agent_id!r} is at {last}, not at {position}")
        for place, entry in enumerate(entries, position + 1):
            _known_execution(tables, entry.execution_id)
            if _record(tables, entry.execution_id).agent_id != agent_id:
                raise WrongAgent(f"execution {entry.execution_id!r} is not one of agent {agent_id!r}")
            if entry.content is not None:
                _Contents(tables).put(entry.content)
            digest = None if entry.content is None else entry.content.digest
            row = (entry.kind.value, entry.execution_id, entry.at, digest, encode_json(entry.meta, "journal.meta"))
            tables.put(tables.journal, (agent_id, place), row)
        tables.put(tables.heads, agent_id, position + len(entries))

    def read(self, agent_id: str, after: int = 0, limit: int = 1000) -> Sequence[JournalRecord]:
        places = islice(self._places(agent_id, after), limit)
        return [self._read(agent_id, position) for position in places]

    def _places(self, agent_id: str, after: int) -> Iterable[int]:
        """The positions behind `after`; where a journal was cleared out, it begins later."""
        journal = self._tables.journal
        begun = False
        for place in range(after + 1, self.position(agent_id) + 1):
            begun = begun or (agent_id, place) in journal
            if begun:
                yield place

    def transcript(self, agent_id: str, execution_id: str | None = None, after: int = 0) -> Sequence[JournalRecord]:
        @cache
        def visible(of: str) -> bool:
            return of == execution_id or _record(self._tables, of).status in VISIBLE

        places = self._places(agent_id, after)
        rows = [(place, self._tables.journal[agent_id, place]) for place in places]
        return [self._read(agent_id, place) for place, row in rows if row[0] in MESSAGE_KINDS and visible(row[1])]

    def _read(self, agent_id: str, position: int) -> JournalRecord:
        kind, execution_id, at, digest, meta = self._tables.journal[agent_id, position]
        body = None if digest is None else _Contents(self._tables).get(digest)
        return JournalRecord(position, JournalKind(kind), execution_id, at, body, decode_json(meta))


class _Executions(_Repository):
    def insert(self, record: ExecutionRecord) -> None:
        tables = self._tables
        _known_agent(tables, record.agent_id)
        if record.execution_id in tables.executions:
            raise IdConflict(f"execution id {record.execution_id!r} is taken; use a new id for new work")
        if (record.agent_id, record.start_id) in tables.starts:
            raise IdConflict(f"start id {record.start_id!r} was used before; use a new id for new work")
        tables.put(tables.starts, (record.agent_id, record.start_id), record.execution_id)
        tables.put(tables.made, record.execution_id, (record.agent_id, record.created_at))
        self._write(record, None)

    def get(self, execution_id: str) -> ExecutionRecord | None:
        return _record(self._tables, execution_id) if execution_id in self._tables.executions else None

    def of_start(self, agent_id: str, start_id: str) -> ExecutionRecord | None:
        return self.get(self._tables.starts.get((agent_id, start_id), ""))

    def of_request(self, request_id: str) -> ExecutionRecord | None:
        record = self.get(self._tables.requests.get(request_id, ""))
        return record if record is not None and record.request and record.request.id == request_id else None

    def save(self, record: ExecutionRecord, expected_revision: int, awaiting: Awaiting | None = None) -> bool:
        before = self.get(record.execution_id)
        if before is None or before.revision != expected_revision:
            return False
        if _identity(before) != _identity(record):
            raise IdConflict(f"execution {record.execution_id!r} can not change its agent, start id or creation time")
        self._write(record, awaiting)
        return True

    def rest(self, execution_id: str, awaiting: Awaiting | None) -> None:
        _known_execution(self._tables, execution_id)
        text, _ = self._tables.executions[execution_id]
        self._tables.put(self._tables.executions, execution_id, (text, awaiting))

    def find(self, prefix: str, limit: int = 20) -> Sequence[str]:
        return sorted(key for key in self._tables.executions if key.startswith(prefix))[:limit]

    def list(
        self, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[tuple[ExecutionRecord, Awaiting | None]]:
        page = self._page(agent_id, open_only, after, limit)
        return [(_record(self._tables, key), self._tables.executions[key][1]) for key in page]

    def survey(
        self, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[tuple[Surveyed, Awaiting | None]]:
        page = self._page(agent_id, open_only, after, limit)
        return [(_found(self._tables, key), self._tables.executions[key][1]) for key in page]

    def _page(self, agent_id: str | None, open_only: bool, after: str, limit: int) -> Sequence[str]:
        made = self._tables.made
        keys = (key for key in self._keys(agent_id, open_only) if agent_id is None or made[key][0] == agent_id)
        return self._ordered(keys, after)[:limit]

    def _ordered(self, keys: Iterable[str], after: str) -> Sequence[str]:
        """In order of creation, behind the execution `after`."""
        made = self._tables.made
        ages = sorted((made[key][1], key) for key in keys)
        if not after:
            return [key for _, key in ages]
        _known_execution(self._tables, after)
        behind = made[after][1], after
        return [age[1] for age in ages if age > behind]

    def _keys(self, agent_id: str | None, open_only: bool) -> Iterable[str]:
        """The executions to look at: of open ones there is one an agent."""
        tables = self._tables
        if not open_only:
            return tables.executions
        if agent_id is None:
            return tables.open_of.values()
        return (tables.open_of[agent_id],) if agent_id in tables.open_of else ()

    def adoptable(self, owner_id: str, now: float, limit: int = 100, after: str = "") -> Sequence[Surveyed]:
        found = {}
        for execution_id in self._tables.open_of.values():
            record, awaiting = _found(self._tables, execution_id), self._tables.executions[execution_id][1]
            due = due_at(record, awaiting) if isinstance(record, ExecutionRecord) else None
            if (awaiting is None or (due is not None and due <= now)) and self._free(record.agent_id, owner_id, now):
                found[execution_id] = record
        return [found[key] for key in self._ordered(found, after)[:limit]]

    def _free(self, agent_id: str, owner_id: str, now: float) -> bool:
        owner = decode(self._tables.agents[agent_id], AgentRoot).owner
        lease = None if owner is None else _Owners(self._tables).get(owner)
        return owner is None or (owner != owner_id and (lease is None or lease.expires_at <= now))

    def _write(self, record: ExecutionRecord, awaiting: Awaiting | None) -> None:
        tables = self._tables
        busy = tables.open_of.get(record.agent_id)
        if is_open(record):
            if busy not in (None, record.execution_id):
                root = decode(tables.agents[record.agent_id], AgentRoot)
                raise AgentBusy(busy, _record(tables, busy).status, root.owner)
            tables.put(tables.open_of, record.agent_id, record.execution_id)
        elif busy == record.execution_id:
            tables.drop(tables.open_of, (record.agent_id,))
        tables.put(tables.executions, record.execution_id, (encode(record), awaiting))
        if record.request is not None and record.request.id not in tables.requests:
            tables.put(tables.requests, record.request.id, record.execution_id)


class _Tools(_Repository):
    def put(self, rows: Sequence[ToolRow]) -> None:
        tables = self._tables
        for row in sorted(rows, key=lambda row: row.index):
            _known_execution(tables, row.execution_id)
            if row.tool_invocation_id not in tables.tools:
                before = tables.tools_of.get(row.execution_id, ())
                tables.put(tables.tools_of, row.execution_id, (*before, row.tool_invocation_id))
            elif _call(decode(tables.tools[row.tool_invocation_id], ToolRow)) != _call(row):
                raise IdConflict(f"tool invocation {row.tool_invocation_id!r} belongs to another model call")
            tables.put(tables.tools, row.tool_invocation_id, encode(row))

    def get(self, tool_invocation_id: str) -> ToolRow | None:
        text = self._tables.tools.get(tool_invocation_id)
        return None if text is None else decode(text, ToolRow)

    def of_execution(self, execution_id: str, llm_call_id: str | None = None) -> Sequence[ToolRow]:
        rows = [decode(self._tables.tools[key], ToolRow) for key in self._tables.tools_of.get(execution_id, ())]
        return [row for row in rows if llm_call_id in (None, row.llm_call_id)]


class _Decisions(_Repository):
    def put(self, receipts: Sequence[Receipt]) -> None:
        tables = self._tables
        for receipt in receipts:
            key = (receipt.request_id, receipt.decision.tool_call_id)
            if key not in tables.decisions:
                tables.put(tables.decisions, key, encode(receipt))
                before = tables.decisions_of.get(receipt.request_id, ())
                tables.put(tables.decisions_of, receipt.request_id, (*before, key))
            elif (stands := decode(tables.decisions[key], Receipt)) != receipt:
                raise AlreadyDecided(stands.decision.tool_call_id, stands.decision.verdict)

    def of_request(self, request_id: str) -> Sequence[Receipt]:
        keys = self._tables.decisions_of.get(request_id, ())
        receipts = [decode(self._tables.decisions[key], Receipt) for key in keys]
        return sorted(receipts, key=lambda receipt: receipt.decided_at)


class _Intents(_Repository):
    def put(self, intent: StopIntent) -> StopIntent:
        stands = self.get(intent.execution_id)
        if stands is None:
            self._tables.put(self._tables.intents, intent.execution_id, encode(intent))
        return stands or intent

    def get(self, execution_id: str) -> StopIntent | None:
        text = self._tables.intents.get(execution_id)
        return None if text is None else decode(text, StopIntent)


def _record(tables: Tables, execution_id: str) -> ExecutionRecord:
    return decode(tables.executions[execution_id][0], ExecutionRecord)


def _found(tables: Tables, execution_id: str) -> Surveyed:
    try:
        return _record(tables, execution_id)
    except CodecError as error:
        return Unreadable(execution_id, *tables.made[execution_id], str(error))


def _identity(record: ExecutionRecord) -> tuple[str, str, float]:
    return record.agent_id, record.start_id, record.created_at


def _call(row: ToolRow) -> tuple[str, str]:
    return row.execution_id, row.llm_call_id


def _known_agent(tables: Tables, agent_id: str) -> None:
    if agent_id not in tables.agents:
        raise no_agent(agent_id)


def _known_execution(tables: Tables, execution_id: str) -> None:
    if execution_id not in tables.executions:
        raise ExecutionNotFound(f"there is no execution {execution_id!r}; insert it before what belongs to it")
