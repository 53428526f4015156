"""Reading an execution back: all that a later process starts from, and the transcript that a model sees."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pawl.runtime.agent.assembly import PLAIN, Assembly, restored
from pawl.runtime.agent.payloads import Recovered
from pawl.runtime.barriers.claim import existing
from pawl.runtime.execution.output import ended
from pawl.runtime.records.errors import StoreCorrupt
from pawl.runtime.records.evolution import goes_on
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.messages import Message, Role, ToolCall
from pawl.runtime.records.tools import StoredTool
from pawl.runtime.store.port import Operation, Transaction


def transcript(agent_id: str, execution_id: str) -> Operation[tuple[Message, ...]]:
    """The messages that a run sees: of earlier runs that ended well, and its own."""

    said = conversation(agent_id, execution_id)
    return lambda tx: messages(said(tx))


def conversation(agent_id: str, execution_id: str) -> Operation[Sequence[JournalRecord]]:
    """The same as records, behind the last reset of the agent."""

    def read(tx: Transaction) -> Sequence[JournalRecord]:
        root = tx.agents.get(agent_id)
        return tx.journal.transcript(agent_id, execution_id, root.since if root is not None else 0)

    return read


def messages(records: Sequence[JournalRecord]) -> tuple[Message, ...]:
    """Journal records as messages, in order."""
    said: list[Message] = []
    for record in records:
        role, text = _ROLES.get(record.kind), record.body or ""
        if role == "user":
            said.append(Message("user", text))
        elif role == "assistant":
            calls = [ToolCall(call["id"], call["name"], call["arguments"]) for call in record.meta.get("calls", ())]
            said.append(Message("assistant", text, tuple(calls)))
        elif role == "tool":
            said.append(Message("tool", text, (), record.meta["tool_call_id"]))
    return tuple(said)


_ROLES: Final[dict[JournalKind, Role]] = {
    JournalKind.EXTERNAL_MESSAGE: "user",
    JournalKind.CORRECTION: "user",
    JournalKind.ASSISTANT_MESSAGE: "assistant",
    JournalKind.TOOL_MESSAGE: "tool",
}


def journal(tx: Transaction, record: ExecutionRecord, after: int = 0, page: int = 1000) -> Iterator[JournalRecord]:
    """The journal records of one execution behind position `after`, in order.

    They are one stretch of their agent's journal, since it has one open execution at a time: what comes before it or
    follows is not read.
    """
    place, met = max(after, record.first_position - 1), False
    while entries := tx.journal.read(record.agent_id, place, page):
        place = entries[-1].position
        for entry in entries:
            if entry.execution_id == record.execution_id:
                met = True
                yield entry
            elif met:
                return


def _context(tx: Transaction, record: ExecutionRecord) -> dict[str, Any]:
    """The durable context. Raises StoreCorrupt for what no start has written."""
    if record.context is None:
        return {}
    try:
        kept = json.loads(tx.contents.get(record.context))
    except ValueError:
        kept = None
    if not isinstance(kept, dict):
        raise StoreCorrupt(
            f"the durable context of execution {record.execution_id} is no JSON object; restore a backup"
        )
    return kept


def _assembly(tx: Transaction, record: ExecutionRecord, said: Sequence[JournalRecord]) -> Assembly:
    """What the request of a model call was made of that was let go and has no answer."""
    manifest = record.manifest
    if record.llm_call_id is None or manifest is None or not (manifest.excluded or manifest.extra):
        return PLAIN
    return restored(manifest, [one.position for one in said], tx.contents.get)


def recovered(execution_id: str) -> Operation[Recovered]:
    """One execution, whole. Raises ExecutionNotFound."""

    def read(tx: Transaction) -> Recovered:
        record = existing(tx, execution_id)
        root = tx.agents.get(record.agent_id)
        assert root is not None
        rows = tx.tools.of_execution(execution_id, record.batch_call_id) if record.batch_call_id is not None else ()
        said = () if ended(record) else tx.journal.transcript(record.agent_id, execution_id, root.since)
        tools = tuple(StoredTool(row, tx.contents.get(row.output) if row.output is not None else None) for row in rows)
        return Recovered(
            record=record,
            position=tx.journal.position(record.agent_id),
            answers=root.answers,
            input=tx.contents.get(record.input),
            output=tx.contents.get(record.result) if record.result is not None else None,
            context=_context(tx, record),
            messages=messages(said),
            assembly=_assembly(tx, record, said),
            tools=tools,
            intent=tx.intents.get(execution_id),
        )

    return read


def check_spec(found: Recovered, before: ExecutionRecord) -> None:
    """Another version may have gone on with it since `before` was read: then that one keeps it. Raises SpecMismatch."""
    if found.record is not None and found.record.spec_hash != before.spec_hash:
        goes_on(found.record)
