"""The journal: one agent's append-only record of what happened, in contiguous positions from 1."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs

from pawl.runtime.records.canonical import digest


class JournalKind(StrEnum):
    """What a journal record says."""

    INPUT_RECEIVED = "input_received"
    EXTERNAL_MESSAGE = "external_message"
    LLM_CALL_RECORDED = "llm_call_recorded"
    ASSISTANT_MESSAGE = "assistant_message"
    CORRECTION = "correction"
    TOOL_RESULT = "tool_result"
    TOOL_MESSAGE = "tool_message"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DECIDED = "approval_decided"
    RECOVERY_RESOLVED = "recovery_resolved"
    FINAL_OUTPUT = "final_output"
    EXECUTION_COMPLETED = "execution_completed"
    EXECUTION_REJECTED = "execution_rejected"
    EXECUTION_FAILED = "execution_failed"
    EXECUTION_CANCELLED = "execution_cancelled"
    EXECUTION_BLOCKED = "execution_blocked"


MESSAGE_KINDS = (
    JournalKind.EXTERNAL_MESSAGE,
    JournalKind.ASSISTANT_MESSAGE,
    JournalKind.CORRECTION,
    JournalKind.TOOL_MESSAGE,
)
"""The kinds that are messages of the transcript."""


def _without_calls(meta: dict[str, Any]) -> str:
    """Arguments of calls are not for logs: they may be redacted elsewhere."""
    return repr({name: value for name, value in meta.items() if name != "calls"})


@attrs.frozen
class Content:
    """A body, stored once under its digest."""

    digest: str
    body: str

    @classmethod
    def of(cls, body: str) -> Content:
        """Name `body`. Raises UnicodeEncodeError for lone surrogates."""
        return cls(digest(body), body)


@attrs.frozen
class JournalEntry:
    """A record to be appended: `meta` is small JSON; a body is in `content`."""

    kind: JournalKind
    execution_id: str
    at: float
    content: Content | None = None
    meta: dict[str, Any] = attrs.field(factory=dict, repr=_without_calls)


@attrs.frozen
class JournalRecord:
    """A record as read: its position, and its body where it has one."""

    position: int
    kind: JournalKind
    execution_id: str
    at: float
    body: str | None
    meta: dict[str, Any] = attrs.field(repr=_without_calls)
