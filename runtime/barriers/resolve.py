"""Resolutions: what an application's answer about an unknown effect makes of the record and the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

from pawl.runtime.records.executions import ExecutionRecord, StoredAnswer
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus

MODEL = "model"
"""The subject that is the model call; every other subject is a tool call id."""

Performed = Literal["succeeded", "failed", "not_performed"]


@attrs.frozen
class ResolvedTool:
    """A row as a resolution leaves it, and the body of its result where it has one."""

    row: ToolRow
    content: Content | None = None


def resolve_tool(row: ToolRow, outcome: Performed, result: str | None, error: ErrorInfo | None) -> ResolvedTool:
    """succeeded: recorded as its result; failed: as its error; not_performed: authorized, it will run now."""
    match outcome:
        case "succeeded":
            content = Content.of(result or "")
            return ResolvedTool(replace(row, status=ToolStatus.COMPLETED, output=content.digest), content)
        case "failed":
            why = error or ErrorInfo("ToolError", "reported as failed")
            return ResolvedTool(replace(row, status=ToolStatus.FAILED, error=why))
        case "not_performed":
            return ResolvedTool(replace(row, status=ToolStatus.AUTHORIZED))


def resolve_model(
    record: ExecutionRecord, outcome: Performed, answer: ModelAnswer | None, error: ErrorInfo | None
) -> dict[str, object]:
    """The record's fields after an answer about the lost model call."""
    assert record.llm_call_id is not None
    match outcome:
        case "succeeded":
            said = answer or ModelAnswer()
            stored = StoredAnswer(record.llm_call_id, said.text, said.calls)
            return {"answer": stored, "llm_call_id": None}
        case "failed":
            why = error or ErrorInfo("ModelError", "reported as failed")
            return {"answer": StoredAnswer(record.llm_call_id, "", error=why), "llm_call_id": None}
        case "not_performed":
            # It was counted when it was let go; the call that is made now is counted again.
            return {"run_model": True, "model_calls": max(0, record.model_calls - 1)}


def asked(rows: Sequence[ToolRow]) -> list[ToolRow]:
    """The calls that were started, have no outcome on record, and may not be repeated without asking."""
    return [row for row in rows if row.status is ToolStatus.PENDING and not row.repeatable]


def subjects(record: ExecutionRecord, rows: Sequence[ToolRow]) -> tuple[str, ...]:
    """What a resolution may be about: the lost model call, and the calls that are asked about."""
    lost = record.llm_call_id is not None and not record.run_model
    return (*((MODEL,) if lost else ()), *(row.tool_call_id for row in asked(rows)))
