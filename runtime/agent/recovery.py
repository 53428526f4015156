"""What a later process does with what it finds: the guards of `recovering`, probes, and resolutions."""

from __future__ import annotations

from typing import Self

import attrs

from pawl.runtime.agent.barrier_steps import Effects, refusing
from pawl.runtime.agent.batch import Batch, ChildFact
from pawl.runtime.agent.calls import Calls
from pawl.runtime.agent.effects import AtRest, Reopened, RunProbe
from pawl.runtime.agent.facts import NOTHING
from pawl.runtime.agent.outcomes import Outcomes
from pawl.runtime.agent.payloads import TIME_IS_UP, ProbeAnswer, Recovered, Resolved, Stop, StopReason
from pawl.runtime.agent.redaction import shown_calls
from pawl.runtime.agent.suspension import Approvals
from pawl.runtime.agent.transcript import Transcript
from pawl.runtime.barriers.answering import resolved_model, resolved_tool
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.barriers.clocks import deadline_passed
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.evolution import under_this_spec
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.messages import Message, ModelAnswer
from pawl.runtime.records.rests import NeedsResolution, Unresolved, unresolved_tool
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import ErrorInfo

NOTHING_ON_RECORD = -1
"""The revision of a record that was looked for and is not there."""

LOST_CALLS = 3
"""Model calls of one answer that may be lost in a row before the run fails; they cost, and they are no iterations."""


