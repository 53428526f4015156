"""What an execution is at rest, read from its record: the same values that a live handle settles with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.outcomes import outcome_of
from pawl.runtime.barriers.claim import existing
from pawl.runtime.barriers.decide import undecided
from pawl.runtime.barriers.resolve import asked
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.rests import NeedsResolution, Rest, Suspended, Unresolved, unresolved_tool
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.store.port import Operation, Transaction


def ended(record: ExecutionRecord) -> bool:
    """Whether the record is terminal."""
    return record.status in TERMINAL


def awaiting_of(tx: Transaction, record: ExecutionRecord) -> Awaiting | None:
    """What the execution waits for at rest, None where it moves or has ended."""
    if ended(record):
        return None
    # An agent has one open execution: it is this one.
    return next((awaiting for _, awaiting in tx.executions.list(record.agent_id, open_only=True, limit=1)), None)


def rest_of(
    tx: Transaction, record: ExecutionRecord, awaiting: Awaiting | None, agent: Agent[Any] | None = None
) -> Rest[Any] | None:
    """The rest that the execution is at, None while it moves (or waits for a process to move it).

    `agent` is its definition, for the value of a completed one.
    """
    if ended(record):
        output = tx.contents.get(record.result) if record.result is not None else ""
        return outcome_of(record, output, agent.output.read if agent is not None else None)
    if awaiting == "approval" and record.request is not None:
        return Suspended(
            execution_id=record.execution_id,
            agent_id=record.agent_id,
            revision=record.revision,
            usage=record.usage,
            request=record.request,
            undecided=undecided(record),
        )
    if awaiting == "resolution":
        return NeedsResolution(
            execution_id=record.execution_id,
            agent_id=record.agent_id,
            revision=record.revision,
            usage=record.usage,
            unresolved=unresolved(tx, record),
        )
    return None


def current_rest(execution_id: str, definitions: Mapping[str, Agent[Any]]) -> Operation[Rest[Any] | None]:
    """The rest that an execution is at now. Raises ExecutionNotFound."""

    def read(tx: Transaction) -> Rest[Any] | None:
        record = existing(tx, execution_id)
        return rest_of(tx, record, awaiting_of(tx, record), definitions.get(record.definition))

    return read


def unresolved(tx: Transaction, record: ExecutionRecord) -> tuple[Unresolved, ...]:
    """The effects that were started, have no outcome on record, and may not be repeated without asking."""
    lost = [Unresolved(subject="model")] if record.llm_call_id is not None and not record.run_model else []
    if record.batch_call_id is not None:
        rows = tx.tools.of_execution(record.execution_id, record.batch_call_id)
        lost += [unresolved_tool(row) for row in asked(rows)]
    return tuple(lost)
