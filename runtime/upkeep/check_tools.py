"""The tool rows of one execution: derived ids, statuses, results, and the batch that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from pawl.runtime.records import ids
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import ToolRow, ToolStatus
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.rules import call_key
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Stretch

_MOVING = frozenset({ToolStatus.PENDING, ToolStatus.AUTHORIZED, ToolStatus.AWAITING_APPROVAL})


def check_tools(tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch) -> Sequence[ToolRow]:
    """Look over the rows; those that decode are returned."""
    rows: list[ToolRow] = []
    for stored in tx.upkeep.tools(record.execution_id):
        row = reader.decode(stored, ToolRow, "tools")
        if row is None:
            continue
        reader.same("tools", stored.key, "tool_invocation_id", stored.key, row.tool_invocation_id)
        reader.same("tools", stored.key, "execution_id", record.execution_id, row.execution_id)
        reader.columns(stored, "tools", {"call": call_key(row.llm_call_id)})
        _row(tx, reader, record, stretch, row)
        rows.append(row)
    _batch(reader, record, rows)
    return rows


def _row(tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch, row: ToolRow) -> None:
    place = ("tools", row.tool_invocation_id)
    parts = (row.execution_id, row.llm_call_id, row.tool_call_id)
    reader.hold(row.tool_invocation_id == ids.tool_invocation_id(*parts), "key", "its id is not derived right", *place)
    reader.hold(row.idempotency_key == ids.idempotency_key(*parts), "key", "its key is not derived right", *place)
    if stretch.whole and parts[1:] not in stretch.calls:
        reader.find("batch", f"no recorded answer asks for {row.tool_call_id} of {row.llm_call_id}", *place)
    if row.output is not None and not tx.upkeep.has_content(row.output):
        reader.find("missing-body", f"its output {row.output} is not there", *place)
    what = f"it is {row.status}"
    if row.status is ToolStatus.COMPLETED:
        reader.hold(row.output is not None and row.error is None, "tool", f"{what} without a result", *place)
    elif row.status is ToolStatus.FAILED:
        reader.hold(row.error is not None, "tool", f"{what} without an error", *place)
    elif row.status is ToolStatus.PENDING:
        reader.hold(row.attempt > 0, "tool", f"{what}, and was never dispatched", *place)
    reader.hold(row.status is not ToolStatus.NEW, "tool", "it was never to be written as new", *place)
    reader.hold(row.attempt >= 0, "tool", f"it has {row.attempt} attempts", *place)
    if record.status in TERMINAL:
        reader.hold(row.status not in _MOVING, "tool", f"{what}, and its execution has ended", *place)


def _batch(reader: Reader, record: ExecutionRecord, rows: Sequence[ToolRow]) -> None:
    place = ("executions", record.execution_id)
    if record.batch and record.batch_call_id is None:
        reader.find("batch", "it has a batch of no model call", *place)
    mine = {row.tool_invocation_id: row for row in rows if row.llm_call_id == record.batch_call_id}
    for name in record.batch:
        if name not in mine:
            reader.find("batch", f"{name} of its batch has no row of that model call", *place)
    for name in mine:
        if record.batch and name not in record.batch:
            reader.find("batch", f"{name} of that model call is not in its batch", *place)
