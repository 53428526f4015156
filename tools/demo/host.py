"""A process of the demo: `python -m pawl.tools.demo.host start` begins the run, `… work ID` goes on with it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pawl.runtime.app.runtime import Runtime
from pawl.runtime.execution.heart import Move
from pawl.runtime.records.rests import Completed, Suspended
from pawl.runtime.store.open import store_at
from pawl.tools.demo import wire
from pawl.tools.demo.agent import ORDER, support
from pawl.tools.demo.ledger import FOLDER

STORE = "runs.db"
TRACE = "trace.jsonl"
CUSTOMER = "customer-42"
TICKET = "ticket-1042"
QUESTION = f"My order {ORDER} arrived broken. Please refund it."


async def main(part: str, execution_id: str | None) -> None:
    """Play one part."""
    folder = Path(os.environ[FOLDER])

    def trace(_: str, move: Move) -> None:
        wire.append(folder / TRACE, pid=os.getpid(), tool=move.child, source=move.source, target=move.target)
        if move.child is not None and move.target == "completed":
            wire.tell("recorded", tool=move.child)

    async with Runtime(store_at(folder / STORE), [support], trace=trace) as runtime:
        if part == "start":
            execution = await runtime.start(support, QUESTION, agent_id=CUSTOMER, id=TICKET)
            wire.tell("started", execution=execution.id)
            rest = await execution
            assert isinstance(rest, Suspended), rest
            wire.tell("suspended", request=rest.request.id)
        else:
            assert execution_id is not None
            execution = await runtime.execution(execution_id)
            wire.tell("working")
        outcome = await execution.terminal()
        assert isinstance(outcome, Completed), outcome
    wire.tell("completed", output=outcome.output)


if __name__ == "__main__":
    wire.end_with_parent()
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
