"""⟨admission⟩ and ⟨outcome⟩: how a run begins on record, and how it ends there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import attrs

from pawl.runtime.agent.barrier_steps import Effects, OpenBarrier, refusing
from pawl.runtime.agent.effects import Announce, Begun, Ended
from pawl.runtime.agent.facts import NOTHING
from pawl.runtime.agent.tool_batch import ToolBatch
from pawl.runtime.barriers.admission import Admission, Admitted
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import StoreUnavailable, Superseded
from pawl.runtime.records.events import Event, durable_events
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.rests import Blocked, Cancelled, Completed, Failed, Outcome, Rejected
from pawl.runtime.records.statuses import Move
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus


class Outcomes(ToolBatch):
    """Guards and actions about the beginning and the end."""

    # guards -------------------------------------------------------------------------------------------------

    def is_completed(self, payload: object) -> bool:
        """The record says completed."""
        return self.record.status == "completed"

    def is_rejected(self, payload: object) -> bool:
        """The record says rejected."""
        return self.record.status == "rejected"

    def is_failed(self, payload: object) -> bool:
        """The record says failed."""
        return self.record.status == "failed"

    def is_cancelled(self, payload: object) -> bool:
        """The record says cancelled."""
        return self.record.status == "cancelled"

    def is_blocked(self, payload: object) -> bool:
        """The record says blocked."""
        return self.record.status == "blocked"

    # admission ----------------------------------------------------------------------------------------------

    @refusing
    def prepare_admission(self, payload: Admission) -> tuple[Self, Effects]:
        """The caller's start is the command; it claims the agent in the same transaction."""
        return replace(self, barrier=OpenBarrier(payload)), NOTHING

    def apply_admission(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The run exists, and this process owns its agent."""
        assert self.barrier is not None
        command = self.barrier.command
        assert isinstance(command, Admission)
        admitted: Admitted = payload.value
        root = admitted.root
        record = replace(command.record, first_position=admitted.position)
        return replace(
            self,
            record=record,
            draft=record,
            authority=Authority(command.owner, root.fence),
            position=admitted.position,
            answers=root.answers,
            barrier=None,
            held=True,
        ), (Begun(),)

    # outcome ------------------------------------------------------------------------------------------------

    @refusing
    def prepare_outcome(self, payload: object) -> tuple[Self, Effects]:
        """Everything that is not written yet, the result or the error, and the agent let go, in one transaction."""
        ending = self.ending
        assert ending is not None
        journal = [*self.journal, *self._lost_call(), *self._open_calls()]
        result = Content.of(ending.output) if ending.output is not None else None
        if ending.status == "completed":
            journal.append(self.entry(JournalKind.FINAL_OUTPUT, ending.output))
        journal.append(self._final())
        context, command = self.drafted(
            Move(ending.status),
            result=result.digest if result is not None else None,
            error=ending.error,
            llm_call_id=None,
            answer=None,
            request=None,
        )
        command = replace(
            command,
            journal=tuple(journal),
            contents=(result,) if result is not None else (),
            tools=self._left_over(),
            release=True,
            bump=True,
            answers=self.draft.iterations,
        )
        return context.opened(command), NOTHING

    def _final(self) -> JournalEntry:
        assert self.ending is not None
        meta: dict[str, Any] = {"usage": attrs.asdict(self.draft.usage)}
        if self.ending.error is not None:
            meta["error"] = attrs.asdict(self.ending.error)
        return self.entry(JournalKind(f"execution_{self.ending.status}"), **meta)

    def _lost_call(self) -> list[JournalEntry]:
        if self.draft.llm_call_id is None:
            return []
        return [self._recorded(self.draft.llm_call_id, "unknown")]

    def _open_calls(self) -> list[JournalEntry]:
        """A rejected run stays in the transcript, so each of its open calls gets the message a provider wants."""
        if self.ending is None or self.ending.status != "rejected" or self.batch is None:
            return []
        entries: list[JournalEntry] = []
        for child in self.batch.children:
            ended = child.row.status in (ToolStatus.COMPLETED, ToolStatus.FAILED, ToolStatus.REJECTED)
            text = child.text if ended else "not run: a sibling was rejected"
            entries.append(self.entry(JournalKind.TOOL_MESSAGE, text, tool_call_id=child.row.tool_call_id))
        return entries

    def _left_over(self) -> tuple[ToolRow, ...]:
        """Rows as the end leaves them: what was dispatched and has no outcome is unknown, never failed."""
        if self.batch is None or self.batch.llm_call_id != self.record.batch_call_id:
            return ()
        rows = []
        for child in self.batch.children:
            row = child.row
            if child.lost or row.status is ToolStatus.PENDING:
                row = replace(row, status=ToolStatus.UNKNOWN)  # I18
            elif row.status in (ToolStatus.NEW, ToolStatus.AWAITING_APPROVAL, ToolStatus.AUTHORIZED):
                row = replace(row, status=ToolStatus.CANCELLED)
            rows.append(row)
        return tuple(rows)

    def apply_outcome(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """It is on record, and terminal. The last event waits for the slot to be vacant."""
        context, effects = self.applied(payload)
        (told,) = effects
        assert isinstance(told, Announce)
        output = self.ending.output if self.ending is not None else None
        last = replace(context, journal=told.journal[-1:], output=output)
        return last, (Announce(told.position, told.journal[:-1]),)

    # finals -------------------------------------------------------------------------------------------------

    def finish(self, payload: object) -> tuple[Self, Effects]:
        """Release, tell, settle: the same for an outcome that was written now and one that was found."""
        rest = outcome_of(self.record, self.output or "", self.agent.output.read)
        return self, (Ended(rest, self._last_event()),)

    def _last_event(self) -> Event | None:
        for entry in self.journal:
            for event in durable_events(entry.kind, self.agent_id, self.execution_id, self.position, None, entry.meta):
                return event
        return None

    def finish_refused(self, payload: object) -> tuple[Self, Effects]:
        """Nothing was written: the caller's start raises."""
        called_off = StoreUnavailable("the start was called off before it could be written: nothing of it is on record")
        return self, (Ended(None, error=self.refusal or called_off),)

    def finish_superseded(self, payload: object) -> tuple[Self, Effects]:
        """Nothing more is written or started here."""
        owner = self.stop.error.message if self.stop is not None and self.stop.error is not None else None
        return self, (Ended(None, error=Superseded(owner or None)),)


def outcome_of(record: ExecutionRecord, output: str, read: Callable[[str], Any] | None) -> Outcome[Any]:
    """The end of a run as callers get it, from its terminal record and the body of its result.

    `read` makes the value of the output type, None where the definition is not known.
    """
    common: dict[str, Any] = {
        "execution_id": record.execution_id,
        "agent_id": record.agent_id,
        "revision": record.revision,
        "usage": record.usage,
    }
    error = record.error or ErrorInfo("PawlError", "no reason was recorded")
    match record.status:
        case "completed":
            return Completed(output=output, read=read, **common)
        case "rejected":
            return Rejected(output=output, reason=error.message, **common)
        case "failed":
            return Failed(error=error, **common)
        case "cancelled":
            return Cancelled(**common)
        case "blocked":
            return Blocked(error=error, **common)
        case status:
            raise ValueError(f"execution {record.execution_id} has not ended: {status}")
