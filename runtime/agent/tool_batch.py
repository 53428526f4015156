"""The calls of one answer: children begun, judged as a batch, dispatched behind ⟨tool_dispatch⟩, recorded."""

from __future__ import annotations

from typing import Any, Self

import attrs

from pawl.runtime.agent.barrier_steps import Effects, refusing
from pawl.runtime.agent.batch import Batch, ChildFact, Rank
from pawl.runtime.agent.calls import Committing
from pawl.runtime.agent.effects import Spawn, Tell
from pawl.runtime.agent.facts import NOTHING
from pawl.runtime.agent.payloads import ChildNews, Dispatch
from pawl.runtime.agent.redaction import places_of
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.ids import idempotency_key, tool_invocation_id
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import Message, ToolCall
from pawl.runtime.records.statuses import Move
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus


class ToolBatch(Committing):
    """Guards and actions about the batch of tool calls."""

    # guards: facts of children come only from their news ---------------------------------------------------------

    def tool_batch_failed(self, payload: object) -> bool:
        """Some call failed for good, and none was rejected."""
        return self.batch is not None and self.batch.failed

    def tool_batch_rejected(self, payload: object) -> bool:
        """Somebody said no, and the agent ends on that."""
        return self.batch is not None and self.batch.rejected

    def tool_batch_completed(self, payload: object) -> bool:
        """Every call has its answer."""
        return self.batch is not None and self.batch.completed

    def approval_required(self, payload: object) -> bool:
        """A person has to decide about some call."""
        return self.batch is not None and self.batch.approval_required

    def ready_to_dispatch(self, payload: object) -> bool:
        """Everything that may run has been authorized."""
        return self.batch is not None and self.batch.ready

    # actions ------------------------------------------------------------------------------------------------

    def create_children(self, payload: object) -> tuple[Self, Effects]:
        """One child a call, under names derived from the call: the same in every process."""
        assert self.answer is not None
        llm_call_id = self.draft.batch_call_id
        assert llm_call_id is not None
        facts = tuple(self._child(llm_call_id, index, call) for index, call in enumerate(self.answer.calls))
        batch = Batch(llm_call_id, facts, self.record.on_rejection == "end")
        return replace(self, batch=batch), tuple(
            Spawn(fact.row, call.arguments) for fact, call in zip(facts, self.answer.calls, strict=True)
        )

    def _child(self, llm_call_id: str, index: int, call: ToolCall) -> ChildFact:
        tool = self.agent.tool(call.name)
        row = ToolRow(
            tool_invocation_id=tool_invocation_id(self.execution_id, llm_call_id, call.id),
            execution_id=self.execution_id,
            llm_call_id=llm_call_id,
            tool_call_id=call.id,
            index=index,
            tool=call.name,
            raw_arguments=str.__str__(call.arguments),  # plain text, whatever is known of it
            arguments=None,
            policy=tool.recovery if tool is not None else "ask",
            idempotency_key=idempotency_key(self.execution_id, llm_call_id, call.id),
            status=ToolStatus.NEW,
            redacted=places_of(self.agent, call),
        )
        return ChildFact(row, Rank.NEW, tells_model=self._tells_model(call.name))

    def _tells_model(self, name: str) -> bool:
        tool = self.agent.tool(name)
        return tool is None or tool.on_error == "tell_model"

    def note_child(self, payload: ChildNews) -> tuple[Self, Effects]:
        """What a child says of itself."""
        if self.batch is None:
            return self, NOTHING
        return replace(self, batch=self.batch.told(payload.row, payload.text)), NOTHING

    def note_batch_failure(self, payload: object) -> tuple[Self, Effects]:
        """The first failure that the model is not told of is the run's."""
        assert self.batch is not None
        for child in self.batch.children:
            if child.row.status is ToolStatus.FAILED and not child.tells_model:
                why = child.row.error or ErrorInfo("ToolError", child.text)
                failure = ErrorInfo("ToolError", f"{child.row.tool}: {why.type}: {why.message}")
                return replace(self, failure=failure), NOTHING
        cancelled = next(child for child in self.batch.children if child.row.status is ToolStatus.CANCELLED)
        failure = ErrorInfo("ToolError", f"{cancelled.row.tool}: the call was cancelled")
        return replace(self, failure=failure), NOTHING

    def note_batch_rejection(self, payload: object) -> tuple[Self, Effects]:
        """The first rejection is the run's."""
        assert self.batch is not None
        rejected = next(child for child in self.batch.children if self.batch is not None and self.batch.counts(child))
        said = f": {rejected.row.message}" if rejected.row.message else ""
        return replace(self, rejection=f"{rejected.row.tool} was rejected{said}"), NOTHING

    # dispatch -----------------------------------------------------------------------------------------------

    @refusing
    def prepare_tool_dispatch(self, payload: object) -> tuple[Self, Effects]:
        """The batch as it will stand: what runs is pending, under its key; what was settled before stays settled."""
        assert self.batch is not None
        started = {child.row.tool_invocation_id: self._started(child.row) for child in self._to_run()}
        rows = tuple(started.get(row.tool_invocation_id, row) for row in self._rows())
        context, command = self.drafted(Move.TOOL_DISPATCH, **self._batch_on_record(), request=None, decisions=())
        command = replace(command, tools=rows, contents=self._texts())
        return context.opened(command), NOTHING

    def _to_run(self) -> list[ChildFact]:
        assert self.batch is not None
        return [child for child in self.batch.children if child.rank is Rank.AUTHORIZED or child.runnable]

    @staticmethod
    def _started(row: ToolRow) -> ToolRow:
        return replace(row, status=ToolStatus.PENDING, attempt=row.attempt + 1)

    def _rows(self) -> tuple[ToolRow, ...]:
        assert self.batch is not None
        return tuple(child.row for child in self.batch.children)

    def _batch_on_record(self) -> dict[str, object]:
        """The draft's fields that say which batch this is; a stored answer and the call are consumed by it."""
        assert self.batch is not None
        ids = tuple(child.row.tool_invocation_id for child in self.batch.children)
        return {"batch": ids, "batch_call_id": self.batch.llm_call_id, "answer": None, "llm_call_id": None}

    def _texts(self) -> tuple[Content, ...]:
        """Bodies of the results that are known before anything ran."""
        assert self.batch is not None
        return tuple(
            Content.of(child.text)
            for child in self.batch.children
            if child.row.output is not None and child.row.attempt == 0
        )

    def apply_tool_dispatch(self, payload: BarrierAnswer) -> tuple[Self, Effects]:
        """The batch is on record: its calls may start."""
        return self.applied(payload)

    def dispatch_children(self, payload: object) -> tuple[Self, Effects]:
        """Let the calls go. Their barrier has committed, and this is the only place that dispatches."""
        assert self.batch is not None
        run = self._to_run()  # I1
        names = [child.row.tool_invocation_id for child in run]
        told = tuple(Tell(child.row.tool_invocation_id, "dispatch", Dispatch(child.row.attempt + 1)) for child in run)
        # The body's physical end is waited for even where nothing else is: it settles the operation of that name.
        return replace(
            self, batch=self.batch.ranked(Rank.DISPATCHED, *names), operations=self.operations.union(names)
        ), told

    # results ------------------------------------------------------------------------------------------------

    def record_results(self, payload: object) -> tuple[Self, Effects]:
        """In call order, whatever order they came in: results for the journal, messages for the model."""
        assert self.batch is not None
        entries: list[JournalEntry] = []
        said: list[Message] = []
        for child in self.batch.children:
            entries += self._result_entries(child, child.text)
            said.append(Message("tool", child.text, tool_call_id=child.row.tool_call_id))
        return replace(self, journal=(*self.journal, *entries), unsaid=(*self.unsaid, *said)), NOTHING

    def _result_entries(self, child: ChildFact, text: str) -> list[JournalEntry]:
        row = child.row
        meta: dict[str, Any] = {
            "tool_call_id": row.tool_call_id,
            "tool": row.tool,
            "status": str(row.status),
            "attempt": row.attempt,
            "seconds": round(row.duration, 6),
        }
        if row.error is not None:
            meta["error"] = attrs.asdict(row.error)
        # A completed call's text is the body that its outcome has recorded, under a digest that need not be made again.
        known = row.output if row.status is ToolStatus.COMPLETED else None
        content = Content.of(text) if known is None else Content(known, text)
        said = {"tool_call_id": row.tool_call_id}
        return [
            JournalEntry(JournalKind.TOOL_RESULT, self.execution_id, self.now, content, meta),
            JournalEntry(JournalKind.TOOL_MESSAGE, self.execution_id, self.now, content, said),
        ]
