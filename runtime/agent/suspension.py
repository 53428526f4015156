"""Suspension and decision: the request that people see, and what their answers do to the batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import attrs

from pawl.runtime.agent.barrier_steps import Effects, refusing
from pawl.runtime.agent.batch import ChildFact, Rank
from pawl.runtime.agent.effects import AtRest, Tell
from pawl.runtime.agent.facts import NOTHING
from pawl.runtime.agent.payloads import Approval, Decided
from pawl.runtime.agent.redaction import fit_of
from pawl.runtime.agent.tool_batch import ToolBatch
from pawl.runtime.barriers.answering import decided
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.decide import fully_decided, undecided
from pawl.runtime.barriers.edits import bound
from pawl.runtime.records.approvals import ApprovalItem, ApprovalRequest, Verdict
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.ids import request_id
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.rests import Suspended
from pawl.runtime.records.statuses import Move
from pawl.runtime.records.tools import ErrorInfo


class Approvals(ToolBatch):
    """Guards and actions about human approval."""

    def undecided_left(self, payload: object) -> bool:
        """Some item still waits, and no rejection has made the others moot."""
        return not fully_decided(self.record)

    # suspension ---------------------------------------------------------------------------------------------

    @refusing
    def prepare_suspension(self, payload: object) -> tuple[Self, Effects]:
        """The whole batch with canonical arguments and preflight results, and the request; the agent is let go."""
        assert self.batch is not None
        items = tuple(self._item(child) for child in self.batch.children if child.rank is Rank.AWAITING)
        request = ApprovalRequest(
            id=request_id(self.execution_id, self.batch.llm_call_id),
            execution_id=self.execution_id,
            agent_id=self.agent_id,
            items=items,
            created_at=self.now,
            expires_at=self._expires_at(items),
        )
        asked = self.entry(
            JournalKind.APPROVAL_REQUIRED, request_id=request.id, calls=[item.tool_call_id for item in items]
        )
        context, command = self.drafted(
            Move.SUSPENSION,
            **self._batch_on_record(),
            request=request,
            decisions=(),
        )
        command = replace(
            command,
            journal=(*self.journal, asked),
            tools=self._rows(),
            contents=self._texts(),
            awaiting="approval",
            release=True,
            bump=True,
        )
        return context.opened(command), NOTHING

    def _expires_at(self, items: Iterable[ApprovalItem]) -> float | None:
        """Until when the request that is made now may be decided: the first of its calls to expire takes it along."""
        tools = (self.agent.tool(item.tool) for item in items)
        own = [tool.approval_timeout if tool is not None else None for tool in tools]
        times = [self.agent.approval_timeout if seconds is None else seconds for seconds in own]
        return min((self.now + seconds for seconds in times if seconds is not None), default=None)

    @staticmethod
    def _item(child: ChildFact) -> ApprovalItem:
        row = child.row
        return ApprovalItem(
            tool_call_id=row.tool_call_id,
            tool_invocation_id=row.tool_invocation_id,
            tool=row.tool,
            arguments=row.shown,
            digest=bound(row),
            reason=row.message,
        )

    def apply_suspension(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The request is on record; nothing of this run needs to live on."""
        return self.applied(payload)

    def rest_suspended(self, payload: object) -> tuple[Self, Effects]:
        """Announce what is undecided, under the same request id every time, and let go."""
        request = self.record.request
        assert request is not None
        rest = Suspended(
            execution_id=self.execution_id,
            agent_id=self.agent_id,
            revision=self.record.revision,
            usage=self.record.usage,
            request=request,
            undecided=undecided(self.record),
        )
        event = Event(
            EventKind.APPROVAL_REQUIRED,
            self.execution_id,
            self.agent_id,
            {"request": attrs.asdict(request), "undecided": list(rest.undecided)},
        )
        return replace(self, refusal=None), (AtRest(rest, "approval", self.held, event, self.refusal),)

    def approval_timeout(self) -> float | None:
        """Seconds until the request expires, None for never."""
        request = self.record.request
        if request is None or request.expires_at is None:
            return None
        return max(0.0, request.expires_at - self.now)

    def note_expiry(self, payload: object) -> tuple[Self, Effects]:
        """Nobody decided in time."""
        said = "nobody decided in time: the request expired (approval_timeout)"
        return replace(self, failure=ErrorInfo("DeadlineExceeded", said)), NOTHING

    # decision -----------------------------------------------------------------------------------------------

    def take_decision(self, payload: Decided) -> tuple[Self, Effects]:
        """What is about to be committed; it was checked against the record before."""
        return replace(self, deciding=payload), NOTHING

    @refusing
    def prepare_approval(self, payload: object) -> tuple[Self, Effects]:
        """The decisions, single use, with receipts. While an item is undecided the agent is let go again."""
        assert self.deciding is not None
        written = decided(self.draft, self.deciding.decisions, self._rows(), fit_of(self.agent), self.now)
        context, command = self.committing("approval", written)
        return context.opened(replace(command, release=written.awaiting is not None, bump=True), deciding=None), NOTHING

    def apply_approval(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The decisions are on record and final, edited arguments in the rows of their calls."""
        assert self.barrier is not None
        command = self.barrier.command
        assert isinstance(command, Commit)
        context, effects = self.applied(payload)
        batch = context.batch
        for row in command.tools:
            batch = batch.with_row(row, None) if batch is not None else None
        return replace(context, batch=batch), effects

    def apply_decisions(self, payload: object) -> tuple[Self, Effects]:
        """Tell each child; where a rejection ends the run, the others and the authorized siblings are cancelled."""
        assert self.batch is not None
        verdicts = {decision.tool_call_id: decision for decision in self.record.decisions}
        ends = self.record.on_rejection == "end" and any(
            decision.verdict is Verdict.REJECTED for decision in verdicts.values()
        )
        told: list[Tell] = []
        for child in self.batch.children:
            if child.rank not in (Rank.AWAITING, Rank.AUTHORIZED):
                continue
            decision = verdicts.get(child.row.tool_call_id)
            name = child.row.tool_invocation_id
            if decision is not None and decision.verdict is Verdict.REJECTED:
                told.append(Tell(name, "reject", Approval(decision.message)))
            elif ends:
                told.append(Tell(name, "cancel"))
            elif decision is not None and child.rank is Rank.AWAITING:
                told.append(Tell(name, "approve", Approval(decision.message)))
        batch = self.batch.ranked(Rank.DECIDING, *(tell.tool_invocation_id for tell in told))
        return replace(self, batch=batch), tuple(told)
