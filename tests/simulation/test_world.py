"""The simulation kit itself: the same seed is the same story, no second is waited for, and what is wrong is noticed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from pawl import (
    Agent,
    Completed,
    Event,
    InvalidArguments,
    Message,
    Suspended,
    ToolCall,
    Usage,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.clock import EPOCH, Clock, VirtualLoop
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.invariants import Violated
from pawl.runtime.simulation.process import CallLost
from pawl.runtime.simulation.world import Stuck, World


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(approval=True)
async def nap(seconds: float) -> str:
    """Nap."""
    await asyncio.sleep(seconds)
    return f"slept {seconds}"


def sleeper() -> Agent:
    both = calls(call("add", a=1, b=2), call("nap", seconds=5000))
    return Agent(name="a", model=scripted([both, "done"], record=False), tools=[add, nap])


# time -----------------------------------------------------------------------------------------------------------------


def test_hours_pass_in_no_time() -> None:
    agent = sleeper()
    began = time.perf_counter()
    with World(agent, poll_interval=0) as world:
        end = Client(world, agent).see_through()
        assert isinstance(end, Completed) or world.clock.time >= 120
    assert time.perf_counter() - began < 5


def test_timers_of_a_virtual_loop_fire_when_its_clock_says_so() -> None:
    clock = Clock()
    loop = VirtualLoop(clock)
    fired: list[float] = []
    loop.call_later(3, lambda: fired.append(loop.time()))
    loop.call_later(7, lambda: fired.append(loop.time()))
    while loop.turn():
        pass
    assert (loop.due, fired) == (3, [])
    clock.time = 3
    while loop.turn():
        pass
    assert (loop.due, fired) == (7, [3])
    loop.abandon()


def test_a_lost_loop_runs_nothing_more_not_even_a_clean_up() -> None:
    ran: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
            ran.append("went on")
        finally:
            ran.append("cleaned up")

    clock = Clock()
    loop = VirtualLoop(clock)
    loop.task(work())
    while loop.turn():
        pass
    clock.time = 2
    assert ran == []
    loop.abandon()
    assert ran == ["cleaned up"]  # at the very end of the world, when nobody looks any more


# order ----------------------------------------------------------------------------------------------------------------


def story(seed: int) -> tuple[Any, ...]:
    agent = sleeper()
    faults = [Fault("tool_outcome#1", "crash_before_commit"), Fault("provider_dispatch#2", "lose_reply_committed")]
    with World(agent, faults=faults, seed=seed, shuffle=True, poll_interval=60) as world:
        first, second = world.open(), world.open()
        rest = first.do(first.runtime.run(agent, "go", id="r1"))
        assert isinstance(rest, Suspended)
        one = first.begin(first.runtime.decide(rest.request.id, approve=True))
        two = second.begin(second.runtime.execution(rest.execution_id))
        world.advance(200)
        del one, two
        journal = [(entry.kind, entry.at, entry.meta) for entry in world.journal("a")]
        return journal, world.records(), [str(move) for move in world.moves], dict(world.faults.counts)


def test_the_same_seed_is_the_same_story_to_the_last_token() -> None:
    assert story(3) == story(3)


def test_other_seeds_are_other_stories() -> None:
    assert len({str(story(seed)) for seed in range(6)}) > 1


# faults ---------------------------------------------------------------------------------------------------------------


def test_a_fault_happens_once_at_its_place_and_one_that_is_never_met_is_known() -> None:
    agent = sleeper()
    with World(agent, faults=[Fault("admission", "lose_reply_committed"), Fault("outcome#9", "hold")]) as world:
        process = world.open()
        process.do(process.runtime.start(agent, "go"))
        assert [fault.address for fault in world.faults.fired] == ["admission#1"]
        assert [fault.address for fault in world.faults.unmet] == ["outcome#9"]


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="crash_before_commit"):
        Fault("admission#1", "explode")  # type: ignore[arg-type]


def test_what_is_held_waits_until_it_is_released() -> None:
    agent = sleeper()
    with World(agent, faults=[Fault("tool_dispatch", "hold"), Fault("tool:add", "hold")]) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        process.begin(process.runtime.decide(rest.request.id, approve=True))
        world.settle()
        assert world.held("tool_dispatch")
        world.release("tool_dispatch")
        world.settle()
        assert world.held("tool:add#1")
        assert "add" not in world.witness.effects
        world.release("tool:add")
        world.settle()
        assert world.witness.effects["add"] == 1
        with pytest.raises(AssertionError, match="nothing is held"):
            world.release("tool:add")


def test_a_call_to_a_lost_process_is_lost() -> None:
    agent = sleeper()
    with World(agent, faults=[Fault("admission#1", "crash_after_commit")]) as world:
        process = world.open()
        with pytest.raises(CallLost):
            process.do(process.runtime.start(agent, "go", id="r1"))
        listing = process.runtime.executions()
        with pytest.raises(CallLost):
            process.do(listing)
        listing.close()
        assert not process.alive
        assert world.ready() is not process


def test_a_call_that_never_ends_is_stuck_and_not_a_test_that_hangs() -> None:
    with World(sleeper()) as world:
        process = world.open()
        with pytest.raises(Stuck, match="does not end within 5"):
            process.do(asyncio.Event().wait(), within=5)


# what the kit notices -------------------------------------------------------------------------------------------------


def ended(world: World) -> str:
    agent = world.agents[0]
    process = world.open()
    rest = process.do(process.runtime.run(agent, "go"))
    assert isinstance(rest, Completed)
    return rest.execution_id


def adder() -> Agent:
    return Agent(name="a", model=scripted([call("add", a=1, b=2), "three"], record=False), tools=[add])


def write(world: World, operation: Any) -> None:
    world.store.submit(operation, lambda answer: None)


def test_a_second_end_is_noticed() -> None:
    world = World(adder())
    name = ended(world)
    position = len(world.journal("a"))
    entry = JournalEntry(JournalKind.EXECUTION_FAILED, name, 0.0)
    write(world, lambda tx: tx.journal.append("a", position, (entry,)))
    with pytest.raises(Violated, match="terminal records"):
        world.invariants.check()
    world.close()


def test_a_body_that_ran_twice_is_noticed() -> None:
    world = World(adder())
    ended(world)
    world.witness.entries.append(world.witness.entries[0])
    with pytest.raises(Violated, match="was entered 2 times"):
        world.invariants.check()
    world.close()


def test_a_result_of_a_body_that_never_ran_is_noticed() -> None:
    world = World(adder())
    ended(world)
    world.witness.entries.clear()
    with pytest.raises(Violated, match="never entered"):
        world.invariants.check()
    world.close()


def test_usage_that_does_not_add_up_is_noticed() -> None:
    world = World(adder())
    record = world.record(ended(world))
    write(world, lambda tx: tx.executions.save(replace(record, usage=Usage(1, 0)), record.revision))
    with pytest.raises(Violated, match="its recorded calls"):
        world.invariants.check()
    world.close()


def test_a_body_that_begins_before_its_commit_is_noticed_although_the_runtime_swallows_the_error() -> None:
    world = World(adder(), faults=[Fault("tool:add#1", "hold")])
    process = world.open()
    execution = process.do(process.runtime.start(world.agents[0], "go"))
    world.settle()
    (row,) = world.rows(execution.id)
    write(world, lambda tx: tx.tools.put((replace(row, status=ToolStatus.AUTHORIZED),)))
    world.release("tool:add#1")
    with pytest.raises(Violated, match="add was entered as attempt 1"):
        world.settle()
    world.close()


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ([], None),
        ([("user", ())], None),
        ([("assistant", ("a", "b")), ("tool", "a"), ("tool", "b"), ("user", ())], None),
        ([("assistant", ("a", "b")), ("tool", "b"), ("tool", "a")], "message 1"),
        ([("assistant", ("a",)), ("user", ())], "message 1"),
        ([("assistant", ("a",))], "missing"),
        ([("tool", "a")], "nobody asked"),
        ([("assistant", ("a",)), ("tool", "a"), ("tool", "a")], "nobody asked"),
    ],
)
def test_which_conversations_a_provider_takes(said: Any, wrong: str | None) -> None:
    messages = [
        Message(role, "", tuple(ToolCall(name, "t", "{}") for name in names))
        if role != "tool"
        else Message("tool", "", tool_call_id=names)
        for role, names in said
    ]
    found = why_invalid(messages)
    assert (found is None) is (wrong is None)
    if wrong is not None:
        assert found is not None
        assert wrong in found


def test_a_content_has_one_name_and_the_world_begins_at_one_time() -> None:
    assert Content.of("x") == Content.of("x")
    with World(adder()) as world:
        assert world.now == EPOCH


def test_a_listener_of_one_s_own_hears_what_the_world_hears() -> None:
    heard: list[Event] = []
    agent = adder()
    with World(agent) as world:
        process = world.open(on_event=heard.append)
        process.do(process.runtime.run(agent, "go"))
        assert heard == process.events
