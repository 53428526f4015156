"""The tool rows of one execution: derived ids, statuses, results, and the batch that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pawl.runtime.records import ids
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import ToolRow, ToolStatus
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.rules import call_key
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Asked, Result, Stretch

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
    if stretch.whole:
        _results(reader, stretch, rows)
    return rows


def _row(tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch, row: ToolRow) -> None:
    place = ("tools", row.tool_invocation_id)
    parts = (row.execution_id, row.llm_call_id, row.tool_call_id)
    reader.hold(row.tool_invocation_id == ids.tool_invocation_id(*parts), "key", "its id is not derived right", *place)
    reader.hold(row.idempotency_key == ids.idempotency_key(*parts), "key", "its key is not derived right", *place)
    if stretch.whole:
        asked = stretch.calls.get(parts[1:])
        if asked is None:
            reader.find("batch", f"no recorded answer asks for {row.tool_call_id} of {row.llm_call_id}", *place)
        elif asked != Asked(row.index, row.tool, row.raw_arguments, asked.secret):
            reader.find("batch", f"the answer of {row.llm_call_id} asks for another call there", *place)
        elif asked.secret and not row.redacted:
            reader.find("tool", "people were shown other arguments, and it keeps none from them", *place)
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
    never = row.status in (ToolStatus.AWAITING_APPROVAL, ToolStatus.REJECTED)
    ran = row.attempt == 0 or not never
    reader.hold(row.attempt >= 0 and ran, "tool", f"{what}, and has {row.attempt} attempts", *place)
    reader.hold(row.duration >= 0, "tool", f"it took {row.duration} seconds", *place)
    runs = row.attempt > 0 or row.status in _MOVING
    reader.hold(row.arguments is not None or not runs, "tool", "it may run, and has no arguments", *place)
    if record.status in TERMINAL:
        reader.hold(row.status not in _MOVING, "tool", f"{what}, and its execution has ended", *place)


def _batch(reader: Reader, record: ExecutionRecord, rows: Sequence[ToolRow]) -> None:
    place = ("executions", record.execution_id)
    if record.batch and record.batch_call_id is None:
        reader.find("batch", "it has a batch of no model call", *place)
    mine = [row.tool_invocation_id for row in rows if row.llm_call_id == record.batch_call_id]
    for name in record.batch:
        if name not in mine:
            reader.find("batch", f"{name} of its batch has no row of that model call", *place)
    for name in mine:
        if name not in record.batch:
            reader.find("batch", f"{name} of that model call is not in its batch", *place)
    order = sorted((row for row in rows if row.tool_invocation_id in record.batch), key=lambda row: row.index)
    if {*record.batch} == {*mine} and list(record.batch) != [row.tool_invocation_id for row in order]:
        reader.find("batch", "its batch is not in the order of the calls", *place)


def _results(reader: Reader, stretch: Stretch, rows: Sequence[ToolRow]) -> None:
    """Results on record are those of their rows, which do not change any more."""
    calls = {(row.llm_call_id, row.tool_call_id): row for row in rows}
    for result in stretch.results:
        row = calls.get((result.llm_call_id, result.meta["tool_call_id"]))
        if row is None:
            _answered(reader, stretch, result)
            continue
        said = {
            "tool_call_id": row.tool_call_id,
            "tool": row.tool,
            "status": str(row.status),
            "attempt": row.attempt,
            "seconds": round(row.duration, 6),
            **({} if row.error is None else {"error": attrs.asdict(row.error)}),
        }
        other = row.status is ToolStatus.COMPLETED and result.digest not in (row.output, "missing")
        if other or result.meta != said:
            reader.find("tool", "the journal has another result of it", "tools", row.tool_invocation_id)


def _answered(reader: Reader, stretch: Stretch, result: Result) -> None:
    """A result without a row: of an answer none of whose calls could run, so that nothing was dispatched."""
    asked = stretch.calls.get((result.llm_call_id, result.meta["tool_call_id"]))
    mine = asked is not None and asked.tool == result.meta["tool"] and result.meta["attempt"] == 0
    what = "it is the result of no call of its answer"
    reader.hold(mine, "journal-record", what, "journal", str(result.place))
