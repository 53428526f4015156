"""Cancelling: from anywhere, at any moment; acknowledged when it is on record, and then nothing more begins."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from execution.programs import barriers, clerk, run
from pawl import (
    Agent,
    Cancelled,
    Completed,
    ExecutionNotFound,
    Failed,
    ModelError,
    NeedsResolution,
    OutcomeUnknown,
    Suspended,
    ToolContext,
    Usage,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World

CLERK = clerk()
with World(CLERK) as undisturbed:
    run(undisturbed, CLERK)
    BARRIERS = barriers(undisturbed)

MODES: dict[str, list[dict[str, Any]]] = {
    "committing": [{"at": "", "do": "hold"}],
    "committed": [{"at": "", "do": "hold_reply"}],
    "retrying": [{"at": "", "do": "unavailable", "times": 1_000_000}],
    "reconciling a write": [{"at": "", "do": "lose_reply_committed"}, {"at": "read:", "do": "hold"}],
    "reconciling nothing": [{"at": "", "do": "lose_reply_rolled_back"}, {"at": "read:", "do": "hold"}],
    "rereading": [{"at": "", "do": "unreadable", "times": 12}],
}


def stopped_in(world: World, at: str, mode: str) -> Process:
    """A run that is being passed through the barrier `at`, and is in that state of it."""
    barrier = at.partition("#")[0]
    for fault in MODES[mode]:
        place = at if not fault["at"] else f"read:{barrier}#1"
        world.fault(place, fault["do"], times=fault.get("times", 1))
    process = world.open()
    process.begin(Client(world, CLERK)._step(process))
    for _ in range(20):
        world.settle()
        if world.faults.unmet == () and (mode not in ("committing", "committed") or world.held(at)):
            return process
        world.advance(1)
    raise AssertionError(f"{at} was never met: {world.faults.counts}")


NOTHING_ON_RECORD = {("admission#1", mode) for mode in ("committing", "retrying", "reconciling nothing")}


@pytest.mark.parametrize(
    ("at", "mode"), [(at, mode) for at in BARRIERS for mode in MODES if (at, mode) not in NOTHING_ON_RECORD]
)
@pytest.mark.parametrize("lost", [False, True], ids=["lives", "lost"])
def test_a_cancellation_while_a_barrier_is_being_passed_ends_the_run(at: str, mode: str, lost: bool) -> None:
    with World(CLERK) as world:
        process = stopped_in(world, at, mode)
        name = world.records()[0].execution_id
        world.unavailable, unavailable = 0, world.unavailable
        waiting = process.begin(process.do(process.runtime.execution(name)))
        process.do(process.runtime.cancel(name))
        world.unavailable = unavailable
        entered = list(world.witness.entries)
        if lost:
            world.lose(process)
            world.unavailable = 0
            process = world.open()
        else:
            for address in [*world._parked]:
                world.release(address)
            world.advance(30)
            world.unavailable = 0
        end = process.do(process.do(process.runtime.execution(name)).terminal())
        if not lost:
            assert world.wait(waiting) == end
        too_late = (at == "outcome#1" and not lost) or "execution_completed" in world.kinds("clerk")
        assert isinstance(end, Completed if too_late else Cancelled)
        assert world.witness.entries == entered
        assert world.root("clerk").owner is None
        unknown = {row.tool for row in world.rows(name) if row.status == "unknown"}
        ran = {entry.tool for entry in entered}
        assert unknown <= ran | {"add", "pay", "slow"}


# while things run -------------------------------------------------------------------------------------------------


@tool
async def nap(seconds: float) -> str:
    """Listens."""
    await asyncio.sleep(seconds)
    return f"slept {seconds}"


@tool
async def dogged(seconds: float) -> str:
    """Does not listen, and gets its work done."""
    until = asyncio.get_running_loop().time() + seconds
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return f"worked {seconds}"


@tool
async def polite(ctx: ToolContext) -> str:
    """Looks whether it was asked to stop."""
    await ctx.wait_cancelled()
    return "stopped early" if ctx.cancelled else "?"


def started(world: World, agent: Agent) -> tuple[Process, Any]:
    process = world.open()
    execution = process.do(process.runtime.start(agent, "go"))
    world.settle()
    return process, execution


def test_a_model_call_that_hangs_is_given_up() -> None:
    agent = Agent(name="a", model=scripted([hang(), "late"], record=False))
    with World(agent) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)
        assert world.clock.time < 2
        statuses = [entry.meta["status"] for entry in world.journal("a") if entry.kind == "llm_call_recorded"]
        assert statuses == ["failed"]


def test_an_answer_that_comes_while_the_run_ends_is_paid_for_and_used_for_nothing() -> None:
    class Slow:
        name = "slow"

        async def complete(self, request: Any) -> ModelAnswer:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                await asyncio.sleep(3)
            return ModelAnswer("too late", usage=Usage(7, 9))

        async def aclose(self) -> None:
            """Nothing."""

    agent = Agent(name="a", model=Slow())
    with World(agent) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        end = process.do(execution)
        assert isinstance(end, Cancelled)
        assert end.usage == Usage(7, 9)
        assert 3 <= world.clock.time < 5
        assert "assistant_message" not in world.kinds("a")


def test_a_run_that_waits_to_try_its_model_again_is_cancelled_at_once() -> None:
    agent = Agent(name="a", model=scripted([ModelError("busy", retry_safe=True), "hello"], record=False))
    with World(agent) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)
        assert world.clock.time < 1
        assert world.witness.model_calls == {"a": 1}


@pytest.mark.parametrize(
    ("one", "arguments", "status", "seconds"),
    [(nap, {"seconds": 50}, "cancelled", 0), (dogged, {"seconds": 50}, "completed", 50), (polite, {}, "cancelled", 0)],
    ids=["listens", "does not listen", "polite"],
)
def test_a_tool_that_ran_is_recorded_with_what_it_did(one: Any, arguments: Any, status: str, seconds: float) -> None:
    agent = Agent(name="a", model=scripted([call(one.name, **arguments), "done"], record=False), tools=[one])
    with World(agent) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)
        (row,) = world.rows(execution.id)
        assert row.status == status
        assert seconds <= world.clock.time < seconds + 1
        assert world.witness.model_calls == {"a": 1}


def test_a_blocking_body_keeps_the_agent_busy_until_it_has_physically_ended() -> None:
    seen: list[bool] = []

    @tool
    def block(ctx: ToolContext) -> str:
        """Blocks a thread."""
        seen.append(ctx.cancelled)
        world.processes[-1].environment.takes(40)
        return "done"

    agent = Agent(name="a", model=scripted([call("block"), "done"], record=False), tools=[block])
    with World(agent) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        world.advance(39)
        assert process.runtime.stats().executing == 1
        assert world.record(execution.id).status == "active"
        assert isinstance(process.do(execution), Cancelled)
        assert world.clock.time >= 40
        (row,) = world.rows(execution.id)
        assert row.status == "completed"


def test_a_body_that_waits_for_a_thread_never_begins() -> None:
    agent = Agent(name="a", model=scripted([call("add", a=1, b=2), "done"], record=False), tools=CLERK.tools)
    with World(agent, faults=[Fault("tool:add#1", "hold")]) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)
        assert world.witness.effects == {}
        (row,) = world.rows(execution.id)
        assert row.status == "cancelled"


def test_a_body_that_was_asked_to_stop_for_its_timeout_is_not_asked_twice() -> None:
    late = tool(dogged.function, name="late", timeout=5)
    agent = Agent(name="a", model=scripted([call("late", seconds=50), "done"], record=False), tools=[late])
    with World(agent) as world:
        process, execution = started(world, agent)
        world.advance(6)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)
        (row,) = world.rows(execution.id)
        assert row.status == "completed"
        assert 50 <= world.clock.time < 51


def test_siblings_are_recorded_each_with_what_it_did() -> None:
    both = calls(call("nap", seconds=50), call("dogged", seconds=20), call("nap", seconds=0.5))
    agent = Agent(name="a", model=scripted([both, "done"], record=False), tools=[nap, dogged])
    with World(agent) as world:
        process, execution = started(world, agent)
        world.advance(0.6)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)
        assert [str(row.status) for row in world.rows(execution.id)] == ["cancelled", "completed", "completed"]


# at rest -----------------------------------------------------------------------------------------------------------


def test_a_suspended_run_is_cancelled() -> None:
    with World(CLERK) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go"))
        assert isinstance(rest, Suspended)
        process.do(process.runtime.cancel(rest.execution_id))
        end = process.do(process.do(process.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Cancelled)
        assert world.witness.effects == {}
        assert {str(row.status) for row in world.rows(rest.execution_id)} == {"cancelled"}


def test_a_run_that_waits_for_a_resolution_is_cancelled_and_what_nobody_knew_is_unknown() -> None:
    with World(CLERK, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = world.open()
        process.begin(Client(world, CLERK)._step(process))
        world.advance(1)
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go", id="req-1"))
        assert isinstance(rest, NeedsResolution)
        process.do(process.runtime.cancel(rest.execution_id))
        end = process.do(process.do(process.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Cancelled)
        assert {str(row.status) for row in world.rows(rest.execution_id)} == {"unknown"}
        assert isinstance(process.do(process.runtime.run(CLERK, "more")), Completed)


def test_a_run_that_nobody_owns_is_ended_by_whoever_cancels_it() -> None:
    with World(CLERK, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.run(CLERK, "go"))
        world.settle()
        (record,) = world.records()
        process = world.open(poll_interval=0)
        world.settle()
        process.do(process.runtime.cancel(record.execution_id))
        end = process.do(process.do(process.runtime.execution(record.execution_id)).terminal())
        assert isinstance(end, Cancelled)


def test_an_ended_run_is_left_as_it_is_and_one_that_never_was_is_not_found() -> None:
    agent = Agent(name="a", model=scripted(["hello"], record=False))
    with World(agent) as world:
        process, execution = started(world, agent)
        end = process.do(execution)
        process.do(process.runtime.cancel(execution.id))
        assert process.do(process.runtime.result(execution.id)) == end
        with pytest.raises(ExecutionNotFound):
            process.do(process.runtime.cancel("x-never"))


def test_cancelling_twice_is_cancelling_once() -> None:
    agent = Agent(name="a", model=scripted([hang(), "late"], record=False))
    with World(agent) as world:
        process, execution = started(world, agent)
        one = process.begin(process.runtime.cancel(execution.id))
        two = process.begin(process.runtime.cancel(execution.id))
        world.wait(one)
        world.wait(two)
        assert isinstance(process.do(execution), Cancelled)
        assert world.kinds("a").count("execution_cancelled") == 1


def test_a_cancellation_whose_writing_nobody_knows_of_is_written_again() -> None:
    for do in ("lose_reply_committed", "lose_reply_rolled_back", "unavailable"):
        agent = Agent(name="a", model=scripted([hang(), "late"], record=False))
        with World(agent, faults=[Fault("stop_intent#1", do)]) as world:
            process, execution = started(world, agent)
            process.do(process.runtime.cancel(execution.id))
            assert isinstance(process.do(execution), Cancelled)


def test_an_old_version_s_run_is_cancelled_by_the_new_version_although_it_may_not_go_on() -> None:
    with World(CLERK) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go"))
        process.close()
        newer = world.open(clerk(version=2))
        newer.do(newer.runtime.cancel(rest.execution_id))
        end = newer.do(newer.do(newer.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Cancelled)


def test_an_old_version_s_run_that_was_cancelled_elsewhere_is_ended_at_the_next_look() -> None:
    with World(CLERK) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go"))
        process.close()
        desk = world.open(Agent(name="other", model=scripted(["x"])))
        desk.do(desk.runtime.cancel(rest.execution_id))
        newer = world.open(clerk(version=2))
        end = newer.do(newer.do(newer.runtime.execution(rest.execution_id)).terminal(), within=30)
        assert isinstance(end, Cancelled)


def test_a_run_of_another_machine_is_not_even_cancelled() -> None:
    with World(CLERK) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go"))
        process.close()
        record = world.record(rest.execution_id)
        world.store.submit(
            lambda tx: tx.executions.save(replace(record, spec_hash="of another time"), record.revision),
            lambda said: None,
        )
        newer = world.open()
        newer.do(newer.runtime.cancel(rest.execution_id))
        world.advance(10)
        assert world.record(rest.execution_id).status == "suspended"


# the end is what it was -----------------------------------------------------------------------------------------------


def test_a_failure_that_came_first_stays_the_failure() -> None:
    agent = Agent(name="a", model=scripted([ModelError("no")], record=False))
    with World(agent, faults=[Fault("outcome#1", "hold")]) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        world.release("outcome#1")
        assert isinstance(process.do(execution), Failed)


def test_a_tool_that_never_ends_closes_a_cancelled_run_after_the_drain() -> None:
    agent = Agent(
        name="a", model=scripted([call("dogged", seconds=9999), "x"], record=False), tools=[dogged], drain_timeout=60
    )
    with World(agent) as world:
        process, execution = started(world, agent)
        process.do(process.runtime.cancel(execution.id))
        with pytest.raises(OutcomeUnknown):
            process.do(execution)
        assert 59 < world.clock.time < 62


def test_a_run_that_is_being_let_go_is_ended_by_who_cancels_it_here() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    agent = Agent(name="a", model=scripted([call("look"), "done"]), tools=[look])
    with World(agent, faults=[Fault("tool:look#1", "crash_during_effect"), Fault("let_go#1", "hold")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        process = world.open(poll_interval=0)
        (record,) = world.records()
        cancelling = process.begin(process.runtime.cancel(record.execution_id))
        world.settle()
        world.release("let_go#1")
        world.wait(cancelling)
        world.advance(1)
        assert world.record(record.execution_id).status == "cancelled"
