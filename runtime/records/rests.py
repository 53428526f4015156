"""The rests of an execution: what awaiting one gives, as one union that `match` can exhaust."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from pawl.runtime.records.approvals import ApprovalRequest
from pawl.runtime.records.messages import Usage
from pawl.runtime.records.tools import ErrorInfo, ToolRow


@attrs.frozen(kw_only=True)
class _Ended:
    execution_id: str
    agent_id: str
    revision: int
    usage: Usage


@attrs.frozen(kw_only=True)
class Completed(_Ended):
    """The run came to its end; `output` is the last answer's text."""

    output: str


@attrs.frozen(kw_only=True)
class Rejected(_Ended):
    """A person or a policy said no, and the agent ends on that; `output` is what it had said so far."""

    output: str
    reason: str


@attrs.frozen(kw_only=True)
class Failed(_Ended):
    """The run failed; `error` says with what."""

    error: ErrorInfo


@attrs.frozen(kw_only=True)
class Cancelled(_Ended):
    """The run was stopped because somebody asked."""


@attrs.frozen(kw_only=True)
class Blocked(_Ended):
    """A filter blocked the input or the output; `error` says why."""

    error: ErrorInfo


@attrs.frozen(kw_only=True)
class Suspended(_Ended):
    """At rest until the items of `request` are decided. No process holds anything for it."""

    request: ApprovalRequest
    undecided: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Unresolved:
    """One effect whose outcome nobody knows. `subject` is a tool call id, or "model"."""

    subject: str
    tool: str | None = None
    arguments: str = ""
    idempotency_key: str | None = None
    attempt: int = 0


def unresolved_tool(row: ToolRow) -> Unresolved:
    """A call that was started and has no outcome, as its row says it."""
    return Unresolved(
        subject=row.tool_call_id,
        tool=row.tool,
        arguments=row.raw_arguments,
        idempotency_key=row.idempotency_key,
        attempt=row.attempt,
    )


@attrs.frozen(kw_only=True)
class NeedsResolution(_Ended):
    """At rest until `resolve` says what became of each of `unresolved`."""

    unresolved: tuple[Unresolved, ...]


Outcome: TypeAlias = Completed | Rejected | Failed | Cancelled | Blocked
"""The end of a run."""

Rest: TypeAlias = Completed | Rejected | Failed | Cancelled | Blocked | Suspended | NeedsResolution
"""Where nothing moves by itself."""
