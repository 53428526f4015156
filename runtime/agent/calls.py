"""The input, the model and its answers: what goes out behind ⟨provider_dispatch⟩ and what comes back."""

from __future__ import annotations

from typing import Any, Self

import attrs

from pawl.runtime.agent.barrier_steps import Effects, OpenBarrier, refusing
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.effects import Announce, CallModel, Emit
from pawl.runtime.agent.facts import NOTHING, Facts
from pawl.runtime.agent.payloads import (
    FilteredText,
    LlmChunk,
    LlmCompleted,
    LlmFailed,
)
from pawl.runtime.agent.preparing import Preparing
from pawl.runtime.agent.redaction import shown_calls
from pawl.runtime.barriers.answering import Writing
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.barriers.commit import Commit, Written
from pawl.runtime.barriers.facts import answer_entries, call_entry, counted
from pawl.runtime.barriers.standing import moved
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import JournalEntry, JournalKind
from pawl.runtime.records.messages import Message, ModelAnswer
from pawl.runtime.records.statuses import TERMINAL, Move
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus


class Committing(Facts):
    """How a barrier on the execution is made from the draft, and applied when it has committed."""

    def drafted(self, move: Move, **draft: object) -> tuple[Self, Commit]:
        """The next revision of the draft as a command; `move` is the barrier in the execution machine."""
        barrier = "outcome" if move in TERMINAL else str(move)
        return self.committing(barrier, Writing(moved(replace(self.draft, **draft), move, self.now), ()))

    def committing(self, barrier: str, writing: Writing) -> tuple[Self, Commit]:
        """What is to be written as a command, behind the facts since the last barrier."""
        context, token = self.fresh("commit")
        revision, before = self.record.revision + 1, (self.record.revision, self.record.token)
        return context, Commit(
            barrier,
            self.authority,
            replace(writing.record, revision=revision, token=token, updated_at=self.now),
            before,
            self.position,
            (*self.journal, *writing.journal),
            writing.contents,
            writing.tools,
            writing.receipts,
            writing.awaiting,
            held=self.held,
        )

    def opened(self, command: Commit, **changes: object) -> Self:
        """With `command` as the barrier that is being passed."""
        return replace(self, barrier=OpenBarrier(command), **changes)

    def applied(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """Live state is what is on disk now; the journal's events are told, each with its position as cursor."""
        assert self.barrier is not None
        command = self.barrier.command
        assert isinstance(command, Commit)
        written: Written = payload.value
        return replace(
            self,
            record=command.record,
            draft=command.record,
            position=written.position,
            journal=(),
            barrier=None,
            held=not command.release,
        ), (Announce(command.position, command.journal),)

    def _recorded(self, llm_call_id: str, status: str, **meta: Any) -> JournalEntry:
        """A model call as the journal has it."""
        return call_entry(self.execution_id, llm_call_id, status, self.now, **meta)


class Calls(Preparing, Committing):
    """Guards and actions about the input, the request and the answer."""

    # guards -------------------------------------------------------------------------------------------------

    def input_passed(self, payload: FilteredText) -> bool:
        """The filters let the input through."""
        return payload.blocked is None

    def output_passed(self, payload: FilteredText) -> bool:
        """The filters let the output through."""
        return payload.blocked is None

    def tool_call_pending(self, payload: LlmCompleted) -> bool:
        """The answer asks for tools."""
        return bool(payload.answer.calls)

    # the input --------------------------------------------------------------------------------------

    def take_input(self, payload: FilteredText) -> tuple[Self, Effects]:
        """The filtered input is what the model and later runs see."""
        entry = self.entry(JournalKind.EXTERNAL_MESSAGE, payload.text)
        said = Message("user", payload.text)
        return replace(self, journal=(*self.journal, entry), unsaid=(*self.unsaid, said), preparing=None), NOTHING

    # the call -----------------------------------------------------------------------------------------------

    @refusing
    def prepare_provider_dispatch(self, payload: object) -> tuple[Self, Effects]:
        """Facts since the last barrier, the manifest, and the identity of the call that is about to be let go."""
        named, llm_call_id = self.fresh("llm")
        manifest = self.assembly.manifest(self.position + len(self.journal))
        context, command = named.drafted(
            Move.PROVIDER_DISPATCH,
            llm_call_id=llm_call_id,
            run_model=False,
            model_calls=self.draft.model_calls + 1,
            manifest=manifest,
            answer=None,
            batch_call_id=None,
            batch=(),
            request=None,
            decisions=(),
        )
        if self.assembly.contents:
            command = replace(command, contents=self.assembly.contents)
        rejected = self._rejected()
        if rejected:
            command = replace(command, tools=rejected)
        return context.opened(command, batch=None, answer=None), NOTHING

    def _rejected(self) -> tuple[ToolRow, ...]:
        """The rows of calls that were rejected behind a request that no dispatch has answered: all of them were."""
        if self.batch is None or self.record.request is None:
            return ()
        return tuple(child.row for child in self.batch.children if child.row.status is ToolStatus.REJECTED)

    def apply_provider_dispatch(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The call is on record: it may go."""
        return self.applied(payload)

    def start_llm_call(self, payload: object) -> tuple[Self, Effects]:
        """Let the call go. Its barrier has committed, and this is the only place that asks for it."""
        assert self.record.llm_call_id is not None
        request = ModelRequest(
            call_id=self.record.llm_call_id,
            agent_id=self.agent_id,
            execution_id=self.execution_id,
            sequence=self.answers + self.record.iterations + 1,
            model=_model_name(self.agent),
            instructions=self.told(),
            messages=self.shown(),
            tools=self.offers(),
            output=self.agent.output.schema,
        )
        operations = self.operations | {request.call_id}
        effect = CallModel(request, self.record.revision)  # I1
        return replace(self, call=request.call_id, operations=operations, withheld=False), (effect,)

    def pass_chunk(self, payload: LlmChunk) -> tuple[Self, Effects]:
        """A token for listeners; ephemeral, it is on no record. Where filters are still to judge the text, nothing of
        it is told before they have.
        """
        if self.agent.output_filters and not self.agent.stream_unfiltered:
            return self if self.withheld else replace(self, withheld=True), NOTHING
        return self, (self._token(payload.llm_call_id, payload.text),)

    def _token(self, llm_call_id: str | None, text: str) -> Emit:
        data = {"text": text, "llm_call_id": llm_call_id}
        return Emit(Event(EventKind.TOKEN, self.execution_id, self.agent_id, data))

    def record_answer(self, payload: LlmCompleted) -> tuple[Self, Effects]:
        """The answer as facts for the next barrier."""
        answer = payload.answer
        return self._with_answer(payload.llm_call_id, answer, self.draft), NOTHING

    def _with_answer(self, llm_call_id: str, answer: ModelAnswer, draft: ExecutionRecord) -> Self:
        shown = shown_calls(self.agent, answer.calls)
        recorded = answer_entries(self.execution_id, llm_call_id, answer, self.now, shown)
        return replace(
            self,
            call=None,
            retries=0,
            failure=None,
            answer=answer,
            journal=(*self.journal, *recorded),
            unsaid=(*self.unsaid, Message("assistant", answer.text, answer.calls)),
            draft=replace(counted(draft, answer), llm_call_id=None, batch_call_id=llm_call_id),
        )

    def note_llm_failure(self, payload: LlmFailed) -> tuple[Self, Effects]:
        """The attempt is recorded under its own call id, whether another follows or not."""
        recorded = self._recorded(payload.llm_call_id, "failed", error=attrs.asdict(payload.error))
        return replace(
            self,
            call=None,
            retries=self.retries + 1,
            failure=payload.error,
            journal=(*self.journal, recorded),
            draft=replace(self.draft, llm_call_id=None),
        ), NOTHING

    def record_late_call(self, payload: LlmCompleted | LlmFailed) -> tuple[Self, Effects]:
        """An answer that came while the run was ending: paid for, so it is recorded, and used for nothing."""
        if isinstance(payload, LlmFailed):
            meta: dict[str, Any] = {"error": attrs.asdict(payload.error)}
            draft = self.draft
        else:
            meta = {"usage": attrs.asdict(payload.answer.usage), "late": True}
            draft = replace(self.draft, usage=self.draft.usage + payload.answer.usage)
        status = "failed" if isinstance(payload, LlmFailed) else "completed"
        recorded = self._recorded(payload.llm_call_id, status, **meta)
        draft = replace(draft, llm_call_id=None)
        return replace(self, call=None, journal=(*self.journal, recorded), draft=draft), NOTHING

    def forget_lost_call(self, payload: object) -> tuple[Self, Effects]:
        """The call of a process that is gone: recorded as lost; the next one gets an id of its own."""
        if self.draft.llm_call_id is None:
            return self, NOTHING
        recorded = self._recorded(self.draft.llm_call_id, "lost")
        draft = replace(self.draft, llm_call_id=None, lost_calls=self.draft.lost_calls + 1)
        return replace(self, journal=(*self.journal, recorded), draft=draft), NOTHING

    # the output ---------------------------------------------------------------------------------------------

    def take_output(self, payload: FilteredText) -> tuple[Self, Effects]:
        """What the caller gets; whoever followed its making is told now, where it was withheld until here."""
        told = (self._token(self.draft.batch_call_id, payload.text),) if self.withheld and payload.text else NOTHING
        return replace(self, output=payload.text, failure=None, withheld=False), told

    def note_exhausted(self, payload: object) -> tuple[Self, Effects]:
        """The run has used all its model answers."""
        limit = self.agent.max_iterations
        error = ErrorInfo("IterationsExhausted", f"the run used its {limit} model answers; raise max_iterations")
        return replace(self, failure=error), NOTHING

    def iterations_exhausted(self, payload: object) -> bool:
        """No model answer is left to this run."""
        return self.draft.iterations >= self.agent.max_iterations


def _model_name(agent: Agent) -> str:
    return agent.model.partition(":")[2] if isinstance(agent.model, str) else agent.model.name
