"""The truth about effects whose outcome a run asks about, which only the world knows."""

from __future__ import annotations

from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.records.rests import Unresolved
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.client import truth
from pawl.runtime.simulation.expecting import Sight
from pawl.runtime.simulation.invariants import Violated
from pawl.runtime.simulation.stage import Run, Stage
from pawl.runtime.simulation.steps import Resolve


def answer_of(stage: Stage, run: Run, subject: str) -> Resolve:
    """The step that says what became of a subject: succeeded or failed if its body ran, else not performed."""
    one = _unresolved(stage, run, subject)
    outcome, result, error = truth(stage.world, one)
    tools = stage.definitions[stage.logical[run.agent]].tools
    if outcome == "succeeded" and one.tool in tools and tools[one.tool].raises is not None:
        outcome, result, error = "failed", None, tools[one.tool].raises  # whether or not it had come to that
    return Resolve(run=run.name, subject=subject, outcome=outcome, result=result, error=error, process=stage.ready)


def ran(stage: Stage, run: Run, subject: str) -> bool:
    """Whether the body of a call that a run asks about was entered."""
    key = _unresolved(stage, run, subject).idempotency_key
    return key is not None and stage.world.witness.ran(key)


def asks_rightly(stage: Stage, run: Run, subject: str) -> None:
    """Raise Violated unless the call was started, has no outcome, and may not be repeated without asking."""
    if subject == MODEL:
        return
    one = _unresolved(stage, run, subject)
    rows = stage.world.rows(Sight(stage, run).execution_id or "")
    row = next(row for row in rows if row.idempotency_key == one.idempotency_key)
    if row.status is not ToolStatus.PENDING or row.repeatable:
        raise Violated(f"I7: {row.tool} ({subject}) is asked about, and is {row.status} with the policy {row.policy}")


def _unresolved(stage: Stage, run: Run, subject: str) -> Unresolved:
    rest = Sight(stage, run).rest
    found = next((one for one in getattr(rest, "unresolved", ()) if one.subject == subject), None)
    assert isinstance(found, Unresolved), f"run {run.name} does not ask about {subject}"
    return found
