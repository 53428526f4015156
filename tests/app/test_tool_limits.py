"""Tools with limits: calls wait for their turn, and whatever becomes of one, its slot is there for the next."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from execution.programs import named, run, single_faults
from pawl import (
    Agent,
    Cancelled,
    Completed,
    Failed,
    NeedsResolution,
    OutcomeUnknown,
    Superseded,
    ToolContext,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.agent.payloads import Stop, StopReason
from pawl.runtime.agent.tool_invocation import ToolInvocation
from pawl.runtime.execution import heart
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World

BEGAN: list[tuple[str, float]] = []


@pytest.fixture(autouse=True)
def nothing_began() -> None:
    BEGAN.clear()


def began(ctx: ToolContext) -> None:
    BEGAN.append((ctx.tool_call_id, round(asyncio.get_running_loop().time(), 3)))


@tool(max_concurrent=1)
async def dig(seconds: float, ctx: ToolContext) -> str:
    """One at a time."""
    began(ctx)
    await asyncio.sleep(seconds)
    return f"dug {seconds}"


@tool(max_concurrent=1, timeout=5)
async def hurry(seconds: float, ctx: ToolContext) -> str:
    """One at a time, and each has five seconds."""
    began(ctx)
    await asyncio.sleep(seconds)
    return f"hurried {seconds}"


@tool(max_concurrent=1)
async def stubborn(seconds: float, ctx: ToolContext) -> str:
    """Does not listen."""
    began(ctx)
    until = asyncio.get_running_loop().time() + seconds
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return "done"


@tool(max_concurrent=1)
async def fail(ctx: ToolContext) -> str:
    """Raises."""
    began(ctx)
    await asyncio.sleep(1)
    raise LookupError("nothing there")


@tool(rate="2/10s")
async def knock(ctx: ToolContext) -> str:
    """Not too often."""
    began(ctx)
    return "heard"


@tool
async def other(ctx: ToolContext) -> str:
    """Without limits."""
    began(ctx)
    return "done"


TOOLS = [dig, hurry, stubborn, fail, knock, other]


def crew(*answers: Any, name: str = "crew", **options: Any) -> Agent:
    return Agent(name=name, model=scripted([*answers, "all done"], record=False), tools=TOOLS, **options)


def finished(world: World, agent: Agent) -> Any:
    process = world.open()
    return process.do(process.runtime.run(agent, "go"))


def started(world: World, agent: Agent) -> tuple[Process, Any]:
    process = world.open()
    execution = process.do(process.runtime.start(agent, "go"))
    world.settle()
    return process, execution


def statuses(world: World, execution_id: str) -> dict[str, str]:
    return {row.tool_call_id: str(row.status) for row in world.rows(execution_id)}


def free(process: Process) -> bool:
    """Whether no slot is held or waited for."""
    slots = process.runtime._keeper._workshop._slots
    return not slots._queue_of and not slots.waiting


# turns ------------------------------------------------------------------------------------------------------------


def test_calls_of_one_answer_take_turns_and_others_do_not_wait_for_them() -> None:
    agent = crew(calls(call("dig", seconds=3), call("dig", seconds=2), call("other"), call("dig", seconds=1)))
    with World(agent) as world:
        assert isinstance(finished(world, agent), Completed)
        assert BEGAN == [("c3", 0), ("c1", 0), ("c2", 3), ("c4", 5)]
        assert free(world.processes[0])


def test_executions_take_turns_in_the_order_in_which_they_asked() -> None:
    agents = [crew(calls(call("dig", seconds=1), call("dig", seconds=1)), name=f"crew{n}") for n in range(3)]
    with World(*agents) as world:
        process = world.open()
        running = [process.begin(process.runtime.run(agent, "go")) for agent in agents]
        for one in running:
            assert isinstance(world.wait(one), Completed)
        assert [at for _, at in BEGAN] == [0, 1, 2, 3, 4, 5]


def test_a_rate_is_kept_over_all_executions() -> None:
    agents = [crew(calls(call("knock"), call("knock")), name=f"crew{n}") for n in range(3)]
    with World(*agents) as world:
        process = world.open()
        for one in [process.begin(process.runtime.run(agent, "go")) for agent in agents]:
            assert isinstance(world.wait(one), Completed)
        assert [at for _, at in BEGAN] == [0, 0, 10, 10, 20, 20]


def test_the_timeout_begins_with_the_body_and_not_with_the_wait() -> None:
    agent = crew(calls(call("hurry", seconds=4), call("hurry", seconds=4), call("hurry", seconds=6)))
    with World(agent) as world:
        assert isinstance(finished(world, agent), Completed)
        assert BEGAN == [("c1", 0), ("c2", 4), ("c3", 8)]
        said = [message.text for message in world.witness.requests[-1].messages if message.role == "tool"]
        assert said == ["hurried 4.0", "hurried 4.0", "error: hurry took over 5 s"]


def test_a_tool_without_limits_asks_for_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    effects: Counter[str] = Counter()
    perform = Keeper._perform

    def counted(self: Keeper, live: Any, effect: object) -> None:
        effects[type(effect).__name__] += 1
        perform(self, live, effect)

    monkeypatch.setattr(Keeper, "_perform", counted)
    agent = crew(calls(call("other"), call("dig", seconds=1)))
    with World(agent) as world:
        assert isinstance(finished(world, agent), Completed)
    assert (effects["RunTool"], effects["RequestSlot"], effects["Withdraw"]) == (2, 1, 0)


# whatever becomes of it, the slot is there for the next -------------------------------------------------------------


def test_a_body_that_raises_gives_its_slot_back() -> None:
    agent = crew(calls(call("fail"), call("fail")))
    with World(agent) as world:
        assert isinstance(finished(world, agent), Completed)
        assert BEGAN == [("c1", 0), ("c2", 1)]
        assert free(world.processes[0])


def test_a_body_that_does_not_listen_keeps_its_slot_to_its_physical_end() -> None:
    first, second = crew(call("stubborn", seconds=20), name="a"), crew(call("stubborn", seconds=1), name="b")
    with World(first, second) as world:
        process, execution = started(world, first)
        waiting = process.begin(process.runtime.run(second, "go"))
        world.advance(2)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(world.wait(waiting), Completed)
        assert isinstance(process.do(execution.terminal()), Cancelled)
        assert BEGAN == [("c1", 0), ("c1", 20)]
        assert free(process)


def test_a_call_that_is_cancelled_while_it_waits_never_runs_and_is_recorded() -> None:
    agent = crew(calls(call("dig", seconds=10), call("dig", seconds=1)))
    later = crew(call("dig", seconds=1), name="later")
    with World(agent, later) as world:
        process, execution = started(world, agent)
        waiting = process.begin(process.runtime.run(later, "go"))
        world.advance(1)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution.terminal()), Cancelled)
        assert statuses(world, execution.id) == {"c1": "cancelled", "c2": "cancelled"}
        assert isinstance(world.wait(waiting), Completed)
        assert BEGAN == [("c1", 0), ("c1", 1)]
        assert free(process)


@pytest.mark.parametrize("stop", ["cancel", "deadline"])
def test_a_run_that_is_stopped_while_all_its_calls_wait_ends_without_them(stop: str) -> None:
    holder = crew(call("dig", seconds=100), name="holder")
    agent = crew(calls(call("dig", seconds=1), call("dig", seconds=2)), run_timeout=5 if stop == "deadline" else None)
    with World(holder, agent) as world:
        process, _ = started(world, holder)
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(2)
        if stop == "cancel":
            process.do(process.runtime.cancel(execution.id))
        end = process.do(execution.terminal())
        assert isinstance(end, Cancelled if stop == "cancel" else Failed)
        assert statuses(world, execution.id) == {"c1": "cancelled", "c2": "cancelled"}
        assert BEGAN == [("c1", 0)]
        assert world.now < 10 + 1_800_000_000  # nothing was drained that did not run
        assert process.runtime._keeper._workshop.queued == 0


def test_a_slot_that_was_granted_in_the_moment_of_the_cancellation_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grant is on its way while the stop is being handled: it comes to a call that will not run any more."""
    holder, agent = crew(call("dig", seconds=3), name="holder"), crew(call("dig", seconds=1))
    with World(holder, agent) as world:
        process, _ = started(world, holder)
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(1)
        keeper = process.runtime._keeper
        release = keeper._workshop._slots.release

        def stop() -> None:
            keeper.deliver(execution.id, "cancel_requested", Stop(StopReason.CANCEL))

        def stops_first(name: str) -> bool:
            done = release(name)  # this posts the grant
            monkeypatch.undo()
            keeper.inbox._messages.appendleft(stop)
            return done

        monkeypatch.setattr(keeper._workshop._slots, "release", stops_first)
        assert isinstance(process.do(execution.terminal()), Cancelled)
        assert BEGAN == [("c1", 0)]
        assert statuses(world, execution.id) == {"c1": "cancelled"}
        assert free(process)


