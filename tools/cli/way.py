"""The way a run took through its machine, as far as its record tells: from one barrier that committed to the next.

Between two barriers it is the shortest way over the states that the records tell of, past no other barrier. What leaves
no record is not on it: a barrier that was tried again, a host that looked and let go; a trace has that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from pawl.generated.agent_invocation import MACHINE, State
from pawl.runtime.records.journal import JournalKind
from pawl.tools.cli.history import Step
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.outline import outer

Hop = tuple[str, str]

STATES: Final = {info.barrier: info.name for info in MACHINE.states if info.barrier is not None}
"""The state of the machine that is a barrier."""

_FAILED_IN: Final = {"ToolError": State.EVALUATING_TOOLS, "IterationsExhausted": State.RECORDING_TOOL_RESULTS}
"""Where a run stops that failed with that."""

_ANEW: Final = State.RECOVERING
"""Where a process begins with a run that another one left."""

_NOT_BY_CHANCE: Final = {*STATES.values(), _ANEW, State.RECOVERY_REQUIRED, State.QUIESCING}
"""States that no way leads through unless a record tells of them."""


def way(model: MachineModel, steps: Sequence[Step], end: str) -> list[Hop]:
    """Hops between states, from the initial one to `end`; where a process died they begin anew at `recovering`."""
    rows = _rows(model)
    hops: list[Hop] = []
    here, before = model.initial, ""
    for step in steps:
        for stop in (*_between(before, step), STATES[step.barrier]):
            if stop != _ANEW:
                hops += _shortest(rows, here, stop)
            elif here == STATES["resolution"]:
                hops.append((here, stop))
            here = stop
        before = step.barrier
    return hops if here == end else hops + _shortest(rows, here, end)


def _between(before: str, step: Step) -> Iterator[str]:
    """The states that a step tells of, in order, after the barrier `before`."""
    kinds = {entry.kind for entry in step.entries}
    calls = {entry.meta.get("status") for entry in step.entries if entry.kind is JournalKind.LLM_CALL_RECORDED}
    if before == "resolution" or "lost" in calls or before == step.barrier == "tool_dispatch":
        yield _ANEW
    match step.barrier:
        case "provider_dispatch":
            if "failed" in calls:
                yield State.RETRYING_LLM
            if JournalKind.TOOL_RESULT in kinds:
                yield State.EVALUATING_TOOLS if before == "resolution" else State.WAITING_FOR_TOOLS
                yield State.RECORDING_TOOL_RESULTS
        case "suspension":
            yield State.WAITING_FOR_TOOLS
        case "tool_dispatch":
            if before != "tool_dispatch":
                yield State.EVALUATING_TOOLS if before == "resolution" else State.WAITING_FOR_TOOLS
        case "resolution":
            if before != "resolution":
                yield _ANEW
            yield State.AWAITING_RESOLUTION
        case "outcome":
            yield from _ending(before, step)


def _ending(before: str, step: Step) -> Iterator[str]:
    last = step.entries[-1]
    match last.kind:
        case JournalKind.EXECUTION_COMPLETED:
            yield State.OUTPUT_FILTERING
        case JournalKind.EXECUTION_REJECTED:
            yield from (State.WAITING_FOR_TOOLS, State.EVALUATING_TOOLS)
        case JournalKind.EXECUTION_CANCELLED if before == "suspension":
            yield _ANEW
        case JournalKind.EXECUTION_FAILED:
            stop = _FAILED_IN.get(last.meta.get("error", {}).get("type", ""))
            yield from (State.WAITING_FOR_TOOLS, stop) if stop is not None else ()
    yield State.QUIESCING


def _rows(model: MachineModel) -> dict[str, list[str]]:
    """Targets by source, in the order of the rows, as the states that a person would name."""
    rows: dict[str, list[str]] = {}
    for row in model.rows:
        if row.target is not None:
            source, target = outer(model, row.source), outer(model, row.target)
            if source != target:
                rows.setdefault(source, []).append(target)
    return rows


def _shortest(rows: dict[str, list[str]], start: str, goal: str) -> list[Hop]:
    """The hops of the shortest way; none where there is no way."""
    came: dict[str, tuple[Hop, ...]] = {start: ()}
    open_ = deque([start])
    while open_:
        here = open_.popleft()
        for target in rows.get(here, ()):
            hops = (*came[here], (here, target))
            if target == goal:
                return list(hops)
            if target not in came and target not in _NOT_BY_CHANCE:
                came[target] = hops
                open_.append(target)
    return []
