"""Approval requests, decisions and receipts: data that any process may show and answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs


class Verdict(StrEnum):
    """How one item was decided."""

    APPROVED = "approved"
    REJECTED = "rejected"


@attrs.frozen
class ApprovalItem:
    """One tool call that waits for a human. `digest` binds the decision to these arguments."""

    tool_call_id: str
    tool_invocation_id: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    reason: str = ""


@attrs.frozen
class ApprovalRequest:
    """All calls of one model answer that wait for a decision."""

    id: str
    execution_id: str
    agent_id: str
    items: tuple[ApprovalItem, ...]
    created_at: float
    expires_at: float | None = None


@attrs.frozen
class Decision:
    """What somebody decided about one item; `edit` replaces its arguments (validated before the commit)."""

    tool_call_id: str
    verdict: Verdict
    message: str = ""
    edit: dict[str, Any] | None = None


@attrs.frozen
class Receipt:
    """Proof of a committed decision; asking again with the same decision gives the same receipt."""

    id: str
    request_id: str
    decision: Decision
    decided_at: float
    execution_id: str = ""
