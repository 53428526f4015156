"""The approval requests of one execution, decisions about them, and the receipts: each item is decided once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from pawl.runtime.barriers.decide import receipt_id, receipts
from pawl.runtime.barriers.edits import bound
from pawl.runtime.records import ids
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Transaction
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Decided, Stretch


def check_approvals(
    tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch, rows: Sequence[ToolRow]
) -> None:
    """Look over the pending request, and every receipt of the execution against its journal."""
    _pending(tx, reader, record, stretch, rows)
    found: list[Receipt] = []
    for request in stretch.requests:
        known = tx.upkeep.request_of(request)
        if known != record.execution_id:
            reader.find("request", f"it is known as one of {known or 'no execution'}", "requests", request)
        try:
            found += tx.decisions.of_request(request)
        except PawlError:
            return  # told of with the table
    for receipt in found:
        name = receipt_id(receipt.request_id, receipt.decision.tool_call_id)
        reader.hold(receipt.id == name, "key", "its id is not derived right", "decisions", receipt.id)
        if receipt.execution_id != record.execution_id:
            what = f"its receipt is of execution {receipt.execution_id or '?'}"
            reader.find("decision", what, "decisions", receipt.id)
    mine = [receipt.decision for receipt in found]
    for decision in record.decisions:
        if record.request is None and decision not in mine:
            what = f"the decision about {decision.tool_call_id} has no receipt that says the same"
            reader.find("decision", what, "executions", record.execution_id)
    if stretch.whole:
        _against_journal(reader, stretch, found)


def _pending(
    tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch, rows: Sequence[ToolRow]
) -> None:
    request, place = record.request, ("executions", record.execution_id)
    calls = {row.tool_invocation_id: row for row in rows}
    if request is None:
        return
    if stretch.whole:
        made = (tuple(item.tool_call_id for item in request.items), request.created_at)
        said = stretch.requests.get(request.id)
        reader.hold(said == made, "request", "the journal does not ask for the same at that time", *place)
    derived = ids.request_id(record.execution_id, record.batch_call_id or "")
    reader.hold(request.id == derived, "request", "its id is not derived right", *place)
    mine = (request.execution_id, request.agent_id) == (record.execution_id, record.agent_id)
    reader.hold(mine, "request", f"it is of {request.execution_id} of {request.agent_id}", *place)
    if tx.upkeep.request_of(request.id) != record.execution_id:
        reader.find("request", "it cannot be found by its id", "requests", request.id)
    edited = {decision.tool_call_id for decision in record.decisions if decision.edit is not None}
    for item in request.items:
        row = calls.get(item.tool_invocation_id)
        if row is None or (row.tool_call_id, row.tool) != (item.tool_call_id, item.tool):
            reader.find("request", f"it asks about {item.tool_call_id}, of which there is no such row", *place)
        elif item.tool_call_id not in edited and (bound(row), row.shown) != (item.digest, item.arguments):
            what = f"the arguments of {item.tool_call_id} are not those that it asks about"
            reader.find("request", what, "tools", item.tool_invocation_id)
    asked = {item.tool_call_id for item in request.items}
    for name in sorted({decision.tool_call_id for decision in record.decisions} - asked):
        reader.find("decision", f"{name} is decided, and was not asked about", *place)
    times = Counter(decision.tool_call_id for decision in record.decisions)
    for name in sorted(name for name, count in times.items() if count > 1):
        reader.find("decision", f"{name} is decided {times[name]} times", *place)
    _receipts(tx, reader, record)


def _receipts(tx: Transaction, reader: Reader, record: ExecutionRecord) -> None:
    assert record.request is not None
    try:
        kept = {receipt.id: receipt for receipt in tx.decisions.of_request(record.request.id)}
    except PawlError:
        return
    for wanted in receipts(record, record.decisions, 0.0):
        receipt = kept.pop(wanted.id, None)
        if receipt is None or receipt.decision != wanted.decision:
            name = wanted.decision.tool_call_id
            reader.find("decision", f"the decision about {name} has no receipt that says the same", "decisions", name)
    for name in kept:
        reader.find("decision", "it is the receipt of a decision that is not on record", "decisions", name)


def _against_journal(reader: Reader, stretch: Stretch, found: Sequence[Receipt]) -> None:
    said = Counter(stretch.decided)
    kept = Counter(_decided(receipt) for receipt in found)
    for one in sorted((said - kept) | (kept - said), key=attrs.astuple):
        by = "the journal" if said[one] > kept[one] else "its receipt"
        what = f"{one.tool_call_id} was {one.verdict} at {one.at} by {by} alone"
        reader.find("decision", what, "decisions", one.request_id)
    for one in said:
        if one.tool_call_id not in stretch.requests.get(one.request_id, ((), 0.0))[0]:
            what = f"{one.tool_call_id} was decided, and {one.request_id} did not ask about it"
            reader.find("decision", what, "journal", one.request_id)


def _decided(receipt: Receipt) -> Decided:
    decision = receipt.decision
    words = canonical({**attrs.asdict(decision), "verdict": str(decision.verdict)})
    return Decided(receipt.request_id, decision.tool_call_id, str(decision.verdict), receipt.decided_at, words)
