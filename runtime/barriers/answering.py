"""What a person's answer writes, about a request or about a lost effect: the same with a session and without one."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pawl.runtime.barriers.decide import approval_entry, receipts
from pawl.runtime.barriers.edits import Fit, recorded
from pawl.runtime.barriers.facts import answer_entries, call_entry, counted
from pawl.runtime.barriers.resolve import MODEL, Performed, resolve_model, resolve_tool
from pawl.runtime.barriers.standing import moved
from pawl.runtime.records.approvals import Decision, Receipt
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.statuses import Move, Phase
from pawl.runtime.records.tools import ErrorInfo, ToolRow


@attrs.frozen
class Writing:
    """What a barrier is to write; who writes it adds its revision, its commit token and its authority."""

    record: ExecutionRecord
    journal: tuple[JournalEntry, ...]
    contents: tuple[Content, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    awaiting: Awaiting | None = None


def decided(
    record: ExecutionRecord, decisions: Sequence[Decision], rows: Sequence[ToolRow], fit: Fit, now: float
) -> Writing:
    """⟨approval⟩: decisions that are not on record yet. `rows` are those of the calls that the request asks about."""
    kept, edited = recorded(decisions, rows, fit)
    after = moved(replace(record, decisions=(*record.decisions, *kept)), Move.APPROVAL, now)
    return Writing(
        after,
        (approval_entry(record, kept, now),),
        tools=edited,
        receipts=receipts(record, kept, now),
        awaiting="approval" if after.phase == Phase.APPROVAL else None,
    )


def resolved_model(
    record: ExecutionRecord,
    outcome: Performed,
    answer: ModelAnswer,
    error: ErrorInfo | None,
    shown: Sequence[str],
    now: float,
) -> Writing:
    """⟨resolution⟩ of the lost model call, recorded where its own answer would have been.

    `shown` are the arguments of the calls that `answer` asks for, as people may see them.
    """
    name, call = record.execution_id, str(record.llm_call_id)
    journal = [_resolved(record, MODEL, outcome, now)]
    after = record
    if outcome == "succeeded":
        journal[:0] = answer_entries(name, call, answer, now, shown)
        after = counted(record, answer)
    elif outcome == "failed":
        journal.insert(0, call_entry(name, call, "failed", now))
    after = replace(after, **resolve_model(record, outcome, answer, error))
    return Writing(moved(after, Move.RESOLUTION, now), tuple(journal))


def resolved_tool(
    record: ExecutionRecord, row: ToolRow, outcome: Performed, result: str | None, error: ErrorInfo | None, now: float
) -> Writing:
    """⟨resolution⟩ of a call whose outcome is not known."""
    resolved = resolve_tool(row, outcome, result, error)
    return Writing(
        moved(record, Move.RESOLUTION, now),
        (_resolved(record, row.tool_call_id, outcome, now),),
        contents=(resolved.content,) if resolved.content is not None else (),
        tools=(resolved.row,),
    )


def _resolved(record: ExecutionRecord, subject: str, outcome: Performed, now: float) -> JournalEntry:
    meta = {"subject": subject, "outcome": outcome}
    return JournalEntry(JournalKind.RECOVERY_RESOLVED, record.execution_id, now, None, meta)
