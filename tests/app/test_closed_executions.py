"""Fail closed: what was written is not known, so nothing more is started here, until somebody reads the store again."""

from __future__ import annotations

import asyncio

import pytest

from pawl import (
    Agent,
    AgentBusy,
    Cancelled,
    Completed,
    NeedsResolution,
    NotSuspended,
    OutcomeUnknown,
    PawlError,
    Superseded,
    Suspended,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.generated.admission import State as Slot
from pawl.runtime.execution import heart, keeper
from pawl.runtime.execution.heart import Decision, Live, Message
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(recovery="replay", timeout=5)
async def stubborn() -> str:
    """Does not listen when it is asked to stop."""
    until = asyncio.get_running_loop().time() + 2000
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return "done at last"


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


def adder(**options: object) -> Agent:
    return Agent(name="a", model=scripted([call("add", a=1, b=2), "three"], record=False), tools=[add], **options)  # type: ignore[arg-type]


def closed(world: World, process: Process, agent: Agent) -> str:
    """Start a run that has to be closed; its id."""
    execution = process.do(process.runtime.start(agent, "go", id="r1"))
    with pytest.raises(OutcomeUnknown, match="reload"):
        process.do(execution)
    return execution.id


CLOSING = [
    Fault("provider_dispatch#1", "foreign_write"),
    Fault("provider_dispatch#2", "foreign_write_unseen"),
    Fault("tool_dispatch#1", "foreign_write_unseen"),
    Fault("tool_outcome#1", "foreign_write_unseen"),
    Fault("tool_outcome#1", "refuse", error=PawlError("no")),
    Fault("outcome#1", "refuse", error=PawlError("no")),
    Fault("outcome#1", "foreign_write_unseen"),
]


def named(fault: Fault) -> str:
    return f"{fault.at}-{fault.do}"


@pytest.mark.parametrize("fault", CLOSING, ids=named)
def test_a_closed_run_keeps_its_slot_and_says_so_to_everybody(fault: Fault) -> None:
    agent = adder()
    with World(agent, faults=[fault]) as world:
        process = world.open()
        name = closed(world, process, agent)
        assert process.runtime._host.keeper.registry.state("a") is Slot.RECOVERY_REQUIRED
        with pytest.raises(AgentBusy):
            process.do(process.runtime.start(agent, "more"))
        again = process.do(process.runtime.start(agent, "go", id="r1"))
        with pytest.raises(OutcomeUnknown):
            process.do(again)
        with pytest.raises(OutcomeUnknown):
            process.do(process.do(process.runtime.execution(name)).terminal())


@pytest.mark.parametrize("fault", CLOSING, ids=named)
def test_a_closed_run_goes_on_when_it_is_reloaded(fault: Fault) -> None:
    agent = adder()
    with World(agent, faults=[fault]) as world:
        process = world.open()
        name = closed(world, process, agent)
        process.do(process.runtime.reload(name))
        rest = process.do(process.do(process.runtime.execution(name)))
        if isinstance(rest, NeedsResolution):
            assert [unresolved.subject for unresolved in rest.unresolved] == ["c1"]
            rest = process.do(process.runtime.resolve(name, "c1", "succeeded", result="3"))
        assert isinstance(rest, Completed)
        assert rest.output == "three"
        assert world.witness.effects == {"add": 1}
        assert process.runtime._host.keeper.registry.state("a") is Slot.VACANT
        assert isinstance(process.do(process.runtime.run(agent, "more")), object)


@pytest.mark.parametrize("fault", CLOSING, ids=named)
def test_a_closed_run_goes_on_in_the_next_process(fault: Fault) -> None:
    agent = adder()
    with World(agent, faults=[fault]) as world:
        process = world.open()
        name = closed(world, process, agent)
        process.close()
        process = world.open()
        rest = process.do(process.do(process.runtime.execution(name)))
        if isinstance(rest, NeedsResolution):
            rest = process.do(process.runtime.resolve(name, "c1", "succeeded", result="3"))
        assert isinstance(rest, Completed)
        assert world.witness.effects == {"add": 1}


@pytest.mark.parametrize("fault", CLOSING, ids=named)
def test_a_closed_run_can_be_cancelled(fault: Fault) -> None:
    agent = adder()
    with World(agent, faults=[fault]) as world:
        process = world.open()
        name = closed(world, process, agent)
        process.do(process.runtime.cancel(name))
        assert isinstance(process.do(process.do(process.runtime.execution(name))), Cancelled)
        assert process.runtime._host.keeper.registry.state("a") is Slot.VACANT


def test_a_reload_that_closes_again_can_be_repeated() -> None:
    agent = adder()
    with World(agent, faults=[Fault(f"outcome#{n}", "refuse", error=PawlError("no")) for n in (1, 2)]) as world:
        process = world.open()
        name = closed(world, process, agent)
        process.do(process.runtime.reload(name))
        with pytest.raises(OutcomeUnknown):
            process.do(process.do(process.runtime.execution(name)))
        process.do(process.runtime.reload(name))
        assert isinstance(process.do(process.do(process.runtime.execution(name))), Completed)


def test_only_what_was_closed_here_is_reloaded() -> None:
    agent = Agent(name="a", model=scripted([call("pay", cents=5), "done"]), tools=[pay])
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        with pytest.raises(NotSuspended, match="not closed"):
            process.do(process.runtime.reload(rest.execution_id))


def test_a_run_that_goes_on_here_is_not_reloaded() -> None:
    agent = Agent(name="a", model=scripted([hang()]))
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        fence = world.root("a").fence
        with pytest.raises(NotSuspended, match="not closed"):
            process.do(process.runtime.reload(execution.id))
        assert world.root("a").fence == fence


def test_a_reload_finds_an_outcome_that_had_landed() -> None:
    agent = adder()
    with World(agent, faults=[Fault("outcome#1", "lose_reply_committed"), Fault("read:outcome#1", "hold")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        live = process.runtime._host.keeper.live(execution.id)
        assert live is not None
        assert str(live.state) == "settling.reconciling"
        error = RuntimeError("a fault of the machine room")
        process.runtime._host.keeper.deliver(execution.id, "internal_error", error)
        with pytest.raises(OutcomeUnknown):
            process.do(execution)
        with pytest.raises(OutcomeUnknown, match="has not ended"):
            process.do(process.runtime.reload(execution.id))
        world.release("read:outcome#1")
        world.settle()
        process.do(process.runtime.reload(execution.id))
        assert isinstance(process.do(process.do(process.runtime.execution(execution.id))), Completed)
        assert world.kinds("a").count("execution_completed") == 1


def test_what_still_runs_is_not_asked_about_and_not_run_beside() -> None:
    """A body that outlives its timeout and its drain closes the run; it can be reloaded when it has ended."""
    agent = Agent(
        name="a", model=scripted([call("stubborn"), "done"], record=False), tools=[stubborn], drain_timeout=100
    )
    with World(agent) as world:
        process = world.open()
        name = closed(world, process, agent)
        assert 104 < world.clock.time < 106
        with pytest.raises(OutcomeUnknown, match="has not ended"):
            process.do(process.runtime.reload(name))
        assert world.witness.effects == {"stubborn": 1}
        world.advance(2000)
        process.do(process.runtime.reload(name))
        execution = process.do(process.runtime.execution(name))
        with pytest.raises(OutcomeUnknown):  # it is replayed, and is no less stubborn
            process.do(execution)
        assert world.witness.effects == {"stubborn": 2}


def test_a_cancelled_run_whose_tool_does_not_end_closes_and_ends_when_the_tool_has_ended() -> None:
    agent = Agent(
        name="a", model=scripted([call("stubborn"), "done"], record=False), tools=[stubborn], drain_timeout=100
    )
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(1)
        process.do(process.runtime.cancel(execution.id))
        with pytest.raises(OutcomeUnknown):
            process.do(execution)
        with pytest.raises(AgentBusy):
            process.do(process.runtime.start(agent, "more"))
        world.advance(2000)
        assert isinstance(process.do(process.do(process.runtime.execution(execution.id))), Cancelled)
        (row,) = world.rows(execution.id)
        assert row.status == "unknown"


def taken_over(world: World, agent: Agent) -> tuple[Process, Process, str]:
    """A run that the first process had to close, and a second process that owns it now."""
    first = world.open()
    name = closed(world, first, agent)
    world.pause(first)
    world.advance(40)
    world.fault(f"model#{world.faults.counts['model'] + 1}", "hold")
    second = world.open()
    world.settle()
    world.unpause(first)
    return first, second, name


def test_a_closed_run_that_was_taken_over_is_superseded_and_its_slot_is_free() -> None:
    agent = adder()
    with World(agent, faults=[Fault("outcome#1", "refuse", error=PawlError("no"))]) as world:
        first, second, name = taken_over(world, agent)
        with pytest.raises(Superseded):
            first.do(first.runtime.reload(name))
        assert first.runtime._host.keeper.registry.state("a") is Slot.VACANT
        waiting = first.begin(first.do(first.runtime.execution(name)))
        world.release(f"model#{world.faults.counts['model']}")
        assert isinstance(world.wait(waiting), Completed)
        assert {event.kind for event in first.events}.isdisjoint({"done", "error"})
        assert [str(event.kind) for event in second.events].count("done") == 1


def test_a_closed_run_that_somebody_else_has_ended_ends_here_as_well() -> None:
    agent = adder()
    with World(agent, faults=[Fault("outcome#1", "refuse", error=PawlError("no"))]) as world:
        first, _, name = taken_over(world, agent)
        world.release(f"model#{world.faults.counts['model']}")
        world.settle()
        first.do(first.runtime.reload(name))
        assert first.runtime._host.keeper.registry.state("a") is Slot.VACANT
        assert isinstance(first.do(first.do(first.runtime.execution(name))), Completed)
        assert world.kinds("a").count("execution_completed") == 1


def test_siblings_of_an_unresolved_call_are_recorded_before_a_reload() -> None:
    agent = Agent(
        name="a",
        model=scripted([calls(call("add", a=1, b=2), call("add", a=3, b=4)), "done"], record=False),
        tools=[add],
    )
    with World(agent, faults=[Fault("tool_outcome#1", "refuse", error=PawlError("no"))]) as world:
        process = world.open()
        name = closed(world, process, agent)
        process.do(process.runtime.reload(name))
        rest = process.do(process.do(process.runtime.execution(name)))
        assert isinstance(rest, NeedsResolution)
        assert [unresolved.subject for unresolved in rest.unresolved] == ["c1"]


def test_what_closed_a_run_by_an_error_of_the_tables_has_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message that nobody understood was the end of the model call: nothing runs, so it can be read again."""
    agent = adder()
    failing = ["llm_completed"]

    def decide(live: Live, message: Message) -> Decision:
        if message.event in failing:
            failing.remove(message.event)
            raise LookupError("no row")
        return heart.decide(live, message)

    monkeypatch.setattr(keeper, "decide", decide)
    with World(agent) as world:
        process = world.open()
        name = closed(world, process, agent)
        process.do(process.runtime.reload(name))
        assert isinstance(process.do(process.do(process.runtime.execution(name))), Completed)
