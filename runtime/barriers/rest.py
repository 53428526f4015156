"""Letting an agent go while its execution waits: no barrier of its own revision, only who owns what."""

from __future__ import annotations

from pawl.runtime.barriers.clocks import at_rest
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.evolution import under_this_spec
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.store.ownership import assert_fence
from pawl.runtime.store.port import Operation, Transaction


def let_go(
    agent_id: str,
    authority: Authority,
    execution_id: str | None = None,
    awaiting: Awaiting | None = None,
    now: float = 0.0,
) -> Operation[None]:
    """Release ownership, and note what the execution waits for; without an execution that stays as it is. Its clock
    stands still from `now` on.

    Raises Fenced when the agent is not ours any more.
    """

    def run(tx: Transaction) -> None:
        root = assert_fence(tx, agent_id, authority)
        if execution_id is not None:
            _note_rest(tx, execution_id, awaiting, now)
            tx.executions.rest(execution_id, may_wait(tx, execution_id, awaiting))
        tx.agents.save(replace(root, owner=None))

    return run


def _note_rest(tx: Transaction, execution_id: str, awaiting: Awaiting | None, now: float) -> None:
    """What is left of a run's time is on record while it waits; the same again changes nothing.

    Where a run of another spec has come to this rest by the table of this one, it is this one's from here on.
    """
    record = tx.executions.get(execution_id)
    if record is None or record.status in TERMINAL:
        return
    after = at_rest(record, now) if record.deadline is not None else record
    ours = under_this_spec(after)
    if ours is not after and awaiting is not None and awaiting != _waited(tx, record):
        after = ours
    if after is not record:
        tx.executions.save(after, record.revision)


def _waited(tx: Transaction, record: ExecutionRecord) -> Awaiting | None:
    """What the run is waiting for on record; an agent has one open run."""
    return next((awaiting for _, awaiting in tx.executions.list(record.agent_id, open_only=True, limit=1)), None)


def may_wait(tx: Transaction, execution_id: str, awaiting: Awaiting | None) -> Awaiting | None:
    """What the execution waits for: nothing when it was asked to stop, so that whoever looks next ends it."""
    return awaiting if awaiting is not None and tx.intents.get(execution_id) is None else None


def give_back(agent_id: str, owner: str) -> Operation[None]:
    """Own the agent no longer, if it is owned: for a claim whose outcome was not known."""

    def run(tx: Transaction) -> None:
        root = tx.agents.get(agent_id)
        if root is not None and root.owner == owner:
            tx.agents.save(replace(root, owner=None))

    return run
