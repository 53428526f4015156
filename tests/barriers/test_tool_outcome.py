"""A tool's outcome is written over the row that its attempt left, and over no other."""

from __future__ import annotations

import attrs
import pytest

from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import StaleRevision
from pawl.runtime.records.tools import ToolRow, ToolStatus
from pawl.runtime.simulation.samples import a_tool, an_agent, an_execution, answer_of, done
from pawl.runtime.store.answers import Committed, Refused
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.ownership import claim

OURS = Authority("us", 1)


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore(inline=True)
    store.open()
    done(store, lambda tx: tx.agents.insert(an_agent()))
    done(store, claim("a", "us", 0.0, lambda _: False))
    done(store, lambda tx: tx.executions.insert(an_execution(status="active", phase="dispatching_tools")))
    done(store, lambda tx: tx.tools.put((a_tool(),)))
    return store


def outcome() -> ToolCommit:
    return ToolCommit("a", OURS, attrs.evolve(a_tool(), status=ToolStatus.COMPLETED, token="token-1"), a_tool().token)


def test_it_is_written_over_the_row_of_its_attempt(store: MemoryStore) -> None:
    assert isinstance(answer_of(store, outcome().run), Committed)


OTHERS = [attrs.evolve(a_tool(), token="foreign"), attrs.evolve(a_tool(), attempt=a_tool().attempt + 1)]


@pytest.mark.parametrize("there", OTHERS, ids=["another token", "another attempt"])
def test_a_row_that_was_changed_since_is_left_as_it_is(store: MemoryStore, there: ToolRow) -> None:
    done(store, lambda tx: tx.tools.put((there,)))
    answer = answer_of(store, outcome().run)
    assert isinstance(answer, Refused)
    assert isinstance(answer.error, StaleRevision)
    assert store.read(lambda tx: tx.tools.get(there.tool_invocation_id)) == there
