"""What comes too late, told by what it is about and not by the tables: session, call, work, attempt, commit."""

from __future__ import annotations

from pawl.runtime.agent.payloads import (
    FilteredText,
    InvalidOutput,
    LlmChunk,
    LlmCompleted,
    LlmFailed,
    LoadedContext,
    ToolEnded,
    WorkFailed,
)
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.execution.heart import Live, Message


def is_late(message: Message, live: Live | None) -> bool:
    """Whether what a message is about is over for whoever it comes to."""
    if live is None or message.session != live.session:
        return True
    child = live.children.get(message.child) if message.child is not None else None
    if message.child is not None and child is None:
        return True
    match message.payload:
        case LlmCompleted(llm_call_id) | LlmFailed(llm_call_id) | LlmChunk(llm_call_id):
            return llm_call_id != live.invocation.record.llm_call_id
        case FilteredText() | InvalidOutput() | LoadedContext() | WorkFailed() as made:
            return made.work != live.invocation.preparing
        case ToolEnded(attempt=attempt) if child is not None:
            return attempt != child.invocation.row.attempt
        case BarrierAnswer(token, reading):
            barrier = (child or live).invocation.barrier
            return barrier is None or (barrier.command.token, barrier.reading) != (token, reading)
    return False
