"""Stops and endings: why the run is to end, when its work has ended, and what the outcome will be."""

from __future__ import annotations

from typing import Self

from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.batch import Rank
from pawl.runtime.agent.effects import Closed, ReadAgain, StopWork, Tell
from pawl.runtime.agent.facts import NOTHING, Ending, Facts, error_info
from pawl.runtime.agent.payloads import TIME_IS_UP, Stop, StopReason, outweighs
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.records.errors import OutcomeUnknown
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.tools import ErrorInfo


class Stops(Facts):
    """Guards and actions about stopping, quiescence and the frozen ending."""

    # guards -------------------------------------------------------------------------------------------------

    def ownership_is_lost(self, payload: object) -> bool:
        """Somebody else owns this agent: nothing more is written here."""
        return self.stop is not None and self.stop.reason == StopReason.LOST

    def cancel_noted(self, payload: object) -> bool:
        """Somebody asked the run to stop, and that is why it does."""
        return self.stop is not None and self.stop.reason == StopReason.CANCEL

    def refusal_noted(self, payload: object) -> bool:
        """The store has refused what the run wanted to write."""
        return self.refusal is not None

    def failure_noted(self, payload: object) -> bool:
        """Work failed, a call that counts, or a limit was reached."""
        return self.failure is not None

    def block_noted(self, payload: object) -> bool:
        """A filter has blocked the text."""
        return self.blocked is not None

    def rejection_noted(self, payload: object) -> bool:
        """A call was rejected, and the run was to end with it."""
        return self.rejection is not None

    def output_taken(self, payload: object) -> bool:
        """The answer has passed all that was to judge it."""
        return self.output is not None

    def quiescent(self, payload: object) -> bool:
        """No physical operation, no unanswered barrier, no child that is running or recording."""
        if self.operations or self.unanswered:  # I9
            return False
        return self.batch is None or all(child.rank is not Rank.DISPATCHED for child in self.batch.children)

    # actions ------------------------------------------------------------------------------------------------

    def note_stop(self, payload: Stop | Exception) -> tuple[Self, Effects]:
        """Keep the reason, where the machine `stop` says that it takes the place of the one that stands."""
        asked = payload if isinstance(payload, Stop) else Stop(StopReason.ERROR, error_info(payload))
        return (replace(self, stop=asked) if outweighs(asked, self.stop) else self), NOTHING

    def note_lost(self, payload: Stop | BarrierAnswer) -> tuple[Self, Effects]:
        """The store's fence said it, or a child's: whoever owns the agent now, it is not this process."""
        owner = payload.owner if isinstance(payload, BarrierAnswer) else None
        stop = payload if isinstance(payload, Stop) else Stop(StopReason.LOST, ErrorInfo("Superseded", owner or ""))
        return replace(self, stop=stop, barrier=None, held=False), NOTHING

    def note_failure(self, payload: object) -> tuple[Self, Effects]:
        """Work off the loop failed, and the run with it."""
        error = getattr(payload, "error", None)
        return replace(self, failure=error if isinstance(error, ErrorInfo) else self.failure), NOTHING

    def note_blocked(self, payload: object) -> tuple[Self, Effects]:
        """A filter blocked the text."""
        reason = getattr(payload, "blocked", None) or "blocked by a filter"
        return replace(self, blocked=ErrorInfo("FilterBlocked", str(reason))), NOTHING

    def stop_work(self, payload: object) -> tuple[Self, Effects]:
        """Ask everything that runs to stop; its end is waited for."""
        children = self.batch.children if self.batch is not None else ()
        bodies = {child.row.tool_invocation_id for child in children}
        # A model call, or a probe; a body is asked by its own session.
        effects: list[object] = [StopWork(operation) for operation in sorted(self.operations - bodies)]
        if self.batch is not None:
            effects += [
                Tell(child.row.tool_invocation_id, "cancel")
                for child in self.batch.children
                if child.rank is not Rank.TERMINAL and not child.lost
            ]
        if self.preparing is not None:
            effects.append(StopWork(self.preparing))  # abandoned: nothing waits for it
        until = self.now + self.agent.drain_timeout
        return replace(self, drain_until=until, barrier=None, preparing=None), tuple(effects)

    # the ending, frozen by the rows of `quiescing` --------------------------------------------------------------

    def end_cancelled(self, payload: object) -> tuple[Self, Effects]:
        """Somebody asked for it."""
        return replace(self, ending=Ending("cancelled")), NOTHING

    def end_stopped(self, payload: object) -> tuple[Self, Effects]:
        """Something else has stopped it, and says so."""
        assert self.stop is not None
        error = self.stop.error or TIME_IS_UP.error
        return replace(self, ending=Ending("failed", error=error)), NOTHING

    def end_refused(self, payload: object) -> tuple[Self, Effects]:
        """What it wanted to write can not be written."""
        assert self.refusal is not None
        return replace(self, ending=Ending("failed", error=error_info(self.refusal))), NOTHING

    def end_failed(self, payload: object) -> tuple[Self, Effects]:
        """Its work has failed."""
        return replace(self, ending=Ending("failed", error=self.failure)), NOTHING

    def end_blocked(self, payload: object) -> tuple[Self, Effects]:
        """A filter has blocked its input or its output."""
        return replace(self, ending=Ending("blocked", error=self.blocked)), NOTHING

    def end_rejected(self, payload: object) -> tuple[Self, Effects]:
        """A call was rejected, and the run with it; what the model said is its output."""
        assert self.rejection is not None
        said = "" if self.agent.output_filters else self._said()  # it never came to the filters
        return replace(self, ending=Ending("rejected", said, ErrorInfo("Rejected", self.rejection))), NOTHING

    def end_completed(self, payload: object) -> tuple[Self, Effects]:
        """It has its output."""
        return replace(self, ending=Ending("completed", self.output)), NOTHING

    def _said(self) -> str:
        """What the model said last; a session that was resumed knows it from the transcript."""
        if self.answer is not None:
            return self.answer.text
        return next((message.text for message in reversed(self.transcript or ()) if message.role == "assistant"), "")

    def replace_outcome_by_failure(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """What was to be recorded cannot be written: record instead, once, that it could not."""
        error = self.refusal or RuntimeError("the outcome was refused")
        # What calls cost is kept, whatever they said.
        paid = tuple(entry for entry in self.journal if entry.kind is JournalKind.LLM_CALL_RECORDED)
        return replace(
            self, ending=Ending("failed", error=error_info(error)), journal=paid, repairs=self.repairs + 1, refusal=None
        ), NOTHING

    def fail_closed(self, payload: object) -> tuple[Self, Effects]:
        """Keep the slot: what was written, or what runs, is not known."""
        why = self.refusal or (payload if isinstance(payload, Exception) else None)
        detail = f": {why}" if why is not None else ""
        closed = OutcomeUnknown(
            f"execution {self.execution_id} is closed in this process, what was written is not known{detail}; "
            "`reload` reads the store again, and so does a new process"
        )
        return self, (Closed(closed),)

    def read_again(self, payload: object) -> tuple[Self, Effects]:
        """What is known here may be older than what is on record."""
        return self, (ReadAgain(),)

    # delays -------------------------------------------------------------------------------------------------

    def drain_timeout(self) -> float:
        """Seconds left for what runs to end; absolute from the moment it was asked to."""
        return max(0.0, self.drain_until - self.now)
