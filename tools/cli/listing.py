"""`pawl ls`: the executions of a store, oldest first."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import attrs

from pawl.runtime.execution.output import ended
from pawl.runtime.records.errors import AgentNotFound, StoreCorrupt
from pawl.runtime.records.evolution import refusal
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.store.ownership import existing_root
from pawl.runtime.store.port import LARGEST, Store, Transaction
from pawl.runtime.store.unreadable import Surveyed, Unreadable
from pawl.tools.cli.output import Misuse, as_json, err, out
from pawl.tools.cli.record import holder, state
from pawl.tools.cli.stores import opened
from pawl.tools.cli.timing import short
from pawl.tools.cli.words import excerpt, printable, span

_PAGE = 500
_UNREADABLE = "unreadable"
"""The state of an execution that is damaged: nothing but what is kept beside it can be told."""
_STYLES = {
    "completed": "green", "suspended": "yellow", "needs_resolution": "yellow", "unclaimed": "yellow",
    "failed": "red", "rejected": "red", "blocked": "red", "cancelled": "dim", _UNREADABLE: "bold red",
}  # fmt: skip


@attrs.frozen
class _Line:
    found: Surveyed
    awaiting: Awaiting | None
    state: str
    input: str | None
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
            err(f"left alone: {printable(line.refused)}")
    for line in found:
        if isinstance(line.found, Unreadable):
            err(printable(str(line.found)), "red")


def _last(store: Store, agent: str | None, open_only: bool, limit: int) -> tuple[list[_Line], int]:
    """The last `limit`, and how many there are before."""

    def read(tx: Transaction) -> tuple[list[_Line], int]:
        kept: deque[tuple[Surveyed, Awaiting | None]] = deque(maxlen=limit)
        total, after = 0, ""
        while page := tx.executions.survey(agent, open_only, after, _PAGE):
            kept.extend(page)
            total, after = total + len(page), page[-1][0].execution_id
        return [_whatever_line(tx, found, awaiting) for found, awaiting in kept], total - len(kept)

    return store.read(read)


def _whatever_line(tx: Transaction, found: Surveyed, awaiting: Awaiting | None) -> _Line:
    """A line in any case: what one execution or its agent has of damage must not hide the others."""
    if isinstance(found, ExecutionRecord):
        try:
            return _line(tx, found, awaiting)
        except (StoreCorrupt, AgentNotFound) as error:
            found = Unreadable(found.execution_id, found.agent_id, found.created_at, str(error))
    return _Line(found, awaiting, _UNREADABLE, None)


def _line(tx: Transaction, record: ExecutionRecord, awaiting: Awaiting | None) -> _Line:
    text = tx.contents.get(record.input)
    if ended(record):
        return _Line(record, None, record.status, text)
    root = existing_root(tx, record.agent_id)
    lease = tx.owners.get(root.owner) if root.owner is not None else None
    now = state(record, awaiting, holder(root, lease))
    return _Line(record, awaiting, now, text, refusal(record, awaiting) if now != "running" else None)


def _cells(line: _Line, now: float) -> tuple[str, ...]:
    found = line.found
    name, agent, age = found.execution_id, excerpt(found.agent_id, 24), span(max(1.0, now - found.created_at))
    if isinstance(found, Unreadable):
        return printable(name), agent, line.state, "-", age, "-"
    now_at = line.state + short(found, now) + (", left alone" if line.refused is not None else "")
    return name, agent, now_at, str(found.revision), age, excerpt(line.input or "", 48)


def _as_data(line: _Line) -> dict[str, Any]:
    """The same keys for each; what an unreadable one does not tell is null."""
    found = line.found
    record = found if isinstance(found, ExecutionRecord) else None
    request = record.request if record is not None else None
    return {
        "execution_id": found.execution_id,
        "agent_id": found.agent_id,
        "definition": getattr(record, "definition", None),
        "version": getattr(record, "definition_version", None),
        "state": line.state,
        "status": getattr(record, "status", None),
        "phase": getattr(record, "phase", None),
        "revision": getattr(record, "revision", None),
        "awaiting": line.awaiting,
        "refused": line.refused,
        "unreadable": found.why if isinstance(found, Unreadable) else None,
        "request_id": request.id if request is not None else None,
        "expires_at": request.expires_at if request is not None else None,
        "deadline": getattr(record, "deadline", None),
        "time_left": getattr(record, "time_left", None),
        "start_id": getattr(record, "start_id", None),
        "created_at": found.created_at,
        "updated_at": getattr(record, "updated_at", None),
        "input": line.input,
    }
