"""Claims, releases and leases: who may write, and who is told that it may not any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pawl.runtime.records.agents import AgentRoot, Authority, Owner
from pawl.runtime.records.errors import AgentNotFound
from pawl.runtime.simulation.samples import an_agent, an_execution, answer_of, done
from pawl.runtime.store.answers import Refused, Superseded
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.ownership import LEASE, RENEW_EVERY, assert_fence, bury, claim, release, renew

NOW = 100.0


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = MemoryStore(inline=True)
    store.open()
    yield store
    store.close()


def alive(owner: Owner) -> bool:
    return False


def dead(owner: Owner) -> bool:
    return True


def lease(owner_id: str, expires_at: float) -> Owner:
    return Owner(owner_id, "host", 7, 1.0, expires_at)


def owned(store: MemoryStore, expires_at: float | None) -> AgentRoot:
    """An agent that "other" claimed, with a lease until `expires_at`."""
    done(store, lambda tx: tx.agents.insert(an_agent()))
    if expires_at is not None:
        done(store, renew(lease("other", expires_at)))
    return done(store, claim("a", "other", NOW, alive))


def test_an_agent_that_nobody_owns_is_claimed_under_a_new_fence(store: MemoryStore) -> None:
    done(store, lambda tx: tx.agents.insert(an_agent(answers=3)))
    claimed = done(store, claim("a", "me", NOW, alive))
    assert claimed == an_agent(answers=3, owner="me", fence=1)
    assert done(store, lambda tx: tx.agents.get("a")) == claimed


def test_who_claims_again_gets_a_higher_fence(store: MemoryStore) -> None:
    first = owned(store, NOW + 1)
    again = done(store, claim("a", "other", NOW, alive))
    assert again.fence == first.fence + 1


def test_an_agent_with_a_living_owner_is_not_claimed(store: MemoryStore) -> None:
    root = owned(store, NOW + 0.1)
    assert answer_of(store, claim("a", "me", NOW, alive)) == Superseded("other")
    assert done(store, lambda tx: tx.agents.get("a")) == root


@pytest.mark.parametrize(
    ("expires_at", "is_dead"),
    [
        pytest.param(NOW, alive, id="the lease has run out"),
        pytest.param(None, alive, id="there is no lease"),
        pytest.param(NOW + 30, dead, id="the process is dead"),
    ],
)
def test_an_agent_whose_owner_is_gone_is_taken_over(
    store: MemoryStore, expires_at: float | None, is_dead: Callable[[Owner], bool]
) -> None:
    before = owned(store, expires_at)
    taken = done(store, claim("a", "me", NOW, is_dead))
    assert (taken.owner, taken.fence) == ("me", before.fence + 1)


def test_an_agent_must_exist_to_be_claimed(store: MemoryStore) -> None:
    answer = answer_of(store, claim("none", "me", NOW, alive))
    assert isinstance(answer, Refused)
    assert isinstance(answer.error, AgentNotFound)


def test_only_the_holder_of_the_last_fence_may_write(store: MemoryStore) -> None:
    first = owned(store, None)
    held = Authority("other", first.fence)
    assert done(store, lambda tx: assert_fence(tx, "a", held)) == first
    again = done(store, claim("a", "other", NOW, alive))
    assert answer_of(store, lambda tx: assert_fence(tx, "a", held)) == Superseded("other")
    assert done(store, lambda tx: assert_fence(tx, "a", Authority("other", again.fence))) == again
    assert answer_of(store, lambda tx: assert_fence(tx, "a", Authority("me", again.fence))) == Superseded("other")
    assert answer_of(store, lambda tx: assert_fence(tx, "none", held)) == Superseded(None)


def test_a_released_agent_is_free_and_its_fence_stays(store: MemoryStore) -> None:
    root = owned(store, NOW + 30)
    released = done(store, release("a", Authority("other", root.fence)))
    assert (released.owner, released.fence) == (None, root.fence)
    assert answer_of(store, release("a", Authority("other", root.fence))) == Superseded(None)
    assert done(store, claim("a", "me", NOW, alive)).fence == root.fence + 1


def test_who_was_taken_over_can_not_release(store: MemoryStore) -> None:
    root = owned(store, None)
    taken = done(store, claim("a", "me", NOW, alive))
    assert answer_of(store, release("a", Authority("other", root.fence))) == Superseded("me")
    assert done(store, lambda tx: tx.agents.get("a")) == taken


def test_the_work_of_a_buried_process_can_be_adopted_at_once(store: MemoryStore) -> None:
    owned(store, NOW + 30)
    done(store, renew(lease("third", NOW + 30)))
    done(store, lambda tx: tx.executions.insert(an_execution()))
    assert done(store, lambda tx: tx.executions.adoptable("me", NOW)) == []
    assert done(store, bury(alive)) == []
    assert done(store, bury(lambda owner: owner.owner_id == "other")) == [lease("other", NOW + 30)]
    assert done(store, lambda tx: tx.executions.adoptable("me", NOW)) == [an_execution()]
    assert done(store, lambda tx: tx.owners.list()) == [lease("third", NOW + 30)]


def test_a_lease_survives_two_missed_renewals() -> None:
    assert LEASE >= 3 * RENEW_EVERY
