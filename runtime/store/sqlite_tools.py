"""Rows of tool calls and receipts of decisions in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import AlreadyDecided, IdConflict
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.rules import call_key
from pawl.runtime.store.sqlite_rows import Rows, decoded

_SELECT = "SELECT record FROM tools WHERE execution = (SELECT id FROM executions WHERE execution_id = ?)"

_PUT = """
    INSERT INTO tools (tool_invocation_id, execution, call, record) VALUES (?, ?, ?, ?)
    ON CONFLICT (tool_invocation_id) DO UPDATE SET record = excluded.record
    WHERE execution = excluded.execution AND call = excluded.call
"""


class SqliteTools:
    """Tool rows, replaced by id; a row keeps its place in the order of creation."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, rows: Sequence[ToolRow]) -> None:
        """Insert or replace rows by tool_invocation_id. Raises ExecutionNotFound, IdConflict."""
        for row in sorted(rows, key=_index):
            key = (row.tool_invocation_id, self._rows.execution(row.execution_id)[0], call_key(row.llm_call_id))
            if not self._rows.execute(_PUT, (*key, encode(row))).rowcount:
                raise IdConflict(f"tool invocation {row.tool_invocation_id!r} belongs to another model call")

    def get(self, tool_invocation_id: str) -> ToolRow | None:
        """One row, or None."""
        found = self._rows.execute(
            "SELECT record FROM tools WHERE tool_invocation_id = ?", (tool_invocation_id,)
        ).fetchone()
        return None if found is None else decoded(found[0], ToolRow, tool_invocation_id, "tool_invocation_id")

    def of_execution(self, execution_id: str, llm_call_id: str | None = None) -> Sequence[ToolRow]:
        """The rows of an execution (of one model answer), in order of (creation, index)."""
        if llm_call_id is None:
            found = self._rows.all(f"{_SELECT} ORDER BY id", (execution_id,))
            return [decode(record, ToolRow) for (record,) in found]
        found = self._rows.all(f"{_SELECT} AND call = ? ORDER BY id", (execution_id, call_key(llm_call_id)))
        rows = [decode(record, ToolRow) for (record,) in found]
        return [row for row in rows if row.llm_call_id == llm_call_id]


def _index(row: ToolRow) -> int:
    return row.index


class SqliteDecisions:
    """Receipts, one an item."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, receipts: Sequence[Receipt]) -> None:
        """Insert; the same receipt again is nothing. Raises AlreadyDecided when an item has another one."""
        for receipt in receipts:
            key = (receipt.request_id, receipt.decision.tool_call_id)
            done = self._rows.execute(
                "INSERT INTO decisions (request_id, tool_call_id, decided_at, record) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (*key, receipt.decided_at, encode(receipt)),
            )
            if not done.rowcount:
                (text,) = self._rows.execute(
                    "SELECT record FROM decisions WHERE request_id = ? AND tool_call_id = ?", key
                ).fetchone()
                stands = decode(text, Receipt)
                if stands != receipt:
                    raise AlreadyDecided(stands.decision.tool_call_id, stands.decision.verdict)

    def of_request(self, request_id: str) -> Sequence[Receipt]:
        """All receipts of a request, in order of decision."""
        found = self._rows.all(
            "SELECT record FROM decisions WHERE request_id = ? ORDER BY decided_at, id", (request_id,)
        )
        return [decode(record, Receipt) for (record,) in found]
