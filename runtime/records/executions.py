"""The durable record of one execution: replaced by each barrier, one revision at a time."""

from __future__ import annotations

from typing import Literal

import attrs

from pawl.runtime.records.approvals import ApprovalRequest, Decision
from pawl.runtime.records.messages import ToolCall, Usage
from pawl.runtime.records.tools import ErrorInfo

Awaiting = Literal["approval", "resolution"]
"""What an execution at rest waits for; None while it moves or has ended."""


@attrs.frozen
class Manifest:
    """What a model request was made of: the journal up to `position` without the `excluded` ranges, and `extra`."""

    position: int
    excluded: tuple[tuple[int, int], ...] = ()
    extra: tuple[str, ...] = ()


@attrs.frozen
class StoredAnswer:
    """A model answer on record that no batch has consumed yet (a resolution put it there)."""

    llm_call_id: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    error: ErrorInfo | None = None


@attrs.frozen(slots=False)
class ExecutionRecord:
    """One execution as it stands on disk.

    `start_id` is the caller's idempotency id, `token` the commit token of the last barrier. `input`, `context` (the
    durable context, None when the caller gave none) and `result` are content digests. `llm_call_id` is the model call
    that was let go and has no recorded answer; `run_model`: a resolution said that it was never performed. `batch`
    lists the tool invocations of the model answer `batch_call_id`, in call order. `on_rejection` is the definition's
    at admission, so that a decision can be committed where the definition is not known. `iterations` counts recorded
    model answers, `model_calls` the calls that were let go, `tool_calls` those that answers asked for. `first_position`
    is where the run begins in its agent's journal. `deadline` is when the run has had its time; while it waits for a
    person that is None, and `time_left` says how many seconds are left of it. Times are unix seconds.
    """

    execution_id: str
    agent_id: str
    definition: str
    definition_version: int
    machine: str
    spec_hash: str
    start_id: str
    input: str
    context: str | None
    created_at: float
    updated_at: float
    status: str
    phase: str
    revision: int
    token: str
    first_position: int = 0
    llm_call_id: str | None = None
    run_model: bool = False
    manifest: Manifest | None = None
    answer: StoredAnswer | None = None
    batch_call_id: str | None = None
    batch: tuple[str, ...] = ()
    request: ApprovalRequest | None = None
    decisions: tuple[Decision, ...] = ()
    on_rejection: Literal["end", "continue"] = "end"
    iterations: int = 0
    lost_calls: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = attrs.Factory(Usage)
    deadline: float | None = None
    time_left: float | None = None
    result: str | None = None
    error: ErrorInfo | None = None


@attrs.frozen
class StopIntent:
    """A stop that somebody asked for, written before it is acknowledged; its own row, no revision."""

    execution_id: str
    reason: str
    at: float