@pytest.mark.parametrize("broken", ["request_slot", "slot_wanted"])
def test_an_error_inside_while_a_call_waits_is_its_outcome_and_frees_its_place(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(self: ToolInvocation, payload: object) -> Any:
        raise RuntimeError(f"{broken} is broken")

    agent, after = crew(call("dig", seconds=1)), crew(call("dig", seconds=1), name="after")
    with World(agent, after) as world:
        monkeypatch.setattr(heart, "ToolInvocation", type("ToolInvocation", (ToolInvocation,), {broken: breaks}))
        assert isinstance(finished(world, agent), Completed)
        monkeypatch.undo()
        process = world.processes[0]
        (name,) = [record.execution_id for record in world.records()]
        (row,) = world.rows(name)
        assert (str(row.status), row.error.message if row.error else "") == ("failed", f"{broken} is broken")
        assert free(process)
        assert BEGAN == []
        assert isinstance(process.do(process.runtime.run(after, "go")), Completed)


def test_a_slot_that_cannot_be_asked_for_fails_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = crew(call("dig", seconds=1))
    with World(agent) as world:
        process = world.open()
        monkeypatch.setattr(process.runtime._keeper._workshop, "request_slot", None)
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert list(statuses(world, world.records()[0].execution_id).values()) == ["failed"]
        assert free(process)


def test_a_body_that_cannot_be_started_gives_its_slot_back(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, after = crew(call("dig", seconds=1)), crew(call("dig", seconds=1), name="after")
    with World(agent, after) as world:
        process = world.open()
        monkeypatch.setattr(process.runtime._keeper._workshop, "_context", None)
        with pytest.raises(OutcomeUnknown):
            process.do(process.runtime.run(agent, "go"))
        monkeypatch.undo()
        assert free(process)
        assert isinstance(process.do(process.runtime.run(after, "go")), Completed)


# processes --------------------------------------------------------------------------------------------------------


def test_a_process_that_is_lost_while_a_call_waits_leaves_it_pending_and_it_is_asked_about() -> None:
    agent = crew(calls(call("dig", seconds=10), call("dig", seconds=1)))
    with World(agent) as world:
        process, execution = started(world, agent)
        world.advance(1)
        world.lose(process)
        second = world.open()
        rest = second.do(second.runtime.result(execution.id))
        assert isinstance(rest, NeedsResolution)
        assert [one.subject for one in rest.unresolved] == ["c1", "c2"]
        assert statuses(world, execution.id) == {"c1": "pending", "c2": "pending"}


def test_what_waited_for_a_slot_when_its_process_slept_through_its_lease_never_runs() -> None:
    holder, agent = crew(call("dig", seconds=40), name="holder"), crew(call("dig", seconds=1))
    with World(holder, agent) as world:
        first, _ = started(world, holder)
        waiting = first.begin(first.runtime.run(agent, "go"))
        world.advance(1)
        world.pause(first)
        world.advance(35)
        client = Client(world, agent, start_id="unused")
        second = world.open()
        assert client is not None
        world.advance(5)
        world.unpause(first)
        world.advance(60)
        with pytest.raises(Superseded):
            world.wait(waiting)
        assert [name for name, _ in BEGAN] == ["c1"]
        assert free(first)
        assert len(second.do(second.runtime.executions())) == 2


@tool(max_concurrent=1, recovery="replay")
async def repeat(text: str) -> str:
    """One at a time, and safe to repeat."""
    await asyncio.sleep(1)
    return text


@tool(max_concurrent=1)
def once(text: str) -> str:
    """One at a time, and asked about."""
    return text


LIMITED = Agent(
    name="limited",
    model=scripted(
        [
            calls(call("repeat", text="a"), call("repeat", text="b"), call("once", text="c"), call("once", text="d")),
            "x",
        ],
        record=False,
    ),
    tools=[repeat, once],
)


def disturbed(*faults: Fault) -> tuple[Any, list[Fault]]:
    with World(LIMITED, faults=faults) as world:
        result, client = run(world, LIMITED)
        assert not world.faults.unmet
        if all(fault.times for fault in faults):
            assert "Stuck" not in client.troubles
        assert not {"c1", "c2"} & set(client.asked)
        for process in world.processes:
            assert not process.alive or free(process)
        return result, single_faults(world)


EXPECTED, FAULTS = disturbed()


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_one_fault_anywhere_changes_nothing_that_anybody_can_see(fault: Fault) -> None:
    result, _ = disturbed(fault)
    assert (result.outcome, result.output, result.kinds, result.statuses) == (
        EXPECTED.outcome,
        EXPECTED.output,
        EXPECTED.kinds,
        EXPECTED.statuses,
    )
    assert result.effects["once"] == EXPECTED.effects["once"]