class Recovery(Outcomes, Approvals, Calls):
    """Guards and actions of recovery. The guards read contents, not the phase."""

    # the classification, in the order of its rows ----------------------------------------------------------------

    def terminal_on_record(self, payload: object) -> bool:
        """It has ended: the outcome is adopted, never written again."""
        return self.record.status in TERMINAL

    def nothing_on_record(self, payload: object) -> bool:
        """No such execution was ever admitted."""
        return self.record.revision == NOTHING_ON_RECORD

    def stop_on_record(self, payload: object) -> bool:
        """Somebody asked it to stop, and that was acknowledged; or its deadline passed while nobody ran it."""
        return self.stop is not None

    def preparing_on_record(self, payload: object) -> bool:
        """Admitted, and nothing was let go: it starts over with the same id, input and durable context."""
        return self.record.status == "preparing"

    def suspended_on_record(self, payload: object) -> bool:
        """It waits for a person."""
        return self.record.status == "suspended"

    def decided_on_record(self, payload: object) -> bool:
        """Decided and not dispatched: nothing ran, so it goes on without asking."""
        return self.record.request is not None and not self.undecided_left(payload)

    def answer_failed(self, payload: object) -> bool:
        """A resolution said that the model call failed."""
        return self.record.answer is not None and self.record.answer.error is not None

    def answer_has_tools(self, payload: object) -> bool:
        """A stored answer that no batch has consumed asks for tools."""
        return self.record.answer is not None and bool(self.record.answer.calls)

    def answer_is_output(self, payload: object) -> bool:
        """A stored answer is the output."""
        return self.record.answer is not None

    def tool_to_probe(self, payload: object) -> bool:
        """Some tool can say for itself whether its call ran."""
        return any(child.to_probe for child in self._children())

    def unresolved_left(self, payload: object) -> bool:
        """Something was started, has no outcome, and only the application can know."""
        return bool(self._unresolved())

    def lost_calls_exhausted(self, payload: object) -> bool:
        """The model call was lost too often."""
        return self._model_lost() and self.record.lost_calls >= LOST_CALLS

    def model_to_redispatch(self, payload: object) -> bool:
        """A model call was let go and has no answer on record."""
        return self._model_lost()

    def tool_to_replay(self, payload: object) -> bool:
        """Calls that may be run again, under the same ids and keys."""
        return any(child.runnable for child in self._children())

    def _children(self) -> tuple[ChildFact, ...]:
        return self.batch.children if self.batch is not None else ()

    def _model_lost(self) -> bool:
        return self.record.llm_call_id is not None

    def _unresolved(self) -> tuple[Unresolved, ...]:
        asked: list[Unresolved] = []
        if self._model_lost() and self.agent.model_recovery == "ask" and not self.record.run_model:
            asked.append(Unresolved(subject=MODEL))
        return (*asked, *(unresolved_tool(child.row) for child in self._children() if child.to_ask))

    # actions ------------------------------------------------------------------------------------------------

    def load_record(self, payload: object) -> tuple[Self, Effects]:
        """Start from the record: the answer on it is the answer, and its batch the batch."""
        stored = self.record.answer
        if stored is None:
            return self, NOTHING
        answer = ModelAnswer(stored.text, stored.calls)
        return replace(self, answer=answer, draft=replace(self.draft, batch_call_id=stored.llm_call_id)), NOTHING

    def take_record(self, payload: Recovered) -> tuple[Self, Effects]:
        """The record as it was read again: what was known beside it is forgotten."""
        fresh = type(self)(
            session=self.session,
            execution_id=self.execution_id,
            agent_id=self.agent_id,
            now=self.now,
            counter=self.counter,
            agent=self.agent,
            record=self.record,
            draft=self.record,
            authority=self.authority,
            held=self.held,
            hooks=self.hooks,
        )
        return fresh.found(payload), (Reopened(),)

    def found(self, payload: Recovered) -> Self:
        """This context over what was found: nothing that is on record is made up again."""
        record = payload.record
        if record is None:
            return replace(self, record=replace(self.record, revision=NOTHING_ON_RECORD))
        batch = None
        if payload.tools and record.batch_call_id is not None:
            order = {name: place for place, name in enumerate(record.batch)}
            children = sorted(
                (stored for stored in payload.tools if stored.row.tool_invocation_id in order),
                key=lambda stored: order[stored.row.tool_invocation_id],
            )
            facts = tuple(
                ChildFact.stored(stored.row, stored.body, self._tells_model(stored.row.tool)) for stored in children
            )
            batch = Batch(record.batch_call_id, facts, record.on_rejection == "end") if facts else None
        stop = Stop(StopReason.CANCEL) if payload.intent is not None else None
        if stop is None and deadline_passed(record, self.now):  # as if it fired now: nothing is let go any more
            stop = TIME_IS_UP
        return replace(
            self,
            record=record,
            draft=under_this_spec(record),
            position=payload.position,
            answers=payload.answers,
            input=payload.input,
            context=payload.context,
            output=payload.output,
            assembly=payload.assembly,
            transcript=None if record.status == "preparing" else Transcript(payload.messages),
            batch=batch,
            stop=stop,
            authority=payload.authority or self.authority,
            held=payload.authority is not None or self.held,
        )

    def note_answer_failure(self, payload: object) -> tuple[Self, Effects]:
        """What the resolution said is the run's failure."""
        assert self.record.answer is not None
        return replace(self, failure=self.record.answer.error), NOTHING

    def note_lost_calls(self, payload: object) -> tuple[Self, Effects]:
        """Calls that cost and gave nothing, too many times."""
        error = ErrorInfo("ModelError", f"the model call was lost {LOST_CALLS} times with the process that made it")
        return replace(self, failure=error), NOTHING

    # probes -------------------------------------------------------------------------------------------------

    def start_probe(self, payload: object) -> tuple[Self, Effects]:
        """Ask the first tool that can say; the others follow."""
        child = next(child for child in self._children() if child.to_probe)
        name = f"probe-{child.row.tool_invocation_id}"
        return replace(self, operations=self.operations | {name}), (RunProbe(child.row),)

    def take_probe(self, payload: ProbeAnswer) -> tuple[Self, Effects]:
        """The tool knows what came of it: adopted like an application's answer, and asked about if that is refused."""
        assert self.batch is not None
        child = self.batch.find(payload.tool_invocation_id)
        assert child is not None
        resolution = Resolved(child.row.tool_call_id, self.record.revision, "succeeded", payload.result or "")
        return replace(self, resolution=resolution, batch=self.batch.marked(payload.tool_invocation_id, "ask")), NOTHING

    def mark_run(self, payload: ProbeAnswer) -> tuple[Self, Effects]:
        """It never ran: it runs now, under the same key."""
        assert self.batch is not None
        return replace(self, batch=self.batch.marked(payload.tool_invocation_id, "run")), NOTHING

    def mark_ask(self, payload: ProbeAnswer) -> tuple[Self, Effects]:
        """Not even the tool knows."""
        assert self.batch is not None
        return replace(self, batch=self.batch.marked(payload.tool_invocation_id, "ask")), NOTHING

    # resolution ---------------------------------------------------------------------------------------------

    def rest_unresolved(self, payload: object) -> tuple[Self, Effects]:
        """Ask about everything at once, in any order of answers, and let go."""
        unresolved = self._unresolved()
        rest = NeedsResolution(
            execution_id=self.execution_id,
            agent_id=self.agent_id,
            revision=self.record.revision,
            usage=self.record.usage,
            unresolved=unresolved,
        )
        event = Event(
            EventKind.RECOVERY_RESOLUTION_REQUIRED,
            self.execution_id,
            self.agent_id,
            {"revision": self.record.revision, "subjects": [attrs.asdict(subject) for subject in unresolved]},
        )
        return replace(self, refusal=None), (AtRest(rest, "resolution", self.held, event, self.refusal),)

    def take_resolution(self, payload: Resolved) -> tuple[Self, Effects]:
        """What is about to be committed."""
        return replace(self, resolution=payload), NOTHING

    @refusing
    def prepare_resolution(self, payload: object) -> tuple[Self, Effects]:
        """The answer about one subject, written where the effect's own answer would have been."""
        said = self.resolution
        assert said is not None
        if said.subject == MODEL:
            answer = said.answer or ModelAnswer()
            shown = shown_calls(self.agent, answer.calls)
            written = resolved_model(self.draft, said.outcome, answer, said.error, shown, self.now)
            heard = (Message("assistant", answer.text, answer.calls),) if said.outcome == "succeeded" else ()
        else:
            child = self.batch.of_call(said.subject) if self.batch is not None else None
            assert child is not None
            written = resolved_tool(self.draft, child.row, said.outcome, said.result, said.error, self.now)
            heard = ()
        context, command = self.committing("resolution", written)
        return context.opened(command, resolution=None, unsaid=(*self.unsaid, *heard)), NOTHING

    def apply_resolution(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The answer is on record; the batch sees it as if the call itself had said so."""
        assert self.barrier is not None
        command = self.barrier.command
        assert isinstance(command, Commit)
        context, effects = self.applied(payload)
        transcript = (context.transcript or Transcript()).grown(context.unsaid)
        batch = context.batch
        body = command.contents[0].body if command.contents else None
        for row in command.tools:
            if batch is not None:
                batch = batch.with_row(row, body)
        return replace(context, transcript=transcript, unsaid=(), batch=batch), effects
