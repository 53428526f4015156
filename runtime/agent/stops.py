"""Stops and endings: which reason wins, when work has ended, and what the outcome will be."""

from __future__ import annotations

from typing import Self

from pawl.runtime.agent.barrier_steps import Effects
from pawl.runtime.agent.batch import Rank
from pawl.runtime.agent.effects import Closed, ReadAgain, StopWork, Tell
from pawl.runtime.agent.facts import NOTHING, Ending, Facts, error_info
from pawl.runtime.agent.payloads import Stop
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.records.errors import OutcomeUnknown
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.tools import ErrorInfo

_WEIGHT = {"error": 0, "listener": 1, "deadline": 2, "cancel": 2, "lost": 3}


class Stops(Facts):
    """Guards and actions about stopping, quiescence and the frozen ending."""

    # guards -------------------------------------------------------------------------------------------------

    def ownership_is_lost(self, payload: object) -> bool:
        """Somebody else owns this agent: nothing more is written here."""
        return self.stop is not None and self.stop.reason == "lost"

    def quiescent(self, payload: object) -> bool:
        """No physical operation, no unanswered barrier, no child that is running or recording."""
        if self.operations or self.unanswered:  # I9
            return False
        return self.batch is None or all(child.rank is not Rank.DISPATCHED for child in self.batch.children)

    # actions ------------------------------------------------------------------------------------------------

    def note_stop(self, payload: Stop | Exception) -> tuple[Self, Effects]:
        """The first reason wins, but a cancel or deadline overrides a listener's failure, and loss overrides all."""
        asked = payload if isinstance(payload, Stop) else Stop("error", error_info(payload))
        if (
            self.stop is not None
            and _WEIGHT[self.stop.reason] >= min(_WEIGHT[asked.reason], 2)
            and asked.reason != "lost"
        ):
            return self, NOTHING
        return replace(self, stop=asked), NOTHING

    def note_lost(self, payload: Stop | BarrierAnswer) -> tuple[Self, Effects]:
        """The store's fence said it, or a child's: whoever owns the agent now, it is not this process."""
        owner = payload.owner if isinstance(payload, BarrierAnswer) else None
        stop = payload if isinstance(payload, Stop) else Stop("lost", ErrorInfo("Superseded", owner or ""))
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
        """Freeze the ending, then ask everything that runs to stop; its end is waited for."""
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
        ending = self.ending or self._ending()
        until = self.now + self.agent.drain_timeout
        return replace(self, ending=ending, drain_until=until, barrier=None, preparing=None), tuple(effects)

    def _ending(self) -> Ending:
        stop = self.stop
        if stop is not None and stop.reason in ("cancel", "lost"):
            return Ending("cancelled")
        if stop is not None:
            error = stop.error or ErrorInfo("DeadlineExceeded", "the run took longer than its deadline")
            return Ending("failed", error=error)
        if self.refusal is not None:
            return Ending("failed", error=error_info(self.refusal))
        if self.failure is not None:
            return Ending("failed", error=self.failure)
        if self.blocked is not None:
            return Ending("blocked", error=self.blocked)
        if self.rejection is not None:
            said = "" if self.agent.output_filters else self._said()  # it never came to the filters
            return Ending("rejected", output=said, error=ErrorInfo("Rejected", self.rejection))
        return Ending("completed", output=self.output or "")

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
