"""The context of the `tool_invocation` machine: one call, from the arguments a model wrote to a recorded outcome."""

from __future__ import annotations

from typing import Any, Self

import attrs

from pawl.runtime.agent.barrier_steps import BarrierSteps, Effects, OpenBarrier, refusing
from pawl.runtime.agent.batch import spoken
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.effects import Authorize, Lost, Notify, RequestSlot, RunTool, StopWork, Withdraw
from pawl.runtime.agent.facts import NOTHING, error_info
from pawl.runtime.agent.payloads import Approval, Authorized, ChildNews, Dispatch, ToolEnded
from pawl.runtime.agent.tool import Tool
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.fsm.step import Raise
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus

_POLICY_TIMEOUT = 60.0
"""Seconds after which an approval policy that has not answered leaves the decision to a person."""


@attrs.frozen(slots=False, kw_only=True)
class ToolInvocation(BarrierSteps):
    """The facts of one call. `row` is what its parent knows and what a barrier writes; `body` is its result's text.
    `given` are the arguments as the model wrote them, read ahead perhaps.
    """

    agent: Agent[Any]
    authority: Authority
    row: ToolRow
    given: str = attrs.field(default="", repr=False)
    body: str | None = None
    timed_out: bool = False
    repairs: int = 0

    @property
    def repaired(self) -> bool:
        """Whether a refused result was already replaced by a failure."""
        return self.repairs > 0

    @property
    def tool(self) -> Tool[..., Any] | None:
        """The tool's definition; None when the model asked for one that does not exist."""
        return self.agent.tool(self.row.tool)

    def with_row(self, **changes: object) -> Self:
        """With changes to the row."""
        return replace(self, row=replace(self.row, **changes))

    # guards -------------------------------------------------------------------------------------------------

    def failed(self, payload: object) -> bool:
        """The call has an error that is its outcome."""
        return self.row.error is not None

    def answered(self, payload: object) -> bool:
        """The model gets an answer without anything having run."""
        return self.body is not None

    def cancelled(self, payload: object) -> bool:
        """The body ended because it was asked to, and says so."""
        return self.row.status is ToolStatus.CANCELLED

    def authorization_cancelled(self, payload: Authorized) -> bool:
        """The policy was cancelled."""
        return payload.decision == "cancelled"

    def authorization_failed(self, payload: Authorized) -> bool:
        """The policy could not be asked."""
        return payload.decision == "failed"

    def authorization_rejected(self, payload: Authorized) -> bool:
        """The policy says no."""
        return payload.decision == "reject"

    def approval_wanted(self, payload: Authorized) -> bool:
        """The policy wants a person to decide."""
        return payload.decision == "ask"

    # preflight ----------------------------------------------------------------------------------------------

    def validate_arguments(self, payload: object) -> tuple[Self, Effects]:
        """What the model got wrong is answered to the model; nothing runs and nobody is asked."""
        tool = self.tool
        if tool is None:
            known = ", ".join(sorted(spec.name for spec in self.agent.specs)) or "none"
            return self._answer(f"error: there is no tool {self.row.tool!r:.100}; the tools are: {known}"), NOTHING
        try:
            arguments = tool.validate(self.given or self.row.raw_arguments)
        except InvalidArguments as error:
            return self._answer(f"error: {error}"), NOTHING
        return self.with_row(arguments=arguments, redacted=tool.redacted(arguments)), NOTHING

    def _answer(self, text: str) -> Self:
        body = text.encode(errors="backslashreplace").decode()
        context = self.with_row(output=Content.of(body).digest)
        return replace(context, body=body)

    def submit_authorization(self, payload: object) -> tuple[Self, Effects]:
        """A fixed answer at once; a policy is asked off the loop."""
        assert self.tool is not None
        fixed = self.tool.approval.fixed
        if fixed is None:
            return self, (Authorize(self.row),)
        answer = Authorized(self.row.tool_invocation_id, fixed.permission, fixed.reason)
        return self, (Raise("authorization_completed", answer),)

    def take_authorization(self, payload: Authorized) -> tuple[Self, Effects]:
        """What the policy said, and why."""
        error = ErrorInfo("ToolError", payload.reason) if payload.decision == "failed" else None
        if error is self.row.error and payload.reason == self.row.message:
            return self, NOTHING
        return self.with_row(message=payload.reason, error=error), NOTHING

    def note_authorization_expiry(self, payload: object) -> tuple[Self, Effects]:
        """A policy that does not answer fails safe, to a person."""
        return self.with_row(message="the approval policy did not answer in time"), NOTHING

    def note_internal_error(self, payload: Exception) -> tuple[Self, Effects]:
        """Something in the preflight raised: whatever was answered before it is not the call's answer."""
        return replace(self.with_row(error=error_info(payload), output=None), body=None), NOTHING

    def take_approval(self, payload: Approval) -> tuple[Self, Effects]:
        """A person's answer; arguments that it edited are in the row already, written with the decision."""
        return self.with_row(message=payload.message), NOTHING

    # execution ----------------------------------------------------------------------------------------------

    def take_dispatch(self, payload: Dispatch) -> tuple[Self, Effects]:
        """The batch's barrier wrote the row as pending."""
        return self.with_row(status=ToolStatus.PENDING, attempt=payload.attempt), NOTHING

    def slot_wanted(self, payload: object) -> bool:
        """The tool has limits, so that the call has to wait for its turn."""
        return self.tool is not None and self.tool.limit is not None

    def request_slot(self, payload: object) -> tuple[Self, Effects]:
        """Queue for a slot; a tool without limits needs none."""
        return self, (RequestSlot(self.row),) if self.slot_wanted(payload) else NOTHING

    def withdraw(self, payload: object) -> tuple[Self, Effects]:
        """It will not run: whatever it waits for or was granted is given back."""
        return self, (Withdraw(self.row),)

    def start_execution(self, payload: object) -> tuple[Self, Effects]:
        """Let the body go. Its batch is on record, and this is the only place that asks for it."""
        timeout = self.tool_timeout()
        return self, (RunTool(self.row, None if timeout is None else self.now + timeout),)

    def note_timeout(self, payload: object) -> tuple[Self, Effects]:
        """The body has had its time."""
        return replace(self, timed_out=True), NOTHING

    def request_stop(self, payload: object) -> tuple[Self, Effects]:
        """Ask the body to stop; its physical end is waited for."""
        return self, (StopWork(self.row.tool_invocation_id),)

    def take_outcome(self, payload: ToolEnded) -> tuple[Self, Effects]:
        """What the body did, also when it was asked to stop: a success is a success."""
        outcome = payload.outcome
        took: dict[str, object] = {"duration": outcome.duration}
        if outcome.error is not None:
            return self.with_row(error=outcome.error, **took), NOTHING
        if not outcome.cancelled:
            return replace(self, row=replace(self.row, **took), body=outcome.result or ""), NOTHING
        if self.timed_out:
            late = ErrorInfo("TimeoutError", f"{self.row.tool} took over {self.tool_timeout()} s")
            return self.with_row(error=late, **took), NOTHING
        return self.with_row(status=ToolStatus.CANCELLED, **took), NOTHING

    # the outcome's barrier ----------------------------------------------------------------------------------

    @refusing
    def prepare_tool_outcome(self, payload: object) -> tuple[Self, Effects]:
        """This call's own row, under its own token: siblings commit together."""
        context, token = self.fresh("commit")
        content = Content.of(self.body) if self.body is not None and self.row.error is None else None
        if self.row.error is not None:
            status = ToolStatus.FAILED
        elif self.row.status is ToolStatus.CANCELLED:
            status = ToolStatus.CANCELLED
        else:
            status = ToolStatus.COMPLETED
        row = replace(self.row, status=status, token=token, output=content.digest if content is not None else None)
        command = ToolCommit(self.agent_id, self.authority, row, self.row.token, content)
        return replace(context, barrier=OpenBarrier(command)), NOTHING

    def apply_tool_outcome(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The outcome is on record."""
        assert self.barrier is not None
        command = self.barrier.command
        assert isinstance(command, ToolCommit)
        return replace(self, row=command.row, barrier=None), NOTHING

    def replace_result_by_failure(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """A result that cannot be written becomes the call's error, once: the body did run."""
        why = self.refusal or RuntimeError("the result was refused")
        error = ErrorInfo("ToolError", f"the result could not be recorded: {error_info(why).message}")
        return replace(self.with_row(error=error), body=None, repairs=self.repairs + 1, refusal=None), NOTHING

    def note_lost(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The agent is owned by somebody else: its parent hears that first."""
        return replace(self, barrier=None), (Lost(payload.owner),)

    # news for the parent ------------------------------------------------------------------------------------

    def _tell(self, event: str, status: ToolStatus) -> tuple[Self, Effects]:
        context = self if self.row.status is status else self.with_row(status=status)
        news = ChildNews(self.row.tool_invocation_id, context.row, spoken(context.row, self.body))
        return context, (Notify(event, news),)

    def notify_approval_required(self, payload: object) -> tuple[Self, Effects]:
        """A person has to decide."""
        return self._tell("tool_approval_required", ToolStatus.AWAITING_APPROVAL)

    def notify_authorized(self, payload: object) -> tuple[Self, Effects]:
        """It may run as soon as the whole batch may."""
        return self._tell("tool_authorized", ToolStatus.AUTHORIZED)

    def notify_completed(self, payload: object) -> tuple[Self, Effects]:
        """It has its answer."""
        return self._tell("tool_completed", ToolStatus.COMPLETED)

    def notify_failed(self, payload: object) -> tuple[Self, Effects]:
        """It has failed."""
        return self._tell("tool_failed", ToolStatus.FAILED)

    def notify_rejected(self, payload: object) -> tuple[Self, Effects]:
        """Somebody said no."""
        return self._tell("tool_rejected", ToolStatus.REJECTED)

    def notify_cancelled(self, payload: object) -> tuple[Self, Effects]:
        """It did not run, or ended because it was asked to."""
        return self._tell("tool_cancelled", ToolStatus.CANCELLED)

    def notify_unresolved(self, payload: object) -> tuple[Self, Effects]:
        """What became of it is not known here."""
        return self._tell("tool_unresolved", ToolStatus.UNKNOWN)

    # delays -------------------------------------------------------------------------------------------------

    def authorization_timeout(self) -> float | None:
        """Seconds that a policy may take; a fixed answer needs none."""
        return None if self.tool is None or self.tool.approval.fixed is not None else _POLICY_TIMEOUT

    def tool_timeout(self) -> float | None:
        """Seconds that the body may take, None for no limit."""
        return self.tool.timeout if self.tool is not None else None

    def drain_timeout(self) -> float:
        """Seconds that the body may take to end once it was asked to."""
        return self.agent.drain_timeout
