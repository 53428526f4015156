"""What a world has seen of tools: each entry into a body, with what became of it."""

from __future__ import annotations

from typing import Any

import attrs

from pawl.runtime.records.tools import ToolRow
from pawl.runtime.simulation.witness import Entry, Performed
from pawl.runtime.simulation.world import World


@attrs.frozen
class ToolRun:
    """One entry into a tool's body.

    `result` is what the model reads, `error` the text of what was raised; both are None for a body that has not come
    to its end. `at` is in unix seconds of the virtual clock.
    """

    tool: str
    arguments: dict[str, Any]
    result: str | None
    error: str | None
    attempt: int
    idempotency_key: str
    tool_call_id: str
    execution_id: str
    at: float


def tool_runs(world: World) -> tuple[ToolRun, ...]:
    """Entries in order."""
    last = {entry.idempotency_key: place for place, entry in enumerate(world.witness.entries)}
    rows: dict[str, ToolRow] = {}
    for execution_id in {entry.execution_id for entry in world.witness.entries}:
        rows |= {row.idempotency_key: row for row in world.rows(execution_id)}
    return tuple(
        _run(entry, rows.get(entry.idempotency_key), _end(world, entry, last[entry.idempotency_key] == place))
        for place, entry in enumerate(world.witness.entries)
    )


def _end(world: World, entry: Entry, last: bool) -> Performed:
    """The witness keeps the end of the last entry of each key."""
    return world.witness.ended.get(entry.idempotency_key, Performed()) if last else Performed()


def _run(entry: Entry, row: ToolRow | None, end: Performed) -> ToolRun:
    arguments = dict(row.arguments) if row is not None and row.arguments is not None else {}
    return ToolRun(
        tool=entry.tool,
        arguments=arguments,
        result=end.result,
        error=end.error,
        attempt=entry.attempt,
        idempotency_key=entry.idempotency_key,
        tool_call_id=entry.tool_call_id,
        execution_id=entry.execution_id,
        at=entry.at,
    )
