"""The rests of an execution: what awaiting one gives, as one union that `match` can exhaust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias

import attrs
from typing_extensions import TypeVar

from pawl.runtime.records.approvals import ApprovalRequest
from pawl.runtime.records.errors import InvalidOutput
from pawl.runtime.records.messages import Usage
from pawl.runtime.records.tools import ErrorInfo, ToolRow

T = TypeVar("T", default=str)
T_co = TypeVar("T_co", covariant=True, default=str)


@attrs.frozen(kw_only=True)
class _Ended:
    execution_id: str
    agent_id: str
    revision: int
    usage: Usage


@attrs.frozen(kw_only=True)
class Completed(_Ended, Generic[T_co]):
    """The run came to its end; `output` is the last answer's text, `value` what it means to the agent's output type."""

    output: str
    _read: Callable[[str], Any] | None = attrs.field(default=None, alias="read", eq=False, repr=False)

    @property
    def value(self) -> T_co:
        """The answer as a value of `Agent(output_type=…)`, made anew from `output` each time; the text without one.

        Raises InvalidOutput when the type has changed since, and does not take what is on record.
        """
        if self._read is None:
            raise InvalidOutput(
                f"execution {self.execution_id}: this runtime has no code of its agent, and so no output type; "
                "read `output`"
            )
        value: T_co = self._read(self.output)
        return value


@attrs.frozen(kw_only=True)
class Rejected(_Ended):
    """A person or a policy said no, and the agent ends on that. `output` is what it had said so far; empty where the
    agent has output filters, which never saw it.
    """

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
        arguments=row.shown_raw,
        idempotency_key=row.idempotency_key,
        attempt=row.attempt,
    )


@attrs.frozen(kw_only=True)
class NeedsResolution(_Ended):
    """At rest until `resolve` says what became of each of `unresolved`."""

    unresolved: tuple[Unresolved, ...]


Outcome: TypeAlias = Completed[T] | Rejected | Failed | Cancelled | Blocked
"""The end of a run."""

Rest: TypeAlias = Completed[T] | Rejected | Failed | Cancelled | Blocked | Suspended | NeedsResolution
"""Where nothing moves by itself."""
