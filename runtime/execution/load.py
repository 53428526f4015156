"""Reading an execution back: all that a later process starts from, and the transcript that a model sees."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pawl.runtime.agent.payloads import Recovered
from pawl.runtime.barriers.claim import existing
from pawl.runtime.execution.output import ended
from pawl.runtime.records.events import Event, durable_events
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.messages import Message, ToolCall
from pawl.runtime.records.tools import StoredTool
from pawl.runtime.store.port import Operation, Transaction


def transcript(agent_id: str, execution_id: str) -> Operation[tuple[Message, ...]]:
    """The messages that a run sees: of earlier runs that ended well, and its own."""

    def read(tx: Transaction) -> tuple[Message, ...]:
        return messages(tx.journal.transcript(agent_id, execution_id))

    return read


def messages(records: Sequence[JournalRecord]) -> tuple[Message, ...]:
    """Journal records as messages, in order."""
    said: list[Message] = []
    for record in records:
        text = record.body or ""
        match record.kind:
            case JournalKind.EXTERNAL_MESSAGE:
                said.append(Message("user", text))
            case JournalKind.ASSISTANT_MESSAGE:
                calls = tuple(ToolCall(**call) for call in record.meta.get("calls", ()))
                said.append(Message("assistant", text, calls))
            case JournalKind.TOOL_MESSAGE:
                said.append(Message("tool", text, tool_call_id=record.meta["tool_call_id"]))
    return tuple(said)


def history(execution_id: str, after: int = 0, limit: int = 1000) -> Operation[tuple[Event, ...]]:
    """The durable events of one execution, from journal records behind position `after`. Raises ExecutionNotFound."""

    def read(tx: Transaction) -> tuple[Event, ...]:
        agent_id = existing(tx, execution_id).agent_id
        events: list[Event] = []
        place = after
        while records := tx.journal.read(agent_id, place, limit):
            place = records[-1].position
            for record in records:
                if record.execution_id == execution_id:
                    said = (record.kind, agent_id, execution_id, record.position, record.body, record.meta)
                    events += durable_events(*said)
        return tuple(events)

    return read


def recovered(execution_id: str) -> Operation[Recovered]:
    """One execution, whole. Raises ExecutionNotFound."""

    def read(tx: Transaction) -> Recovered:
        record = existing(tx, execution_id)
        root = tx.agents.get(record.agent_id)
        assert root is not None
        rows = tx.tools.of_execution(execution_id, record.batch_call_id) if record.batch_call_id is not None else ()
        tools = tuple(StoredTool(row, tx.contents.get(row.output) if row.output is not None else None) for row in rows)
        return Recovered(
            record=record,
            position=tx.journal.position(record.agent_id),
            answers=root.answers,
            input=tx.contents.get(record.input),
            output=tx.contents.get(record.result) if record.result is not None else None,
            context=json.loads(tx.contents.get(record.context)) if record.context is not None else {},
            messages=() if ended(record) else messages(tx.journal.transcript(record.agent_id, execution_id)),
            tools=tools,
            intent=tx.intents.get(execution_id),
        )

    return read
