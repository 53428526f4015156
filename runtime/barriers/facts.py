"""Facts as journal entries: the same entry for the same fact, whoever writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import ModelAnswer, ToolCall


def call_entry(execution_id: str, llm_call_id: str, status: str, now: float, **meta: Any) -> JournalEntry:
    """A model call: completed, failed, lost with its process, or unknown."""
    facts = {"llm_call_id": llm_call_id, "status": status, **meta}
    return JournalEntry(JournalKind.LLM_CALL_RECORDED, execution_id, now, None, facts)


def answer_entries(
    execution_id: str, llm_call_id: str, answer: ModelAnswer, now: float, shown: Sequence[str]
) -> list[JournalEntry]:
    """A recorded answer: the call with its usage, and the message. Raises UnicodeEncodeError.

    `shown` are the arguments of each call as people may see them: the record keeps those too where they are others.
    """
    usage = {"input": answer.usage.input, "output": answer.usage.output}
    calls = [_call(call, text) for call, text in zip(answer.calls, shown, strict=True)]
    meta = {"llm_call_id": llm_call_id, "calls": calls}
    return [
        call_entry(execution_id, llm_call_id, "completed", now, usage=usage, model=answer.model),
        JournalEntry(JournalKind.ASSISTANT_MESSAGE, execution_id, now, Content.of(answer.text), meta),
    ]


def counted(record: ExecutionRecord, answer: ModelAnswer) -> ExecutionRecord:
    """The record with what a recorded answer counts for."""
    return replace(
        record,
        iterations=record.iterations + 1,
        tool_calls=record.tool_calls + len(answer.calls),
        lost_calls=0,
        usage=record.usage + answer.usage,
    )


def _call(call: ToolCall, shown: str) -> dict[str, str]:
    said = {"id": call.id, "name": call.name, "arguments": call.arguments}
    return said if shown == call.arguments else {**said, "shown": shown}
