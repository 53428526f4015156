"""The approval requests of one execution, decisions about them, and the receipts: each item is decided once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pawl.runtime.barriers.decide import receipts
from pawl.runtime.barriers.edits import bound
from pawl.runtime.records import ids
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Transaction
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Stretch


def check_approvals(
    tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch, rows: Sequence[ToolRow]
) -> None:
    """Look over the pending request, and every receipt of the execution against its journal."""
    _pending(tx, reader, record, rows)
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
        if receipt.execution_id != record.execution_id:
            what = f"its receipt is of execution {receipt.execution_id or '?'}"
            reader.find("decision", what, "decisions", receipt.id)
    if stretch.whole:
        _against_journal(reader, stretch, found)


def _pending(tx: Transaction, reader: Reader, record: ExecutionRecord, rows: Sequence[ToolRow]) -> None:
    request, place = record.request, ("executions", record.execution_id)
    calls = {row.tool_invocation_id: row for row in rows}
    if request is None:
        reader.hold(
            not record.decisions or record.status != "suspended", "decision", "decided, and nothing was asked", *place
        )
        return
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
    kept = Counter(
        (receipt.request_id, receipt.decision.tool_call_id, str(receipt.decision.verdict)) for receipt in found
    )
    for request, call, verdict in sorted((said - kept) | (kept - said)):
        times = (said[request, call, verdict], kept[request, call, verdict])
        what = f"{call} was {verdict} {times[0]} times by the journal, {times[1]} times by receipts"
        reader.find("decision", what, "decisions", request)
    for request, call, _ in said:
        if call not in stretch.requests.get(request, ()):
            reader.find("decision", f"{call} was decided, and {request} did not ask about it", "journal", request)
