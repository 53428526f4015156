"""One tool call, durably: what was asked, under which key, and what became of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import attrs

from pawl.runtime.records.redaction import hidden, hidden_text

RecoveryPolicy = Literal["ask", "replay", "probe"]

REPLAYS = 3
"""Attempts of one `replay` call before its outcome is asked about instead."""


class ToolStatus(StrEnum):
    """Where a tool call stands. `new`: not written yet; `pending`: dispatched, no outcome recorded."""

    NEW = "new"
    AWAITING_APPROVAL = "awaiting_approval"
    AUTHORIZED = "authorized"
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@attrs.frozen
class ErrorInfo:
    """An error as data: class name and message, in the words that a caller or a model gets."""

    type: str
    message: str


@attrs.frozen
class ToolOutcome:
    """What a tool body did. Exactly one of `result` and `error`, or `cancelled` when it ended by request.

    `duration` is in seconds, from the moment it was let go, so with the wait for a worker, to its physical end.
    """

    result: str | None = None
    error: ErrorInfo | None = None
    cancelled: bool = False
    duration: float = 0.0


@attrs.frozen(slots=False)
class ToolRow:
    """The durable row of one tool call. `attempt` counts dispatches; `token` is that of its last outcome commit.

    `arguments` are the validated, canonical ones, `raw_arguments` what the model wrote. `message` is what a
    rejection said. `output` is the digest of the result text. `redacted` are the places (JSON pointers) in both that
    people are not shown; the row itself has the real values, because it is what the body is called with.
    """

    tool_invocation_id: str
    execution_id: str
    llm_call_id: str
    tool_call_id: str
    index: int
    tool: str
    raw_arguments: str = attrs.field(repr=False)
    arguments: dict[str, Any] | None = attrs.field(repr=False)
    policy: RecoveryPolicy
    idempotency_key: str
    status: ToolStatus
    attempt: int = 0
    token: str | None = None
    output: str | None = None
    error: ErrorInfo | None = None
    message: str = ""
    duration: float = 0.0
    redacted: tuple[str, ...] = ()

    @property
    def shown(self) -> dict[str, Any]:
        """The arguments as people may see them."""
        return hidden(self.arguments or {}, self.redacted)

    @property
    def shown_raw(self) -> str:
        """What the model wrote, as people may see it."""
        return hidden_text(self.raw_arguments, self.redacted)

    @property
    def repeatable(self) -> bool:
        """Whether a call whose outcome was lost may be run again without asking, as far as the row says."""
        return self.policy == "replay" and self.attempt < REPLAYS


@attrs.frozen
class StoredTool:
    """A row as read for recovery: with the body of its result, where it has one."""

    row: ToolRow
    body: str | None = None
