"""Every write of a run shows its authority, in its own transaction: one that has ended changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import pytest

from pawl.runtime.barriers.answers import Found, Reading
from pawl.runtime.barriers.claim import hold_on
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.rest import give_back, let_go
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.records.agents import AgentRoot, Authority, Owner
from pawl.runtime.records.errors import StaleRevision
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.simulation.samples import a_tool, an_agent, an_execution, answer_of, done
from pawl.runtime.store.answers import Committed, Refused, Superseded
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.ownership import claim
from pawl.runtime.store.port import Operation, Transaction

OURS = Authority("us", 1)
LEASE = Owner("us", "host", 7, 1.0, 1000.0)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """An agent that is ours, in the middle of a run."""
    store = MemoryStore(inline=True)
    store.open()
    done(store, lambda tx: tx.agents.insert(an_agent()))
    done(store, claim("a", "us", 0.0, lambda _: False))
    done(store, lambda tx: tx.executions.insert(an_execution(status="active", phase="calling_llm")))
    done(store, lambda tx: tx.tools.put((a_tool(),)))
    yield store
    store.close()


def commit(**changes: object) -> Commit:
    after = an_execution(status="active", phase="dispatching_tools", revision=1, token="token-1")
    entry = JournalEntry(JournalKind.ASSISTANT_MESSAGE, "e", 1.0, Content.of("so"))
    return attrs.evolve(Commit("tool_dispatch", OURS, after, (0, "token-0"), 0, (entry,)), **changes)


def outcome() -> ToolCommit:
    return ToolCommit("a", OURS, attrs.evolve(a_tool(), status="completed", token="token-1"), a_tool().token)


WRITES: dict[str, Operation[object]] = {
    "commit": commit().run,
    "tool_outcome": outcome().run,
    "let_go": let_go("a", OURS, "e", "approval"),
    "hold_on": hold_on("a", OURS, LEASE),
}
READS: dict[str, Operation[object]] = {"commit": commit().read_back, "tool_outcome": outcome().read_back}


def everything(
    store: MemoryStore,
) -> tuple[AgentRoot | None, ExecutionRecord | None, int, ToolRow | None, Owner | None]:
    def read(tx: Transaction) -> tuple[AgentRoot | None, ExecutionRecord | None, int, ToolRow | None, Owner | None]:
        row = tx.tools.get(a_tool().tool_invocation_id)
        return tx.agents.get("a"), tx.executions.get("e"), tx.journal.position("a"), row, tx.owners.get("us")

    return store.read(read)


def taken_over(store: MemoryStore) -> str | None:
    done(store, claim("a", "them", 0.0, lambda _: True))
    return "them"


def taken_over_and_let_go(store: MemoryStore) -> str | None:
    done(store, claim("a", "them", 0.0, lambda _: True))
    done(store, let_go("a", Authority("them", 2)))
    return None


def claimed_again(store: MemoryStore) -> str | None:
    done(store, claim("a", "us", 0.0, lambda _: False))
    return "us"


ENDS = [taken_over, taken_over_and_let_go, claimed_again]


@pytest.mark.parametrize("name", WRITES)
def test_who_owns_the_agent_writes(name: str, store: MemoryStore) -> None:
    before = everything(store)
    assert isinstance(answer_of(store, WRITES[name]), Committed)
    assert everything(store) != before


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", WRITES)
def test_who_does_not_any_more_writes_nothing_and_is_told_who_does(
    name: str, end: Callable[[MemoryStore], str | None], store: MemoryStore
) -> None:
    owner = end(store)
    before = everything(store)
    assert answer_of(store, WRITES[name]) == Superseded(owner)
    assert everything(store) == before


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", READS)
def test_nor_does_it_read_back(name: str, end: Callable[[MemoryStore], str | None], store: MemoryStore) -> None:
    owner = end(store)
    assert answer_of(store, READS[name]) == Superseded(owner)


def test_a_claim_is_given_back_by_its_owner_alone(store: MemoryStore) -> None:
    before = everything(store)
    done(store, give_back("a", "them"))
    assert everything(store) == before
    done(store, give_back("a", "us"))
    root = everything(store)[0]
    assert root is not None
    assert root.owner is None


@pytest.mark.parametrize("wrong", [commit(before=(1, "token-1")), commit(position=1)], ids=["revision", "journal"])
def test_a_record_or_a_journal_that_has_moved_on_is_not_written_over(wrong: Commit, store: MemoryStore) -> None:
    before = everything(store)
    answer = answer_of(store, wrong.run)
    assert isinstance(answer, Refused)
    assert isinstance(answer.error, StaleRevision)
    assert everything(store) == before


def found(store: MemoryStore, read_back: Operation[Reading]) -> Found:
    """What a read-back sees."""
    return done(store, read_back).found


def test_a_read_back_tells_ours_from_what_was_before_and_from_another_s(store: MemoryStore) -> None:
    ours, row = commit(), outcome()
    assert [found(store, ours.read_back), found(store, row.read_back)] == [Found.UNWRITTEN] * 2
    done(store, ours.run)
    done(store, row.run)
    assert [found(store, ours.read_back), found(store, row.read_back)] == [Found.COMMITTED] * 2
    assert found(store, ours.renewed("token-2").read_back) is Found.CONFLICT
    assert found(store, row.renewed("token-2").read_back) is Found.CONFLICT


def test_an_outcome_is_written_over_nothing_but_what_its_attempt_left(store: MemoryStore) -> None:
    done(store, outcome().run)
    before = everything(store)
    for late in (outcome().renewed("token-2"), attrs.evolve(outcome(), row=attrs.evolve(a_tool(), attempt=1))):
        answer = answer_of(store, late.run)
        assert isinstance(answer, Refused)
        assert isinstance(answer.error, StaleRevision)
    assert everything(store) == before
