"""Files that earlier versions made: today's code opens them, brings them up to date, and finishes all that is in them.

A file of a version that was released stays for good. `make frozen` makes that of the version at hand anew, for as long
as it is not released.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frozen.agents import Answer, agents
from frozen.make import HERE, make, packed
from pawl import AgentClosed, Completed, Decision, NeedsResolution, Suspended, Verdict
from pawl.generated.agent_invocation import MACHINE
from pawl.runtime.execution.pages import history
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.simulation.world import World
from pawl.runtime.store.open import open_store
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.upkeep.check import check_store

FILES = sorted(HERE.glob("*.db.gz"))

ENDS = {
    "completed": ["completed"],
    "typed": ["completed"],
    "conversation": ["completed"] * 3,
    "failed": ["failed"],
    "cancelled": ["cancelled"],
    "rejected": ["rejected"],
    "blocked": ["blocked"],
    "reset": ["completed"] * 2,
    "closed": ["completed"],
    "suspended": ["completed"],
    "expiring": ["failed"],
    "undecided": ["completed"],
    "decided": ["completed"],
    "asked": ["completed"],
    "model-asked": ["completed"],
    "preparing": ["completed"],
    "calling": ["completed"],
    "dispatched": ["completed"],
    "stopping": ["cancelled"],
}
"""What everything in a file comes to, by agent."""

OUTPUTS = {
    "completed": "all \u2028 done",
    "typed": '{"city": "Ulm", "degrees": 7}',
    "suspended": "paid",
    "undecided": "both",
    "decided": "opened",
    "asked": "charged",
    "model-asked": "found in the log",
    "preparing": "begun",
    "calling": "an answer at last",
    "dispatched": "fetched",
}


@pytest.fixture(params=FILES, ids=[path.name for path in FILES])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "frozen.db"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return path


@pytest.fixture
def world(file: Path) -> Iterator[World]:
    world = World(*agents().values(), store=SqliteStore(file, inline=True))
    world.invariants.tampered = True  # it has not seen what was written before
    try:
        yield world
    finally:
        world.close()


def last(world: World, agent: str) -> str:
    return [record.execution_id for record in world.records() if record.agent_id == agent][-1]


def rest_of(world: World, agent: str) -> Any:
    process = world.ready()
    return process.do(process.runtime.result(last(world, agent)))


def finish(world: World) -> None:
    """Decide and resolve whatever waits."""
    process = world.open()
    world.settle()
    for name in ("suspended", "undecided"):
        rest = rest_of(world, name)
        assert isinstance(rest, Suspended)
        items = {item: Decision(item, Verdict.APPROVED) for item in rest.undecided}
        process.do(process.runtime.decide(rest.request.id, items=items))
    for name, result in (("asked", "charged by hand"), ("model-asked", "found in the log")):
        rest = rest_of(world, name)
        assert isinstance(rest, NeedsResolution)
        (unresolved,) = rest.unresolved
        process.do(process.runtime.resolve(rest.execution_id, unresolved.subject, "succeeded", result=result))
    world.advance(120.0)


def test_there_is_a_file_of_this_version() -> None:
    assert FILES


def test_a_frozen_file_is_opened_and_whole(file: Path) -> None:
    store = open_store(file)
    assert [str(finding) for finding in check_store(store)] == []
    assert sorted({record.agent_id for record, _ in store.read(lambda tx: tx.executions.list())}) == sorted(ENDS)
    store.close()


def test_everything_in_it_is_finished(world: World) -> None:
    finish(world)
    ends: dict[str, list[str]] = {}
    for record in world.records():
        ends.setdefault(record.agent_id, []).append(record.status)
    assert ends == ENDS
    assert {name: world.store.read(lambda tx, name=name: _output(tx, last(world, name))) for name in OUTPUTS} == OUTPUTS
    assert [str(finding) for finding in check_store(world.store)] == []


def test_calls_that_were_made_are_not_made_again(world: World) -> None:
    finish(world)
    assert world.witness.effects.get("charge", 0) == 0
    assert world.witness.effects.get("fetch", 0) == 1
    (fetched, looked) = world.rows(last(world, "dispatched"))
    assert (fetched.attempt, looked.attempt) == (2, 1)
    (opened,) = world.rows(last(world, "decided"))
    assert opened.arguments == {"door": "A", "code": "9876"}


def test_its_agents_go_on_where_they_stood(world: World) -> None:
    finish(world)
    process = world.ready()
    by_name = {agent.name: agent for agent in world.agents}
    again = process.do(
        process.runtime.start(by_name["completed"], "weather?", id="r1", durable_context={"tenant": "acme"})
    )
    assert again.id == last(world, "completed")
    said = process.do(process.runtime.run(by_name["conversation"], "4"))
    assert isinstance(said, Completed)
    assert said.output == "short"
    assert process.do(process.runtime.run(by_name["reset"], "3")).output == "three"
    assert [message.text for message in world.witness.requests[-1].messages] == ["2", "two", "3"]
    with pytest.raises(AgentClosed):
        process.do(process.runtime.start(by_name["closed"], "hello"))
    assert rest_of(world, "typed").value == Answer("Ulm", 7)


def test_its_history_is_read(world: World) -> None:
    for record in world.records():
        events = world.store.read(history(record.execution_id))
        ended = bool(events) and events[-1].kind in ("done", "error", "timeout", "cancelled")
        assert (record.status in TERMINAL) is ended


def test_the_file_of_this_version_is_made_the_same_again(tmp_path: Path) -> None:
    """Where this is the only change of the machine or the records, `make frozen`, and commit the file."""
    make(tmp_path / "one.db")
    make(tmp_path / "two.db")
    assert packed(tmp_path / "one.db") == packed(tmp_path / "two.db")
    store = open_store(tmp_path / "one.db")
    hashes = {record.spec_hash for record, _ in store.read(lambda tx: tx.executions.list())}
    assert hashes == {MACHINE.spec_hash}
    store.close()


def _output(tx: Any, execution_id: str) -> str:
    record = tx.executions.get(execution_id)
    return str(tx.contents.get(record.result))
