"""One execution as it stands on disk, read in one transaction."""

from __future__ import annotations

import json
import time
from enum import StrEnum
from typing import Any, Final

import attrs

from pawl.generated.execution import MACHINE
from pawl.runtime.barriers.claim import existing
from pawl.runtime.execution.load import journal
from pawl.runtime.execution.output import awaiting_of, ended, rest_of
from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.evolution import refusal
from pawl.runtime.records.executions import Awaiting, ExecutionRecord, StopIntent
from pawl.runtime.records.journal import JournalRecord
from pawl.runtime.records.rests import Rest
from pawl.runtime.records.statuses import TERMINAL, Move, Phase
from pawl.runtime.records.tools import StoredTool
from pawl.runtime.store.port import Operation, Transaction
from pawl.runtime.store.process import is_dead

_WROTE: Final[dict[str | None, str]] = {
    Phase.PREPARING: "admission",
    **{row.target: str(row.event) for row in MACHINE.rows if row.target not in TERMINAL},
}
"""The barrier that leaves a run in a phase. Where two do, a record says which of them it was."""


class Holder(StrEnum):
    """Who may write for the agent now."""

    NOBODY = "nobody"
    ALIVE = "alive"
    DEAD = "dead"
    EXPIRED = "expired"
    GONE = "gone"


@attrs.frozen
class Snapshot:
    """All that is on record of one execution. `lease` is its owner's, where there still is one."""

    record: ExecutionRecord
    awaiting: Awaiting | None
    root: AgentRoot
    lease: Owner | None
    holder: Holder
    rest: Rest[Any] | None
    input: str
    context: dict[str, Any] | None
    intent: StopIntent | None
    tools: tuple[StoredTool, ...]
    journal: tuple[JournalRecord, ...]

    @property
    def ended(self) -> bool:
        """Whether it has come to its outcome."""
        return ended(self.record)

    @property
    def state(self) -> str:
        """Where it stands, in a word."""
        return state(self.record, self.awaiting, self.holder)

    @property
    def refused(self) -> str | None:
        """Why this Pawl leaves the run alone, though nobody else runs it now; None where it does not."""
        alone = not self.ended and self.state != "running"
        return refusal(self.record, self.awaiting) if alone else None

    @property
    def barrier(self) -> str:
        """The last barrier on the execution that has committed; tool outcomes are in their own rows."""
        if self.ended:
            return "outcome"
        if self.record.phase == Phase.APPROVAL:
            return Move.APPROVAL if self.record.decisions else Move.SUSPENSION
        return _WROTE.get(self.record.phase, self.record.phase)


def snapshot(execution_id: str) -> Operation[Snapshot]:
    """Read it. Raises ExecutionNotFound."""

    def read(tx: Transaction) -> Snapshot:
        record = existing(tx, execution_id)
        root = tx.agents.get(record.agent_id)
        assert root is not None
        lease = tx.owners.get(root.owner) if root.owner is not None else None
        awaiting = awaiting_of(tx, record)
        rows = tx.tools.of_execution(execution_id)
        return Snapshot(
            record=record,
            awaiting=awaiting,
            root=root,
            lease=lease,
            holder=holder(root, lease),
            rest=rest_of(tx, record, awaiting),
            input=tx.contents.get(record.input),
            context=json.loads(tx.contents.get(record.context)) if record.context is not None else None,
            intent=tx.intents.get(execution_id),
            tools=tuple(StoredTool(row, tx.contents.get(row.output) if row.output else None) for row in rows),
            journal=tuple(journal(tx, record)),
        )

    return read


def state(record: ExecutionRecord, awaiting: Awaiting | None, holder: Holder) -> str:
    """The status of what has ended; `suspended`, `needs_resolution`; `running`, `unclaimed` when nobody runs it."""
    if ended(record):
        return record.status
    match awaiting:
        case "approval":
            return "suspended"
        case "resolution":
            return "needs_resolution"
        case None:
            return "running" if holder is Holder.ALIVE else "unclaimed"


def holder(root: AgentRoot, lease: Owner | None) -> Holder:
    """Who holds the agent, as far as that can be told from here."""
    if root.owner is None:
        return Holder.NOBODY
    if lease is None:
        return Holder.GONE
    if is_dead(lease):
        return Holder.DEAD
    return Holder.ALIVE if lease.expires_at > time.time() else Holder.EXPIRED
