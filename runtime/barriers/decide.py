"""Decisions about an approval request: which are new, what they make of the record, and proof of them."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pawl.runtime.barriers.edits import bound, is_same
from pawl.runtime.records.approvals import Decision, Receipt, Verdict
from pawl.runtime.records.canonical import canonical, digest
from pawl.runtime.records.errors import AlreadyDecided, InvalidArguments, StaleRequest
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalEntry, JournalKind
from pawl.runtime.records.tools import ToolRow


def undecided(record: ExecutionRecord) -> tuple[str, ...]:
    """The tool call ids of the pending request that nobody has decided."""
    if record.request is None:
        return ()
    decided = {decision.tool_call_id for decision in record.decisions}
    return tuple(item.tool_call_id for item in record.request.items if item.tool_call_id not in decided)


def fully_decided(record: ExecutionRecord) -> bool:
    """Whether the run can go on: everything is decided, or a rejection has made the rest moot."""
    rejected = any(decision.verdict is Verdict.REJECTED for decision in record.decisions)
    return not undecided(record) or (record.on_rejection == "end" and rejected)


def receipts(record: ExecutionRecord, decisions: Sequence[Decision], now: float) -> tuple[Receipt, ...]:
    """One receipt a decision, named after the request and the item: deciding again finds the same one."""
    assert record.request is not None
    return tuple(
        Receipt(
            receipt_id(record.request.id, decision.tool_call_id),
            record.request.id,
            decision,
            now,
            record.execution_id,
        )
        for decision in decisions
    )


def receipt_id(request_id: str, tool_call_id: str) -> str:
    """Derived: the same decision has the same receipt in every process."""
    return f"receipt-{digest(canonical([request_id, tool_call_id]))[7:39]}"


def approval_entry(record: ExecutionRecord, decisions: Sequence[Decision], now: float) -> JournalEntry:
    """The decisions as the journal has them."""
    assert record.request is not None
    meta = {"request_id": record.request.id, "decisions": [_plain(decision) for decision in decisions]}
    return JournalEntry(JournalKind.APPROVAL_DECIDED, record.execution_id, now, None, meta)


def _plain(decision: Decision) -> dict[str, object]:
    return {**attrs.asdict(decision), "verdict": str(decision.verdict)}


def to_commit(
    record: ExecutionRecord,
    request_id: str,
    decisions: Sequence[Decision],
    earlier: Sequence[Receipt],
    rows: Sequence[ToolRow],
) -> tuple[Decision, ...]:
    """The decisions that are not on record yet; `rows` are those of the calls that the request asks about.

    The same decision again is not new; a different one raises AlreadyDecided. Raises StaleRequest when `request_id`
    is not the pending request and knows no receipts, or when the arguments of a call are not those that were asked
    about; InvalidArguments for an item that the request does not have.
    """
    calls = {row.tool_call_id: row for row in rows}
    known = {receipt.decision.tool_call_id: receipt.decision for receipt in earlier}
    fresh: dict[str, Decision] = {}
    for decision in decisions:
        name = decision.tool_call_id
        before = known.get(name)
        if before is None:
            again = fresh.setdefault(name, decision)
            same = (again.verdict, again.edit) == (decision.verdict, decision.edit)
        else:
            again, same = before, is_same(before, decision, calls.get(name))
        if not same:
            raise AlreadyDecided(name, str(again.verdict))
    if not fresh:
        return ()
    if record.request is None or record.request.id != request_id:
        raise StaleRequest(
            f"request {request_id} is not the pending request of execution {record.execution_id}; "
            "look up the current one and decide that"
        )
    items = {item.tool_call_id: item for item in record.request.items}
    for name in fresh:
        if name not in items:
            raise InvalidArguments(f"request {request_id} has no item {name!r:.100}; it has {', '.join(sorted(items))}")
        if name in calls and bound(calls[name]) != items[name].digest:
            raise StaleRequest(f"the arguments of call {name!r} are not those that request {request_id} asks about")
    return tuple(fresh.values())
