"""Arguments that a person edits: the real ones go into the call's row, what may be shown goes on every other record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from pawl.runtime.records import ids
from pawl.runtime.records.approvals import Decision
from pawl.runtime.records.canonical import canonical, digest
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.redaction import ALL, Unrestorable, hidden, picked, restored, same_outline
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Transaction

Fit: TypeAlias = Callable[[ToolRow, dict[str, Any]], tuple[dict[str, Any], tuple[str, ...]]]
"""(row, edited arguments) → (arguments as the tool takes them, the places in them that are redacted)."""


def bound(row: ToolRow) -> str:
    """The digest that binds a decision to the real arguments of a call.

    Where some are redacted it is salted with the id of the model call, which no request and no event shows: else a
    short secret could be found by trying them all.
    """
    salt = [row.llm_call_id] if row.redacted else []
    return digest(canonical([row.tool_invocation_id, row.arguments or {}, *salt]))


def asked_about(tx: Transaction, record: ExecutionRecord, request_id: str) -> tuple[ToolRow, ...]:
    """The rows of the model answer that a request, pending or decided, is about."""
    execution_id, call = record.execution_id, record.batch_call_id
    if call is not None and ids.request_id(execution_id, call) == request_id:
        return tuple(tx.tools.of_execution(execution_id, call))
    rows = tx.tools.of_execution(execution_id)
    return tuple(row for row in rows if ids.request_id(execution_id, row.llm_call_id) == request_id)


def with_real_values(decisions: Sequence[Decision], rows: Sequence[ToolRow]) -> tuple[Decision, ...]:
    """Decisions whose edits have the real value wherever a redacted one was left as it was.

    Raises InvalidArguments where it is not known which value was meant.
    """
    calls = {row.tool_call_id: row for row in rows}
    return tuple(_with_real_values(decision, calls.get(decision.tool_call_id)) for decision in decisions)


def _with_real_values(decision: Decision, row: ToolRow | None) -> Decision:
    if decision.edit is None or row is None or not row.redacted:
        return decision
    try:
        return attrs.evolve(decision, edit=restored(decision.edit, row.arguments or {}, row.redacted))
    except Unrestorable as error:
        raise InvalidArguments(f"the edit of {decision.tool_call_id!r}: {error}") from None


def is_same(recorded: Decision, decision: Decision, row: ToolRow | None) -> bool:
    """Whether a decision, with real values, is the one on record; what is redacted there is in the row."""
    if recorded.verdict != decision.verdict or (recorded.edit is None) is not (decision.edit is None):
        return False
    if recorded.edit is None or decision.edit is None:
        return True
    if row is None or not row.redacted:
        return recorded.edit == decision.edit
    shown, places = hidden(decision.edit, row.redacted), row.redacted
    return recorded.edit == shown and picked(decision.edit, places) == picked(row.arguments or {}, places)


def recorded(
    decisions: Sequence[Decision], rows: Sequence[ToolRow], fit: Fit
) -> tuple[tuple[Decision, ...], tuple[ToolRow, ...]]:
    """The decisions as records keep them, and the rows whose arguments they replace."""
    calls = {row.tool_call_id: row for row in rows}
    kept, changed = list(decisions), []
    for at, decision in enumerate(decisions):
        row = calls.get(decision.tool_call_id)
        if decision.edit is not None and row is not None:
            arguments, places = fit(row, decision.edit)
            changed.append(replace(row, arguments=arguments, redacted=places))
            kept[at] = attrs.evolve(decision, edit=hidden(decision.edit, places))
    return tuple(kept), tuple(changed)


def unchecked(row: ToolRow, edit: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fit where the tool's code is not here: nothing is shown any more if it is not known what may be."""
    known = not row.redacted or same_outline(edit, row.arguments or {})
    return edit, row.redacted if known else ALL
