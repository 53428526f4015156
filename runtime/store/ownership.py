"""Who may write for an agent: claims, releases and leases, as operations over a transaction.

A process holds one lease (an `Owner` row) and renews it; an agent row names its owner and a fence that rises with every
claim. Whoever wants to write shows the owner and the fence of its own claim, so a process that was taken over is told
so by its next write, however long it slept. A lease protects nobody's data, it only says when waiting for its holder
is pointless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pawl.runtime.records.agents import AgentRoot, Authority, Owner
from pawl.runtime.records.frozen import replace
from pawl.runtime.store.answers import Fenced
from pawl.runtime.store.port import Operation, Transaction
from pawl.runtime.store.rules import no_agent

LEASE: Final = 30.0
"""Seconds that a lease lasts after its last renewal."""

RENEW_EVERY: Final = 10.0
"""Seconds between two renewals: two may be missed."""


def claim(agent_id: str, owner_id: str, now: float, is_dead: Callable[[Owner], bool]) -> Operation[AgentRoot]:
    """Make `owner_id` the owner, under a new fence; the operation returns the root as it then stands.

    Possible when nobody owns the agent, when `owner_id` does, or when its owner is gone: without a lease, with one that
    ended at `now` (unix seconds) or before, or dead as far as `is_dead` can tell. Otherwise raises Fenced, with the
    owner. Raises AgentNotFound.
    """

    def operation(tx: Transaction) -> AgentRoot:
        root = existing_root(tx, agent_id)
        if root.owner is not None and root.owner != owner_id:
            lease = tx.owners.get(root.owner)
            if lease is not None and lease.expires_at > now and not is_dead(lease):
                raise Fenced(root.owner)
        claimed = replace(root, owner=owner_id, fence=root.fence + 1)
        tx.agents.save(claimed)
        return claimed

    return operation


def release(agent_id: str, authority: Authority) -> Operation[AgentRoot]:
    """Give the agent up; the operation returns the root. Raises Fenced when `authority` has ended."""

    def operation(tx: Transaction) -> AgentRoot:
        released = replace(assert_fence(tx, agent_id, authority), owner=None)
        tx.agents.save(released)
        return released

    return operation


def renew(owner: Owner) -> Operation[None]:
    """Write the lease of a process, new or with a later end."""

    def operation(tx: Transaction) -> None:
        tx.owners.put(owner)

    return operation


def bury(is_dead: Callable[[Owner], bool]) -> Operation[Sequence[Owner]]:
    """Remove the leases of processes that are known to be dead, so that their agents count as free at once.

    The operation returns those leases. Nothing about the agents changes: a claim raises their fence.
    """

    def operation(tx: Transaction) -> Sequence[Owner]:
        dead = [owner for owner in tx.owners.list() if is_dead(owner)]
        for owner in dead:
            tx.owners.delete(owner.owner_id)
        return dead

    return operation


def assert_fence(tx: Transaction, agent_id: str, authority: Authority) -> AgentRoot:
    """The root of an agent that `authority` still holds. Raises Fenced, with the owner, when it does not."""
    root = tx.agents.get(agent_id)
    if root is None:
        raise Fenced(None)
    if root.owner != authority.owner or root.fence != authority.fence:
        raise Fenced(root.owner)
    return root


def existing_root(tx: Transaction, agent_id: str) -> AgentRoot:
    """The root of an agent. Raises AgentNotFound."""
    root = tx.agents.get(agent_id)
    if root is None:
        raise no_agent(agent_id)
    return root
