"""What the events of the machines carry: values only, each with the ids that its authority is checked by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import attrs

from pawl.generated import stop as spec
from pawl.runtime.agent.assembly import PLAIN, Assembly
from pawl.runtime.agent.ledger import Ledger
from pawl.runtime.fsm.step import advance
from pawl.runtime.fsm.table import Taken
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.approvals import Decision
from pawl.runtime.records.executions import ExecutionRecord, StopIntent
from pawl.runtime.records.messages import Message, ModelAnswer
from pawl.runtime.records.tools import ErrorInfo, StoredTool, ToolOutcome, ToolRow

StopReason = spec.Event
"""Why a run is asked to stop."""


@attrs.frozen
class Stop:
    """Why a run is asked to stop."""

    reason: StopReason
    error: ErrorInfo | None = None


def outweighs(asked: Stop, standing: Stop | None) -> bool:
    """Whether a reason takes the place of the one that stands: the table of the machine `stop`."""
    before = spec.State(standing.reason) if standing is not None else spec.State.UNASKED
    return advance(spec.MACHINE, before, None, asked.reason).taken is Taken.MOVED


TIME_IS_UP: Final = Stop(
    StopReason.DEADLINE,
    ErrorInfo("DeadlineExceeded", "the run took longer than it was given (its timeout, or the agent's run_timeout)"),
)
"""What a deadline says when it has passed."""


@attrs.frozen
class FilteredText:
    """A filter's answer: the text that goes on, or why it was blocked. `work` names what it is the answer to, here and
    below; None where nothing was asked.
    """

    text: str
    blocked: str | None = None
    work: str | None = None


@attrs.frozen
class InvalidOutput:
    """The model's answer is not of the output type; `reason` is what the model is told."""

    reason: str
    work: str | None = None


@attrs.frozen
class WorkFailed:
    """Work off the loop raised."""

    error: ErrorInfo
    work: str | None = None


@attrs.frozen
class LoadedContext:
    """The transcript as the store has it; None where the live one is current. With an `assembly`, what application code
    made of the request: `messages` has what was unsaid as well, and `ledger` counts the units of it.
    """

    messages: Sequence[Message] | None = None
    assembly: Assembly | None = None
    ledger: Ledger | None = None
    work: str | None = None


@attrs.frozen
class LlmCompleted:
    """A model's answer to the call `llm_call_id`, dispatched at `revision`."""

    llm_call_id: str
    revision: int
    answer: ModelAnswer


@attrs.frozen
class LlmFailed:
    """The call failed; `retry_safe` when the provider says that nothing was done, and `retry_after` in how many
    seconds it may be asked again. `chance`, in [0, 1), was drawn when this was made: the wait's jitter comes of it.
    """

    llm_call_id: str
    revision: int
    error: ErrorInfo
    retry_safe: bool = False
    retry_after: float | None = None
    chance: float = 0.0


@attrs.frozen
class LlmChunk:
    """A piece of an answer that is being streamed."""

    llm_call_id: str
    revision: int
    text: str


@attrs.frozen
class ProbeAnswer:
    """What a tool's probe said of a call that may have run; `result` only when it was found."""

    tool_invocation_id: str
    result: str | None = None


@attrs.frozen
class ChildNews:
    """A child's row as it stands, and the text that a model would get for it."""

    tool_invocation_id: str
    row: ToolRow
    text: str = ""


@attrs.frozen
class Decided:
    """Decisions about the pending request, from whoever may decide; `revision` is that which they were made on."""

    request_id: str
    revision: int
    decisions: tuple[Decision, ...]


@attrs.frozen
class Resolved:
    """An application's answer about an unknown effect. `subject` is a tool call id, or "model"."""

    subject: str
    revision: int
    outcome: Literal["succeeded", "failed", "not_performed"]
    result: str | None = None
    answer: ModelAnswer | None = None
    error: ErrorInfo | None = None


@attrs.frozen
class Recovered:
    """All that is on record of one execution: what a later process starts from.

    `position` and `answers` are the agent's, `input` and `output` are bodies, `context` is decoded JSON, `messages`
    the transcript that a model would see. `assembly` is what the manifest of a lost model call names. `authority` is
    what a claim just gave.
    """

    record: ExecutionRecord | None
    position: int = 0
    answers: int = 0
    input: str = ""
    output: str | None = None
    context: dict[str, Any] = attrs.Factory(dict)
    messages: tuple[Message, ...] = ()
    assembly: Assembly = PLAIN
    tools: tuple[StoredTool, ...] = ()
    intent: StopIntent | None = None
    authority: Authority | None = None


@attrs.frozen
class Authorized:
    """A policy's answer for one call."""

    tool_invocation_id: str
    decision: Literal["allow", "ask", "reject", "failed", "cancelled"]
    reason: str = ""


@attrs.frozen
class Approval:
    """A person's decision, applied to one call; arguments that it edited are in the call's row already."""

    message: str = ""


@attrs.frozen
class Dispatch:
    """The batch's barrier has committed: run, as attempt number `attempt`."""

    attempt: int


@attrs.frozen
class SlotGranted:
    """A tool with limits has a slot for this attempt of the call."""

    tool_invocation_id: str
    attempt: int


@attrs.frozen
class ToolEnded:
    """A tool body has physically ended."""

    tool_invocation_id: str
    attempt: int
    outcome: ToolOutcome
