"""The deadline of a run: on record from its start, standing still while people are waited for, an event like others."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    Failed,
    InvalidArguments,
    ModelAnswer,
    NeedsResolution,
    Suspended,
    ToolContext,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.simulation.clock import EPOCH
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World


@tool
async def nap(seconds: float) -> str:
    """Sleep, and wake when asked to."""
    await asyncio.sleep(seconds)
    return "slept"


@tool
async def sulk(seconds: float) -> str:
    """Sleep, whoever asks."""
    until = asyncio.get_running_loop().time() + seconds
    while (left := until - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return "slept"


@tool(approval=True, recovery="replay")
def pay(cents: int) -> str:
    """Approved."""
    return f"paid {cents}"


DEADLINES: list[float | None] = []


@tool(timeout=8)
def note(ctx: ToolContext) -> str:
    """Note the deadline that the call is told."""
    DEADLINES.append(ctx.deadline)
    return "noted"


@tool
def note_freely(ctx: ToolContext) -> str:
    """The same without a timeout of its own."""
    DEADLINES.append(ctx.deadline)
    return "noted"


TOOLS = [nap, sulk, pay, note, note_freely]


def runner(*answers: Any, **options: Any) -> Agent:
    return Agent(name="a", model=scripted(answers, record=False), tools=TOOLS, **options)


def expect_deadline(end: object) -> None:
    assert isinstance(end, Failed)
    assert end.error.type == "DeadlineExceeded"
    assert "longer than it was given" in end.error.message


def record(world: World) -> ExecutionRecord:
    return world.records()[0]


def armed(process: Process) -> int:
    return len(process.runtime._keeper._deadlines)


def test_a_run_that_takes_too_long_fails_and_says_so() -> None:
    agent = runner(hang())
    with World(agent) as world:
        process = world.open()
        expect_deadline(process.do(process.runtime.run(agent, "go", run_timeout=30)))
        assert world.clock.time == 30
        assert [str(event.kind) for event in process.events] == ["timeout"]
        assert record(world).status == "failed"
        assert armed(process) == 0


def test_the_agents_timeout_is_that_of_its_runs_and_a_start_may_say_another() -> None:
    agent = runner(*[hang()] * 2, "quick", run_timeout=30)
    with World(agent) as world:
        process = world.open()
        expect_deadline(process.do(process.runtime.run(agent, "go")))
        assert world.clock.time == 30
        expect_deadline(process.do(process.runtime.run(agent, "go", run_timeout=5)))
        assert world.clock.time == 35
        assert isinstance(process.do(process.runtime.run(agent, "go", run_timeout=math.inf)), Completed)
        assert [one.deadline for one in world.records()] == [EPOCH + 30, EPOCH + 35, None]


def test_a_run_that_ends_in_time_leaves_no_timer() -> None:
    agent = runner(call("nap", seconds=3), "done", run_timeout=30)
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert armed(process) == 0
        world.advance(100)
        assert process.dropped.get("deadline_exceeded", 0) == 0


def test_without_a_deadline_there_is_no_timer() -> None:
    agent = runner(call("nap", seconds=3), "done")
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        assert armed(process) == 0
        assert process.runtime._keeper._deadlines._armed == {}
        process.do(execution)


def test_the_same_start_again_keeps_the_first_deadline() -> None:
    agent = runner(call("nap", seconds=3), "done")
    with World(agent) as world:
        process = world.open()
        first = process.do(process.runtime.start(agent, "go", id="r1", run_timeout=30))
        again = process.do(process.runtime.start(agent, "go", id="r1", run_timeout=90))
        assert again.id == first.id
        assert record(world).deadline == EPOCH + 30
        process.do(first)


@pytest.mark.parametrize("timeout", [0, -5, math.nan, "5", True])
def test_a_timeout_that_makes_no_sense_starts_nothing(timeout: Any) -> None:
    agent = runner("done")
    with World(agent) as world:
        process = world.open()
        with pytest.raises(InvalidArguments, match="timeout="):
            process.do(process.runtime.start(agent, "go", run_timeout=timeout))
        assert world.records() == []


def test_a_tool_that_runs_is_asked_to_stop_and_waited_for() -> None:
    agent = runner(call("sulk", seconds=50), "never", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        expect_deadline(process.do(process.runtime.run(agent, "go")))
        assert world.clock.time == 50
        assert [str(row.status) for row in world.rows(record(world).execution_id)] == ["completed"]


def test_a_tool_without_a_timeout_is_bounded_by_the_deadline() -> None:
    agent = runner(call("nap", seconds=1e6), "never", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        expect_deadline(process.do(process.runtime.run(agent, "go")))
        assert world.clock.time == 10
        assert [str(row.status) for row in world.rows(record(world).execution_id)] == ["cancelled"]


def test_a_tool_that_never_ends_closes_the_run_after_its_drain_timeout() -> None:
    agent = runner(call("sulk", seconds=1e6), "never", run_timeout=10, drain_timeout=20)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(60)
        assert process.runtime.stats().closed == 1
        assert process.runtime._keeper.closed(execution.id)
        assert record(world).status == "active"


def test_tools_are_told_the_nearer_of_their_timeout_and_the_deadline() -> None:
    DEADLINES.clear()
    agent = runner(calls(call("note"), call("note_freely")), "done")
    with World(agent) as world:
        process = world.open()
        for timeout in (5, 60, math.inf):
            process.do(process.runtime.run(agent, "go", run_timeout=timeout, agent_id=f"a{timeout}"))
    assert DEADLINES == [EPOCH + 5, EPOCH + 5, EPOCH + 8, EPOCH + 60, EPOCH + 8, None]


# rests --------------------------------------------------------------------------------------------------------------


def test_the_clock_stands_still_while_a_person_is_waited_for() -> None:
    agent = runner(
        calls(call("nap", seconds=4), call("pay", cents=5)), call("nap", seconds=20), "never", run_timeout=10
    )
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        assert (record(world).deadline, record(world).time_left) == (None, 10)
        assert armed(process) == 0
        world.advance(10_000)
        assert record(world).status == "suspended"
        expect_deadline(process.do(process.runtime.decide(rest.request.id, approve=True)))
        assert world.clock.time == 10_010


def test_what_is_left_is_less_by_what_was_used() -> None:
    agent = runner(call("nap", seconds=4), call("pay", cents=5), call("nap", seconds=20), "never", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        assert record(world).time_left == pytest.approx(6)
        world.advance(1000)
        world.lose(process)
        other = world.open()
        world.settle()
        expect_deadline(other.do(other.runtime.decide(rest.request.id, approve=True)))
        assert world.clock.time == pytest.approx(1010)


def test_while_items_are_undecided_the_clock_still_stands() -> None:
    agent = runner(calls(call("pay", cents=5), call("pay", cents=6)), "done", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        first, second = rest.undecided
        world.advance(50)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, items={first: True})), Suspended)
        assert record(world).time_left == 10
        world.advance(50)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, items={second: True})), Completed)


def test_a_decision_that_is_only_recorded_sets_the_clock_going() -> None:
    agent = runner(call("pay", cents=5), "done", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        world.lose(process)
        world.advance(100)
        helper = world.open(Agent(name="other", model=scripted([], record=False)))
        helper.do(helper.runtime.record_decision(rest.request.id, approve=True))
        assert (record(world).deadline, record(world).time_left) == (EPOCH + 110, None)
        world.advance(50)
        late = world.open()
        expect_deadline(late.do(late.do(late.runtime.execution(rest.execution_id))))
        assert world.witness.effects == {}


def asking(world: World, **options: Any) -> tuple[Agent, Process, NeedsResolution]:
    """A run whose process was lost in a call that is asked about."""
    agent = runner(call("note_freely"), call("nap", seconds=20), "never", **options)
    process = world.open(agent)
    world.fault("tool:note_freely#1", "crash_during_effect")
    process.begin(process.runtime.start(agent, "go"))
    world.settle()
    again = world.open(agent)
    rest = again.do(again.do(again.runtime.execution(record(world).execution_id)))
    assert isinstance(rest, NeedsResolution)
    return agent, again, rest


def test_the_clock_stands_still_while_a_call_is_asked_about() -> None:
    with World() as world:
        _, process, rest = asking(world, run_timeout=10)
        assert (record(world).deadline, record(world).time_left) == (None, pytest.approx(10))
        assert record(world).revision == rest.revision
        world.advance(500)
        assert record(world).status == "active"
        expect_deadline(process.do(process.runtime.resolve(rest.execution_id, "c1", "succeeded", result="x")))
        assert world.clock.time == pytest.approx(510)


def test_an_answer_that_is_only_recorded_sets_the_clock_going() -> None:
    with World() as world:
        _, process, rest = asking(world, run_timeout=10)
        world.lose(process)
        world.advance(100)
        helper = world.open(Agent(name="other", model=scripted([], record=False)))
        helper.do(helper.runtime.record_resolution(rest.execution_id, "c1", "succeeded", result="x"))
        assert (record(world).deadline, record(world).time_left) == (EPOCH + 110, None)


# crashes ------------------------------------------------------------------------------------------------------------


def test_a_crash_does_not_reset_the_clock_and_time_without_a_process_counts() -> None:
    agent = runner(call("nap", seconds=4), call("nap", seconds=4), "never", run_timeout=10)
    with World(agent, faults=[Fault("tool:nap#2", "crash_before_effect")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(5)
        assert not process.alive
        world.advance(3)
        again = world.open()
        rest = again.do(again.do(again.runtime.execution(execution.id)))
        assert isinstance(rest, NeedsResolution)
        assert record(world).time_left == pytest.approx(2)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("admission#1", "crash_after_commit"),
        Fault("model#1", "crash_before_effect"),
        Fault("model#2", "crash_during_effect"),
        Fault("tool:note_freely#1", "crash_during_effect"),
        Fault("tool:pay#1", "crash_before_effect"),
        Fault("approval#1", "crash_after_commit"),
        Fault("tool_dispatch#2", "crash_after_commit"),
        Fault("outcome#1", "crash_before_commit"),
    ],
    ids=lambda fault: f"{fault.at}-{fault.do}",
)
def test_a_run_that_is_found_after_its_deadline_is_ended_and_nothing_of_it_is_let_go(fault: Fault) -> None:
    agent = runner(call("note_freely"), call("pay", cents=5), "done", run_timeout=10)
    with World(agent, faults=[fault]) as world:
        process = world.open()
        process.begin(process.runtime.start(agent, "go", id="r1"))
        world.settle()
        if process.alive:
            rest = process.do(process.do(process.runtime.execution(record(world).execution_id)))
            assert isinstance(rest, Suspended)
            process.begin(process.runtime.decide(rest.request.id, approve=True))
            world.settle()
        assert not process.alive
        calls_before, requests = world.witness.effects.copy(), len(world.witness.requests)
        world.advance(60)
        again = world.open()
        expect_deadline(again.do(again.do(again.runtime.execution(record(world).execution_id))))
        assert (world.witness.effects, len(world.witness.requests)) == (calls_before, requests)
        assert not [row for row in world.rows(record(world).execution_id) if str(row.status) == "pending"]


def test_another_version_of_the_agent_ends_a_run_that_is_past_its_deadline() -> None:
    agent = runner(call("nap", seconds=4), "never", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(1)
        world.lose(process)
        world.advance(60)
        newer = world.open(runner("done", version=2))
        expect_deadline(newer.do(newer.do(newer.runtime.execution(execution.id))))


def test_two_hosts_find_it_and_one_ends_it() -> None:
    agent = runner(hang(), run_timeout=10)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.lose(process)
        world.advance(60)
        first, opening_first = world.begin_open()
        second, opening_second = world.begin_open()
        world.opened(first, opening_first)
        world.opened(second, opening_second)
        world.advance(5)
        expect_deadline(first.do(first.do(first.runtime.execution(execution.id))))
        told = [event for process in (first, second) for event in process.events]
        assert [str(event.kind) for event in told] == ["timeout"]


# who wins -----------------------------------------------------------------------------------------------------------


def test_a_cancellation_before_the_deadline_stays_a_cancellation() -> None:
    agent = runner(call("sulk", seconds=50), "never", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(5)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution), Cancelled)


def test_a_cancellation_after_the_deadline_does_not_change_it() -> None:
    agent = runner(call("sulk", seconds=50), "never", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(15)
        process.do(process.runtime.cancel(execution.id))
        expect_deadline(process.do(execution))


def test_a_cancellation_on_record_wins_over_a_deadline_that_is_found_with_it() -> None:
    agent = runner(hang(), run_timeout=10)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.lose(process)
        helper = world.open(Agent(name="other", model=scripted([], record=False)))
        helper.do(helper.runtime.cancel(execution.id))
        world.advance(60)
        again = world.open()
        assert isinstance(again.do(again.do(again.runtime.execution(execution.id))), Cancelled)


def test_a_deadline_in_a_barrier_waits_for_its_answer() -> None:
    agent = runner("never", run_timeout=10)
    with World(agent, faults=[Fault("provider_dispatch#1", "hold")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.advance(20)
        assert record(world).status == "preparing"
        world.release("provider_dispatch#1")
        expect_deadline(process.do(execution))
        assert world.witness.requests == []


def test_a_deadline_before_the_admission_is_answered_ends_the_run_or_its_start() -> None:
    agent = runner("never", run_timeout=10)
    with World(agent, faults=[Fault("admission#1", "hold_reply")]) as world:
        process = world.open()
        start = process.begin(process.runtime.start(agent, "go"))
        world.advance(20)
        world.release("admission#1")
        expect_deadline(process.do(world.wait(start)))


def test_a_late_answer_of_a_model_is_paid_for() -> None:
    class Stubborn:
        name = "stubborn"

        async def complete(self, request: Any) -> ModelAnswer:
            from pawl import Usage

            try:
                await asyncio.sleep(1e6)
            except asyncio.CancelledError:
                await asyncio.sleep(5)
            return ModelAnswer("late", usage=Usage(7, 3))

        async def aclose(self) -> None:
            pass

    agent = Agent(name="a", model=Stubborn(), run_timeout=10)
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        expect_deadline(end)
        assert (end.usage.input, end.usage.output) == (7, 3)
        assert world.clock.time == 15


# whichever way it goes on -------------------------------------------------------------------------------------------

PROBED: list[str] = []


@tool(recovery="probe", probe=lambda key: PROBED.pop(0))
async def charge(seconds: float) -> str:
    """Its probe says what the test wants."""
    await asyncio.sleep(seconds)
    return "charged"


def test_a_run_that_a_probe_sets_going_again_has_its_deadline_again() -> None:
    PROBED[:] = ["unknown", "absent"]
    agent = Agent(
        name="a", model=scripted([call("charge", seconds=1e6), "never"], record=False), tools=[charge], run_timeout=10
    )
    with World(agent, faults=[Fault("tool:charge#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.start(agent, "go"))
        world.settle()
        second = world.open()
        rest = second.do(second.do(second.runtime.execution(record(world).execution_id)))
        assert isinstance(rest, NeedsResolution)
        assert record(world).time_left == pytest.approx(10)
        world.lose(second)
        world.advance(500)
        third = world.open(on_event=lambda event: None)  # it announces what waits, and asks the probe again
        world.advance(1)
        assert (record(world).phase, record(world).time_left) == ("dispatching_tools", None)
        expect_deadline(third.do(third.do(third.runtime.execution(rest.execution_id))))
        assert world.clock.time == pytest.approx(510)


def test_an_answer_to_one_of_two_questions_leaves_the_clock_standing() -> None:
    agent = runner(calls(call("note_freely"), call("note")), "never", run_timeout=10)
    with World(agent, faults=[Fault("tool:note#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.start(agent, "go"))
        world.settle()
        again = world.open()
        rest = again.do(again.do(again.runtime.execution(record(world).execution_id)))
        assert isinstance(rest, NeedsResolution)
        asked = [one.subject for one in rest.unresolved]
        world.lose(again)
        helper = world.open(Agent(name="other", model=scripted([], record=False)))
        for place, subject in enumerate(asked):
            world.advance(100)
            helper.do(helper.runtime.record_resolution(rest.execution_id, subject, "succeeded", result="x"))
            last = place == len(asked) - 1
            assert (record(world).time_left is None) is last
        assert len(asked) == 2


@pytest.mark.parametrize("end", ["cancel", "reject"])
def test_what_is_left_is_not_on_record_of_what_has_ended(end: str) -> None:
    agent = runner(call("pay", cents=5), "done", run_timeout=10)
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        if end == "cancel":
            process.do(process.runtime.cancel(rest.execution_id))
        else:
            process.do(process.runtime.decide(rest.request.id, approve=False))
        world.advance(5)
        assert record(world).status == f"{end}led" if end == "cancel" else "rejected"
        assert record(world).time_left is None
