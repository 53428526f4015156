"""What nobody needs goes, and nothing else; whatever runs meanwhile."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pawl import AgentNotFound, Completed
from pawl.runtime.records.errors import StoreError, StoreUnavailable
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content
from pawl.runtime.simulation.samples import done
from pawl.runtime.store.answers import Answer, Unavailable, Uncertain
from pawl.runtime.store.port import Operation, Store, Transaction
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.upkeep import Cleared
from pawl.runtime.upkeep import collect as collecting
from pawl.runtime.upkeep.asking import Asker
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.collect import Collected, collect
from upkeep.town import damaged, memory, town


def kept(store: Store) -> dict[str, list[str]]:
    """The statuses of what is there, by agent."""
    found: dict[str, list[str]] = {}
    for record, _ in store.read(lambda tx: tx.executions.list(limit=10_000)):
        found.setdefault(record.agent_id, []).append(record.status)
    return found


def cleared(store: Store, before: float = math.inf, **options: Any) -> Collected:
    """Collected, and whole afterwards."""
    collected = collect(store, before, pause=lambda _: None, **options)
    assert [str(finding) for finding in check_store(store)] == []
    return collected


def on_file(folder: Path) -> Store:
    return SqliteStore(folder / "a.db", inline=True)


def in_memory(_: Path) -> Store:
    return memory()


STORES = pytest.mark.parametrize("make", [in_memory, on_file])


@STORES
def test_only_what_no_later_run_sees_goes(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        collected = cleared(world.store)
        assert kept(world.store) == {
            "done": ["completed"],  # the newest of its agent, as are the next ones
            "cancelled": ["cancelled"],
            "rejected": ["rejected"],
            "edited": ["completed", "completed"],  # the second run saw the first one, and a third one would
            "failed": ["completed"],  # the one that failed has gone
            "reset": ["completed"],  # the two before the reset have gone
            "waits": ["suspended"],
            "lost": ["active"],
            "begun": ["active"],
        }
        assert collected.stayed == {"open": 3, "last": 1, "seen": 5}
        gone = collected.cleared
        assert (gone.executions, gone.agents, gone.tools, gone.decisions) == (3, 0, 0, 0)
        assert gone.bytes > 0


@STORES
def test_a_dry_run_says_what_would_go_and_changes_nothing(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        before = kept(world.store)
        for options in ({}, {"idle": True}):
            said = collect(world.store, math.inf, dry_run=True, **options)
            assert kept(world.store) == before
        closed = said
        assert collect(world.store, 0.0, dry_run=True) == Collected(Cleared(), {"open": 3, "recent": 6})
        assert cleared(world.store, idle=True) == closed


@STORES
def test_idle_agents_go_whole_where_that_is_asked_for(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        collected = cleared(world.store, idle=True)
        assert kept(world.store) == {"waits": ["suspended"], "lost": ["active"], "begun": ["active"]}
        assert collected.cleared.agents == 6
        names = [root.agent_id for root in world.store.read(lambda tx: tx.agents.list())]
        assert names == ["begun", "lost", "waits"]
        process = world.open()  # the other one knows agents that have gone
        (again,) = (agent for agent in world.agents if agent.name == "reset")
        assert process.do(process.runtime.run(again, "hello")).output == "one"  # as if it had never been


@STORES
def test_closed_agents_go_whole(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        process = world.ready()
        by_name = {agent.name: agent for agent in world.agents}
        for name in ("edited", "waits"):
            process.do(process.do(process.runtime.open(by_name[name], name)).close())
        collected = cleared(world.store)
        assert collected.cleared.agents == 1
        assert "edited" not in kept(world.store)
        assert kept(world.store)["waits"] == ["suspended"]
        assert collected.cleared.decisions == 2
        process = world.open()
        with pytest.raises(AgentNotFound):
            process.do(process.runtime.load(by_name["edited"], "edited"))


@STORES
def test_what_ended_within_the_time_stays(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        record = world.records()[0]  # time stands still in this world
        assert cleared(world.store, record.updated_at).cleared.executions == 0
        assert cleared(world.store, math.nextafter(record.updated_at, math.inf)).cleared.executions == 3


@STORES
def test_an_agent_that_somebody_owns_is_not_forgotten(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        root = world.root("done")
        done(world.store, lambda tx: tx.agents.save(replace(root, owner="me", fence=root.fence + 1)))
        cleared(world.store, idle=True)
        assert kept(world.store)["done"] == ["completed"]


@STORES
def test_an_agent_that_was_opened_lately_and_never_ran_stays(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        process = world.ready()
        process.do(process.runtime.open(world.agents[0], "fresh"))
        fresh = world.root("fresh")
        cleared(world.store, fresh.created_at, idle=True)
        assert world.root("fresh") == fresh
        cleared(world.store, idle=True)
        assert world.store.read(lambda tx: tx.agents.get("fresh")) is None


@STORES
def test_leases_and_bodies_that_nobody_needs_go(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        lonely = Content.of("of nothing")
        done(world.store, lambda tx: tx.contents.put(lonely))
        collected = cleared(world.store)
        assert collected.cleared.owners == 1
        assert not world.store.read(lambda tx: tx.upkeep.has_content(lonely.digest))
        assert cleared(world.store).cleared == Cleared()


@STORES
def test_later_runs_see_what_they_saw_before(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        by_name = {agent.name: agent for agent in world.agents}
        before = {name: world.store.read(lambda tx, name=name: tx.journal.transcript(name)) for name in by_name}
        cleared(world.store)
        for name, said in before.items():
            since = world.root(name).since
            after = world.store.read(lambda tx, name=name, since=since: tx.journal.transcript(name, None, since))
            assert after == [record for record in said if record.position > since]
        process = world.ready()
        head = world.store.read(lambda tx: tx.journal.position("failed"))
        assert process.do(process.runtime.run(by_name["failed"], "go on")).output == "fine again"
        last = world.journal("failed")[-1].position
        assert last > head
        assert [str(finding) for finding in check_store(world.store)] == []


@STORES
def test_open_work_is_finished_after_it(make: Callable[[Path], Store], tmp_path: Path) -> None:
    with town(make(tmp_path)) as world:
        cleared(world.store, idle=True)
        process = world.ready()
        waits = next(record for record in world.records() if record.agent_id == "waits")
        assert waits.request is not None
        lost = next(record for record in world.records() if record.agent_id == "lost")
        second = waits.request.items[1].tool_call_id
        rest = process.do(process.runtime.decide(waits.request.id, items={second: False}))
        assert type(rest).__name__ == "Rejected"
        (row,) = world.rows(lost.execution_id)
        end = process.do(process.runtime.resolve(lost.execution_id, row.tool_call_id, "succeeded", result="charged"))
        assert isinstance(end, Completed)


# --- what goes wrong ---


@STORES
def test_what_cannot_be_read_stays_with_all_behind_it(make: Callable[[Path], Store], tmp_path: Path) -> None:
    if make is in_memory:
        pytest.skip("nothing writes past the codec there")
    with town(make(tmp_path)) as world:
        damaged(
            tmp_path / "a.db",
            "UPDATE executions SET record = '{' WHERE execution_id = "
            "(SELECT execution_id FROM executions e JOIN agents a ON a.id = e.agent WHERE agent_id = 'failed' LIMIT 1)",
            "UPDATE agents SET record = '{' WHERE agent_id = 'done'",
        )
        world.invariants.check = lambda: None  # type: ignore[method-assign]  # it would read all of it
        collected = collect(world.store, math.inf, idle=True, pause=lambda _: None)
        assert collected.stayed == {"open": 3, "unreadable": 2}
        connection = sqlite3.connect(tmp_path / "a.db")
        assert connection.execute("SELECT count(*) FROM executions").fetchone() == (6,)
        connection.close()


def test_a_body_whose_digest_is_none_stays(file: Path) -> None:
    damaged(file, "INSERT INTO contents (digest, body) VALUES ('text', 'a'), (7, 'b')")
    store = SqliteStore(file)
    store.open()
    assert collect(store, math.inf, idle=True, pause=lambda _: None).cleared.contents > 0
    store.close()
    connection = sqlite3.connect(file)
    kept = connection.execute("SELECT body FROM contents WHERE typeof(digest) <> 'blob' ORDER BY body").fetchall()
    connection.close()
    assert kept == [("a",), ("b",)]


class Interrupted(Exception):
    pass


@STORES
@pytest.mark.parametrize("after", range(12))
def test_wherever_it_is_interrupted_nothing_is_half_removed(
    make: Callable[[Path], Store], after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "ROWS", 1)
    monkeypatch.setattr(collecting, "AGENTS", 1)
    monkeypatch.setattr(collecting, "BODIES", 1)
    steps = iter(range(after))

    def pause(_: float) -> None:
        if next(steps, None) is None:
            raise Interrupted

    with town(make(tmp_path)) as world:
        with pytest.raises(Interrupted):
            collect(world.store, math.inf, idle=True, pause=pause)
        assert [str(finding) for finding in check_store(world.store)] == []
        collect(world.store, math.inf, idle=True, pause=lambda _: None)
        assert kept(world.store) == {"waits": ["suspended"], "lost": ["active"], "begun": ["active"]}


class Odd:
    """A store whose answers are what a test says, one by one."""

    def __init__(self, answers: list[Answer[Any]]) -> None:
        self.answers = iter(answers)

    def submit(self, operation: Operation[Any], answer: Callable[[Answer[Any]], None]) -> None:
        answer(next(self.answers))


def test_a_store_that_is_not_available_is_asked_again_for_a_while() -> None:
    paused: list[float] = []
    locked: Answer[Any] = Unavailable(StoreUnavailable("locked"))
    with pytest.raises(StoreUnavailable):
        Asker(Odd([locked] * 5), paused.append).ask(lambda tx: None)
    assert len(paused) == 9


def test_what_may_have_been_written_is_not_written_again() -> None:
    with pytest.raises(StoreError, match="lost"):
        Asker(Odd([Uncertain(StoreError("lost"))]), lambda _: None).ask(lambda tx: None)


# --- bodies, while others write ---


@STORES
def test_a_body_that_is_stored_again_during_a_sweep_stays(make: Callable[[Path], Store], tmp_path: Path) -> None:
    store = make(tmp_path)
    store.open()
    bodies = [Content.of(f"body {number}") for number in range(3)]

    def put(*contents: Content) -> Callable[[Transaction], None]:
        return lambda tx: [tx.contents.put(content) for content in contents] and None

    done(store, put(*bodies))
    done(store, put(bodies[0]))
    done(store, lambda tx: tx.upkeep.begin_sweep("one"))
    unused = store.read(lambda tx: tx.upkeep.unused())
    assert len(unused) == 3
    done(store, put(bodies[1]))
    fresh = Content.of("new")
    done(store, put(fresh))
    assert done(store, lambda tx: tx.upkeep.sweep("other", unused)) == Cleared()
    assert done(store, lambda tx: tx.upkeep.sweep("one", unused)).contents == 2
    there = [store.read(lambda tx, c=c: tx.upkeep.has_content(c.digest)) for c in (*bodies, fresh)]
    assert there == [False, True, False, True]
    done(store, put(bodies[0]))
    done(store, lambda tx: tx.upkeep.end_sweep("other"))
    done(store, lambda tx: tx.upkeep.end_sweep("one"))
    assert store.read(lambda tx: tx.contents.get(bodies[0].digest)) == "body 0"
    store.close()


def test_a_writer_in_another_connection_is_noticed(tmp_path: Path) -> None:
    mine, other = SqliteStore(tmp_path / "a.db", inline=True), SqliteStore(tmp_path / "a.db", inline=True)
    body = Content.of("again")
    for store in (mine, other):
        store.open()
        done(store, lambda tx: tx.contents.put(body))
    done(mine, lambda tx: tx.upkeep.begin_sweep("one"))
    unused = mine.read(lambda tx: tx.upkeep.unused())
    done(other, lambda tx: tx.contents.put(body))  # it knows the row by heart
    assert done(mine, lambda tx: tx.upkeep.sweep("one", unused)) == Cleared()
    for store in (mine, other):
        assert store.read(lambda tx: tx.contents.get(body.digest)) == "again"
        store.close()


# --- real processes ---

WORKER = """
import asyncio, sys
from pawl import Agent, Runtime, call, scripted, tool

@tool(approval=True)
def look(n: int) -> str:
    return f"seen {n % 3}"

async def main(url, name):
    agent = Agent(name="busy", model=scripted([call("look", n=7), "shared answer"]), tools=[look])
    async with Runtime(url, [agent]) as runtime:
        for number in range(10**9):
            rest = await runtime.run(agent, f"asked {number // 3}", agent_id=f"{name}-{number}")
            end = await runtime.decide(rest.request.id, approve=True)
            assert end.output == "shared answer", end
            print(number, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def worker(path: Path, name: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WORKER, f"sqlite:///{path}?synchronous=NORMAL", name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_workers_go_on_while_everything_old_is_removed_under_them(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    processes = [worker(path, name) for name in ("a", "b")]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "0"
        store = SqliteStore(path, busy_timeout=60)
        store.open()
        gone = Cleared()
        while gone.executions < 100 or gone.contents < 30:
            # An agent that was just opened for its first run is not idle.
            gone += collect(store, time.time() - 0.3, idle=True, pause=lambda _: None).cleared
            assert [str(finding) for finding in check_store(store)] == []
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline(), "a worker met something that was removed under it"
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    store.close()
