"""`pawl ls`: the executions of a store, oldest first."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import attrs

from pawl.runtime.execution.output import ended
from pawl.runtime.records.evolution import refusal
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.store.port import LARGEST, Store, Transaction
from pawl.tools.cli.output import Misuse, as_json, err, out
from pawl.tools.cli.record import holder, state
from pawl.tools.cli.stores import opened
from pawl.tools.cli.timing import short
from pawl.tools.cli.words import excerpt, span

_PAGE = 500
_STYLES = {
    "completed": "green", "suspended": "yellow", "needs_resolution": "yellow", "unclaimed": "yellow",
    "failed": "red", "rejected": "red", "blocked": "red", "cancelled": "dim",
}  # fmt: skip


@attrs.frozen
class _Line:
    record: ExecutionRecord
    awaiting: Awaiting | None
    state: str
    input: str
    refused: str | None = None
    """Why this Pawl leaves the run alone, though nobody else runs it now."""


def ls(db: str, agent: str | None, open_only: bool, limit: int, json: bool) -> None:
    """Print the last `limit` executions."""
    if limit > LARGEST:
        raise Misuse(f"--limit {limit!s:.40} is more than any store holds; leave out some digits")
    with opened(db) as store:
        found, left_out = _last(store, agent, open_only, limit)
    if json:
        as_json({"executions": [_as_data(line) for line in found], "earlier": left_out})
        return
    if left_out:
        err(f"{left_out} earlier ones are not shown; `--limit {limit + left_out}` shows them")
    if not found:
        err(f"no {'open ' if open_only else ''}executions{f' of agent {agent}' if agent is not None else ''}")
        return
    now = time.time()
    rows = [("EXECUTION", "AGENT", "STATE", "REV", "AGE", "INPUT"), *(_cells(line, now) for line in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row, style in zip(rows, ("bold", *(_STYLES.get(line.state, "") for line in found)), strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        out("  ".join((*cells, row[-1])).rstrip(), style)
    for line in found:
        if line.refused is not None:
            err(f"left alone: {line.refused}")


def _last(store: Store, agent: str | None, open_only: bool, limit: int) -> tuple[list[_Line], int]:
    """The last `limit`, and how many there are before."""

    def read(tx: Transaction) -> tuple[list[_Line], int]:
        kept: deque[tuple[ExecutionRecord, Awaiting | None]] = deque(maxlen=limit)
        total, after = 0, ""
        while page := tx.executions.list(agent, open_only, after, _PAGE):
            kept.extend(page)
            total, after = total + len(page), page[-1][0].execution_id
        return [_line(tx, record, awaiting) for record, awaiting in kept], total - len(kept)

    return store.read(read)


def _line(tx: Transaction, record: ExecutionRecord, awaiting: Awaiting | None) -> _Line:
    text = tx.contents.get(record.input)
    if ended(record):
        return _Line(record, None, record.status, text)
    root = tx.agents.get(record.agent_id)
    assert root is not None
    lease = tx.owners.get(root.owner) if root.owner is not None else None
    now = state(record, awaiting, holder(root, lease))
    return _Line(record, awaiting, now, text, refusal(record, awaiting) if now != "running" else None)


def _cells(line: _Line, now: float) -> tuple[str, ...]:
    record = line.record
    age = span(max(1.0, now - record.created_at))
    return (
        record.execution_id,
        excerpt(record.agent_id, 24),
        line.state + short(record, now) + (", left alone" if line.refused is not None else ""),
        str(record.revision),
        age,
        excerpt(line.input, 48),
    )


def _as_data(line: _Line) -> dict[str, Any]:
    record = line.record
    return {
        "execution_id": record.execution_id,
        "agent_id": record.agent_id,
        "definition": record.definition,
        "version": record.definition_version,
        "state": line.state,
        "status": record.status,
        "phase": record.phase,
        "revision": record.revision,
        "awaiting": line.awaiting,
        "refused": line.refused,
        "request_id": record.request.id if record.request is not None else None,
        "expires_at": record.request.expires_at if record.request is not None else None,
        "deadline": record.deadline,
        "time_left": record.time_left,
        "start_id": record.start_id,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "input": line.input,
    }
