"""Taking an open execution over: ownership and fence first, in one conditional transaction."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from pawl.runtime.records.agents import Authority, Owner
from pawl.runtime.records.errors import ExecutionNotFound
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.store.ownership import assert_fence, claim
from pawl.runtime.store.port import Operation, Transaction

IsDead = Callable[[Owner], bool]


@attrs.frozen
class Claimed:
    """The record as it stands, and the authority to go on with it; None when it has ended and nothing is to claim."""

    record: ExecutionRecord
    authority: Authority | None


def take_over(execution_id: str, owner: str, now: float, is_dead: IsDead) -> Operation[Claimed]:
    """Claim the agent of an open execution. Raises ExecutionNotFound, Fenced when its owner is alive."""

    def run(tx: Transaction) -> Claimed:
        record = existing(tx, execution_id)
        if record.status in TERMINAL:
            return Claimed(record, None)
        root = claim(record.agent_id, owner, now, is_dead)(tx)
        return Claimed(record, Authority(owner, root.fence))

    return run


def hold_on(agent_id: str, authority: Authority, lease: Owner) -> Operation[None]:
    """Renew the lease, if the agent is still owned under `authority`. Raises Fenced when it is not."""

    def run(tx: Transaction) -> None:
        assert_fence(tx, agent_id, authority)
        tx.owners.put(lease)

    return run


def existing(tx: Transaction, execution_id: str) -> ExecutionRecord:
    """The record. Raises ExecutionNotFound."""
    record = tx.executions.get(execution_id)
    if record is None:
        raise ExecutionNotFound(f"there is no execution {execution_id!r:.100} in this store; `pawl ls` lists them")
    return record
