"""`dump`: an execution with all that belongs to it as JSON Lines, for a bug report, or to be loaded into another store.

The first line is a header, the last one counts the others. Every other line is an object with one key that says what it
is. Bodies come before what refers to them, an execution before what belongs to it. Records are what the strict codec
writes. With the conversation, earlier executions come first, the one that was asked for last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from pawl.runtime.barriers.claim import existing
from pawl.runtime.barriers.edits import bound
from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.approvals import ApprovalRequest, Decision
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import InvalidArguments, StoreCorrupt
from pawl.runtime.records.executions import ExecutionRecord, StoredAnswer
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalKind
from pawl.runtime.records.messages import Message, ToolCall
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.strict_json import decode_json
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Store, Transaction
from pawl.runtime.store.upkeep import Stored
from pawl.runtime.upkeep.redact import Declared, Placeholders, Redaction, redacted_error, redacted_meta

VERSION: Final = 1
"""Of the format. Whatever a reader of this version would take wrongly is a new one."""

_PAGE: Final = 500


def dump(
    store: Store, execution_id: str, *, redact: bool = True, conversation: bool = False, key: bytes | None = None
) -> Iterator[str]:
    """The lines, without their ends, of one snapshot of an open store.

    `redact`: texts, arguments, and the ids of the agent and the start become placeholders (see `upkeep.redact`), keyed
    with `key`, random bytes by default. Without it only what tools declare secret is left out. The agent is written as
    owned by nobody. `conversation`: with the earlier executions since the last reset, so that a loaded run goes on with
    all that its model has seen; otherwise what was said in them is not in it.

    Raises ExecutionNotFound; StoreCorrupt for what cannot be read, `pawl fsck` says where.
    """
    return iter(store.read(lambda tx: _lines(tx, execution_id, redact, conversation, key or os.urandom(16))))


def _lines(tx: Transaction, execution_id: str, redact: bool, conversation: bool, key: bytes) -> list[str]:
    try:
        return _Dump(tx, _runs(tx, existing(tx, execution_id), conversation), redact, key).lines()
    except (LookupError, AssertionError) as error:  # a row refers to one that is not there
        raise StoreCorrupt(f"execution {execution_id} is not whole; `pawl fsck` says what is missing") from error


def answers(root: AgentRoot, records: Sequence[ExecutionRecord]) -> int:
    """How many answers of ended executions an agent counts that has these, one behind the other, and no later one."""
    if records[0].first_position > 1:
        return root.answers
    return sum(record.iterations for record in records if record.status in TERMINAL)


@attrs.frozen
class _Run:
    """One execution, with its journal and its tool rows."""

    record: ExecutionRecord
    journal: Sequence[Stored]
    rows: Sequence[ToolRow]


def _runs(tx: Transaction, record: ExecutionRecord, conversation: bool) -> list[_Run]:
    """The execution that is dumped, behind those that it may see messages of where they are wanted."""
    root = tx.agents.get(record.agent_id)
    assert root is not None
    runs: list[_Run] = []
    # Where the agent was reset behind it, nobody knows any more from where on it saw.
    place = root.since if root.since < record.first_position else 0
    while conversation and (page := tx.upkeep.journal(record.agent_id, place, 1)):
        earlier = existing(tx, page[0].columns["execution_id"])
        if earlier.execution_id == record.execution_id:
            break
        runs.append(_run(tx, earlier))
        place = runs[-1].journal[-1].place
    return [*runs, _run(tx, record)]


def _run(tx: Transaction, record: ExecutionRecord) -> _Run:
    return _Run(record, list(_journal(tx, record)), tx.tools.of_execution(record.execution_id))


class _Dump:
    """What is written, line by line."""

    def __init__(self, tx: Transaction, runs: Sequence[_Run], redact: bool, key: bytes) -> None:
        self._tx, self._runs, self._redact = tx, runs, redact
        self._lines: list[str] = []
        self._written: dict[tuple[str, str], str] = {}
        self._redaction: Redaction = Placeholders(key, _parameters(runs)) if redact else Declared(_shown(runs))

    def lines(self) -> list[str]:
        record = self._runs[-1].record
        self._line("pawl_dump", VERSION, execution_id=record.execution_id, redacted=self._redact,
                   machine=record.machine, spec_hash=record.spec_hash)  # fmt: skip
        root = self._tx.agents.get(record.agent_id)
        assert root is not None
        self._line("agent", _plain(self._root(root)))
        for run in self._runs:
            self._one(run)
        self._line("end", len(self._lines))
        return self._lines

    def _one(self, run: _Run) -> None:
        record = run.record
        rows = {row.tool_invocation_id: (row, self._row(row)) for row in run.rows}
        executed = self._execution(record, rows)
        journal = [self._entry(stored) for stored in run.journal]
        self._line("execution", _plain(executed), awaiting=self._awaiting(record))
        self._lines += journal
        for _, row in rows.values():
            self._line("tool", _plain(row))
        self._approvals(run)
        intent = self._tx.intents.get(record.execution_id)
        if intent is not None:
            self._line("intent", _plain(intent))

    def _line(self, what: str, value: Any, **more: Any) -> None:
        self._lines.append(canonical({what: value, **more}))

    # --- bodies ---

    def _body(self, digest: str | None, role: str = "text") -> str | None:
        """The digest of a body as it is dumped in a role; the body is written when it is met first."""
        if digest is None:
            return None
        known = self._written.get((digest, role))
        if known is not None:
            return known
        body = self._stored(digest)
        content = Content.of(self._redacted(body, role))
        if content.digest not in self._written.values():
            self._line("content", content.digest, body=content.body)
        self._written[digest, role] = content.digest
        return content.digest

    def _stored(self, digest: str) -> str:
        try:
            return self._tx.contents.get(digest)
        except InvalidArguments as error:
            raise StoreCorrupt(f"a body is missing or damaged ({error}); restore a backup") from error

    def _redacted(self, body: str, role: str) -> str:
        if role == "context":
            return self._redaction.context(body)
        if role == "message":
            message = decode(body, Message)
            calls = tuple(self._call(call) for call in message.calls)
            return encode(attrs.evolve(message, text=self._redaction.text(message.text), calls=calls))
        return body if role == "frame" else self._redaction.text(body)

    def _call(self, call: ToolCall) -> ToolCall:
        return attrs.evolve(call, arguments=self._redaction.raw(call.arguments))

    def _extra(self, extra: Sequence[str]) -> tuple[str, ...]:
        if not extra:
            return ()
        frame = decode_json(self._stored(extra[0]), "request frame")
        messages = {*frame["before"], *frame["after"]}
        roles = ["frame", *("message" if place in messages else "text" for place in range(1, len(extra)))]
        return tuple(str(self._body(digest, role)) for digest, role in zip(extra, roles, strict=True))

    # --- records ---

    def _root(self, root: AgentRoot) -> AgentRoot:
        journal = self._runs[-1].journal
        last = journal[-1].place if journal else 0
        name = self._redaction.name("agent", root.agent_id)
        counted = answers(root, [run.record for run in self._runs])
        return replace(root, agent_id=name, owner=None, since=min(root.since, last), answers=counted)

    def _awaiting(self, record: ExecutionRecord) -> str | None:
        for found, awaiting in self._tx.executions.list(record.agent_id, open_only=True, limit=1):
            if found.execution_id == record.execution_id:
                return awaiting
        return None

    def _execution(self, record: ExecutionRecord, rows: dict[str, tuple[ToolRow, ToolRow]]) -> ExecutionRecord:
        manifest = record.manifest
        return replace(
            record,
            agent_id=self._redaction.name("agent", record.agent_id),
            start_id=self._redaction.name("start", record.start_id),
            input=self._body(record.input),
            context=self._body(record.context, "context"),
            result=self._body(record.result),
            manifest=attrs.evolve(manifest, extra=self._extra(manifest.extra)) if manifest is not None else None,
            answer=self._answer(record.answer),
            request=self._request(record.request, rows),
            decisions=tuple(self._decision(decision) for decision in record.decisions),
            error=redacted_error(self._redaction, record.error),
        )

    def _answer(self, answer: StoredAnswer | None) -> StoredAnswer | None:
        if answer is None:
            return None
        calls = tuple(self._call(call) for call in answer.calls)
        error = redacted_error(self._redaction, answer.error)
        return attrs.evolve(answer, text=self._redaction.text(answer.text), calls=calls, error=error)

    def _request(
        self, request: ApprovalRequest | None, rows: dict[str, tuple[ToolRow, ToolRow]]
    ) -> ApprovalRequest | None:
        if request is None:
            return None
        items = []
        for item in request.items:
            before, after = rows[item.tool_invocation_id]
            asked = bound(after) if bound(before) == item.digest else item.digest
            if asked == item.digest and (self._redact or before.redacted):
                # Of arguments that were edited since, a digest is known, and that could be found by trying.
                asked = Content.of(Placeholders(os.urandom(16)).text(item.digest)).digest
            items.append(
                attrs.evolve(
                    item,
                    arguments=self._redaction.arguments(item.arguments),
                    reason=self._redaction.text(item.reason),
                    digest=asked,
                )
            )
        agent_id = self._redaction.name("agent", request.agent_id)
        return attrs.evolve(request, agent_id=agent_id, items=tuple(items))

    def _decision(self, decision: Decision) -> Decision:
        edit = None if decision.edit is None else self._redaction.arguments(decision.edit)
        return attrs.evolve(decision, message=self._redaction.text(decision.message), edit=edit)

    def _row(self, row: ToolRow) -> ToolRow:
        return replace(
            self._redaction.row(row),
            output=self._body(row.output),
            error=redacted_error(self._redaction, row.error),
            message=self._redaction.text(row.message),
        )

    # --- what belongs to it ---

    def _entry(self, stored: Stored) -> str:
        columns = stored.columns
        entry = {
            "kind": columns["kind"],
            "at": columns["at"],
            "content": self._body(columns["digest"]),
            "meta": redacted_meta(self._redaction, _meta(stored)),
        }
        return canonical({"journal": stored.place, **entry})

    def _approvals(self, run: _Run) -> None:
        for stored in run.journal:
            if stored.columns["kind"] == JournalKind.APPROVAL_REQUIRED:
                request = _meta(stored)["request_id"]
                self._line("request", request)
                for receipt in self._tx.decisions.of_request(request):
                    self._line("receipt", _plain(attrs.evolve(receipt, decision=self._decision(receipt.decision))))


def _journal(tx: Transaction, record: ExecutionRecord) -> Iterator[Stored]:
    place, met = record.first_position - 1, False
    while page := tx.upkeep.journal(record.agent_id, place, _PAGE):
        for stored in page:
            mine = stored.columns["execution_id"] == record.execution_id
            if met and not mine:
                return
            if mine:
                met = True
                yield stored
        place = page[-1].place


def _meta(stored: Stored) -> dict[str, Any]:
    meta: dict[str, Any] = decode_json(stored.body.decode(), f"journal[{stored.place}].meta") if stored.body else {}
    return meta


def _parameters(runs: Sequence[_Run]) -> set[str]:
    """Names of parameters, as far as tools have taken arguments."""
    return {name for run in runs for row in run.rows for name in row.arguments or ()}


def _shown(runs: Sequence[_Run]) -> dict[str, str]:
    """Arguments as a model wrote them, and as they may be shown; a row knows best."""
    shown: dict[str, str] = {}
    for stored in (stored for run in runs for stored in run.journal):
        if stored.columns["kind"] == JournalKind.ASSISTANT_MESSAGE:
            shown |= {call["arguments"]: call["shown"] for call in _meta(stored)["calls"] if "shown" in call}
    return shown | {row.raw_arguments: row.shown_raw for run in runs for row in run.rows if row.redacted}


def _plain(value: Any) -> Any:
    return decode_json(encode(value))
