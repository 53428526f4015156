"""A world for users' tests: time that is told to pass, processes that crash, and what was seen of all of it."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    Event,
    Failed,
    InvalidArguments,
    ModelError,
    NeedsResolution,
    Retries,
    Suspended,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.store.memory import MemoryStore
from pawl.testing import CallLost, Fault, Script, Stuck, World
from testing.agents import refund, support

REFUND: Script = [call("refund", order_id="7", cents=500), "Order 7 is refunded."]


# the whole of it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_an_approval_waits_for_months_and_over_a_crash_in_no_time(store: Any) -> None:
    began = time.perf_counter()
    with World(support(), model=REFUND, store=store) as world:
        rest = world.sync.run(support(), "Refund order 7")
        assert isinstance(rest, Suspended)
        assert world.tool_calls == ()
        before = world.now

        world.advance(days=90)
        world.crash()
        rest = world.sync.decide(rest.request.id, approve=True)

        assert isinstance(rest, Completed)
        assert rest.output == "Order 7 is refunded."
        assert world.now - before == 90 * 86400
        assert [run.result for run in world.tool_calls] == ["refunded 500 of 7, attempt 1"]
    assert time.perf_counter() - began < 10


def test_a_new_process_announces_what_still_waits() -> None:
    with World(support(), model=REFUND) as world:
        world.sync.run(support(), "Refund order 7")
        world.crash()
        world.advance(1)
        assert [event.kind for event in world.events].count("approval_required") == 2


# scripts and stand-ins ------------------------------------------------------------------------------------------------


def test_an_agent_that_would_ask_a_real_provider_is_refused() -> None:
    with pytest.raises(InvalidArguments, match=r"agent support asks 'openai:gpt-5', and a test asks nobody.*model="):
        World(support())


def test_agents_may_have_scripts_of_their_own_by_name() -> None:
    other = Agent(name="other", model="openai:gpt-5")
    with World(support(), other, model={"support": ["one"], "other": scripted(["two"])}) as world:
        assert [world.sync.run(agent, "go").output for agent in (support(), other)] == ["one", "two"]  # type: ignore[union-attr]


def test_an_agent_with_a_provider_of_its_own_needs_no_script() -> None:
    agent = Agent(name="own", model=scripted(["mine"]))
    with World(agent) as world:
        assert world.sync.run(agent, "go").output == "mine"  # type: ignore[union-attr]


@pytest.mark.parametrize("options", [{"model": {"suport": ["x"]}}, {"model": ["x"], "tools": {"refnd": print}}])
def test_a_name_that_nobody_has_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments, match=r"names '(suport|refnd)', and there are only: (support|refund, nap)"):
        World(support(), **options)


def test_a_stand_in_runs_under_the_policies_of_the_tool() -> None:
    async def instead(order_id: str, cents: int, ctx: object) -> str:
        return f"would refund {cents} of {order_id}"

    with World(support(), model=REFUND, tools={"refund": instead}) as world:
        rest = world.sync.run(support(), "Refund order 7")
        assert isinstance(rest, Suspended)
        world.sync.decide(rest.request.id, approve=True)
        assert [run.result for run in world.tool_calls] == ["would refund 500 of 7"]
    assert refund.function.__name__ == "refund"


# time -----------------------------------------------------------------------------------------------------------------


def test_a_tool_that_takes_hours_takes_them_of_the_virtual_clock() -> None:
    with World(support(), model=[call("nap", seconds=30_000), "done"]) as world:
        before = world.now
        assert isinstance(world.sync.run(support(), "Nap"), Completed)
        assert world.now - before >= 30_000


def test_time_stops_where_something_is_due_while_it_passes() -> None:
    with World(support(), model=[call("nap", seconds=5000), "done"]) as world:
        execution = world.sync.start(support(), "Nap")
        world.advance(minutes=80)
        assert [run.result for run in world.tool_calls] == [None]
        world.advance(minutes=5)
        assert [run.result for run in world.tool_calls] == ["rested"]
        assert isinstance(execution.wait(), Completed)


def test_a_model_that_never_answers_meets_its_timeout() -> None:
    with World(support(model_timeout=7200.0), model=[hang()]) as world:
        rest = world.sync.run(support(), "go")
        assert isinstance(rest, Failed)
        assert "7200 s" in rest.error.message


def test_what_never_ends_is_stuck_and_says_where() -> None:
    agent = support(model_timeout=None)
    with World(agent, model=[hang()]) as world:
        with pytest.raises(Stuck, match=r"execution \S+ is in calling_llm.*script that hangs"):
            world.sync.run(agent, "go")
        world.crash()


def test_retries_that_take_hours_take_none_of_the_test_s() -> None:
    busy = [ModelError("busy", retry_safe=True)] * 4
    agent = support(retries=Retries(attempts=5, first=600, longest=7200, jitter=0))
    with World(agent, model=[*busy, "Hello."]) as world:
        before = world.now
        assert isinstance(world.sync.run(agent, "Hi"), Completed)
        assert world.now - before == 600 + 1200 + 2400 + 4800
        assert len(world.model_calls) == 5


def test_a_request_that_nobody_decides_expires_while_time_passes() -> None:
    agent = support(approval_timeout=86400.0)
    with World(agent, model=REFUND) as world:
        rest = world.sync.run(agent, "Refund order 7")
        world.advance(hours=23)
        assert world.sync.result(rest.execution_id) == rest
        world.advance(hours=2)
        assert isinstance(world.sync.result(rest.execution_id), Failed)
        assert world.events[-1].kind == "timeout"


def test_a_deadline_ends_a_run_that_takes_longer() -> None:
    agent = support(run_timeout=3600.0)
    with World(agent, model=[call("nap", seconds=7200), "done"]) as world:
        before = world.now
        assert isinstance(world.sync.run(agent, "Nap"), Failed)
        assert world.now - before == 3600


def test_a_decision_that_is_only_recorded_is_found_by_the_next_look() -> None:
    with World(support(), model=REFUND) as world:
        rest = world.sync.run(support(), "Refund order 7")
        assert isinstance(rest, Suspended)
        world.sync.record_decision(rest.request.id, approve=True)
        assert isinstance(world.sync.execution(rest.execution_id).terminal(), Completed)


@pytest.mark.parametrize("length", [-1.0, float("nan")])
def test_time_does_not_go_back(length: float) -> None:
    with World(support(), model=["x"]) as world, pytest.raises(InvalidArguments, match="forward only"):
        world.advance(length)


def test_a_coroutine_of_ones_own_sleeps_and_times_out_virtually() -> None:
    async def patient(world: World) -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await world.runtime.run(support(model_timeout=None), "go")
        await asyncio.sleep(86400)
        return asyncio.get_running_loop().time()

    with World(support(model_timeout=None), model=[hang()]) as world:
        assert world.run(patient(world)) >= 90_000
        world.crash()


# crashes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "entered", "attempts"), [("before", 1, [2]), ("during", 2, [1, 2]), ("after", 2, [1, 2])]
)
def test_a_crash_at_a_tool_is_recovered_as_its_policy_says(when: Any, entered: int, attempts: list[int]) -> None:
    with World(support(), model=REFUND) as world:
        rest = world.sync.run(support(), "Refund order 7")
        assert isinstance(rest, Suspended)
        world.crash_at("refund", when)
        with pytest.raises(CallLost):
            world.sync.decide(rest.request.id, approve=True)

        end = world.sync.execution(rest.execution_id).terminal()

        assert isinstance(end, Completed)
        assert [run.attempt for run in world.tool_calls] == attempts
        assert len({run.idempotency_key for run in world.tool_calls}) == 1
        assert len(world.tool_calls) == entered


def test_a_crash_after_an_effect_that_may_not_be_repeated_is_asked_about() -> None:
    with World(support(), model=[call("charge", cents=5), "charged"]) as world:
        world.crash_at("charge", "after")
        with pytest.raises(CallLost):
            world.sync.run(support(), "Charge", id="req-1")
        rest = world.sync.run(support(), "Charge", id="req-1")
        assert isinstance(rest, NeedsResolution)
        end = world.sync.resolve(rest.execution_id, rest.unresolved[0].subject, "succeeded", result="charged 5")
        assert isinstance(end, Completed)
        assert len(world.tool_calls) == 1


@pytest.mark.parametrize("place", ["model", "admission", "provider_dispatch", "outcome"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_anywhere_else_loses_nothing(place: str, when: Any) -> None:
    with World(support(), model=["Hello."]) as world:
        world.crash_at(place, when)
        with pytest.raises(CallLost):
            world.sync.run(support(), "Hi", id="req-1")
        assert world.sync.run(support(), "Hi", id="req-1").output == "Hello."  # type: ignore[union-attr]


def test_the_same_place_can_be_met_again_later() -> None:
    with World(support(), model=["one", "two"]) as world:
        world.sync.run(support(), "first")
        world.crash_at("model")
        with pytest.raises(CallLost):
            world.sync.run(support(), "second")
        assert [record.status for record in world.executions] == ["completed", "active"]


@pytest.mark.parametrize(
    ("place", "when", "what"),
    [
        ("refnd", "before", "there is no 'refnd' to crash at; there are: model, refund"),
        ("model", "later", "when='later' is one of 'before'"),
        ("outcome", "during", "the barrier outcome is one commit"),
    ],
)
def test_a_crash_that_makes_no_sense_is_refused(place: str, when: Any, what: str) -> None:
    with World(support(), model=["x"]) as world, pytest.raises(InvalidArguments, match=what):
        world.crash_at(place, when)


def test_other_faults_can_be_planned() -> None:
    with World(support(), model=["Hello."]) as world:
        world.fault("provider_dispatch", "lose_reply_committed")
        world.fault("outcome", "unavailable", times=3)
        assert isinstance(world.sync.run(support(), "Hi"), Completed)
        assert "store_unavailable" in [event.kind for event in world.events]
    assert Fault("model", "hold").address == "model#1"


@pytest.mark.parametrize(
    ("at", "do", "what"),
    [
        ("refund", "crash_after_effect", "write 'tool:refund'"),
        ("tool:refnd", "crash_after_effect", "there is no tool for 'tool:refnd'; there are: refund, nap, charge"),
        ("tool:refund", "crash_before_commit", "crash_before_commit cannot happen at tool:refund; there it is one of"),
        ("outcome", "crash_after_effect", "crash_after_effect cannot happen at outcome; there it is one of"),
        ("outcome#1", "crash_before_commit", "leave the number of 'outcome#1' out"),
        ("outcome", "crash", "fault 'crash' is unknown"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(at: str, do: Any, what: str) -> None:
    with World(support(), model=["x"]) as world, pytest.raises(InvalidArguments, match=what):
        world.fault(at, do)


def test_a_fault_at_what_was_never_done_is_told_at_the_end() -> None:
    world = World(support(), model=["Hello."])
    world.fault("outcom", "lose_reply_committed")
    world.sync.run(support(), "Hi")
    with pytest.raises(AssertionError, match=r"planned at 'outcom', which never was; there is: .*outcome"):
        world.close()


def test_settling_after_a_crash_goes_on_in_a_new_process() -> None:
    with World(support(), model=REFUND) as world:
        rest = world.sync.run(support(), "Refund order 7")
        assert isinstance(rest, Suspended)
        world.crash_at("refund", "before")
        with pytest.raises(CallLost):
            world.sync.decide(rest.request.id, approve=True)
        assert world.executions[0].status == "active"
        world.settle()
        assert world.executions[0].status == "completed"


def test_calls_of_a_process_that_is_gone_say_so() -> None:
    with World(support(), model=["x"]) as world:
        before = world.sync
        handle = before.open(support(), "a")
        world.crash()
        with pytest.raises(CallLost, match=r"`world.sync` are those of a new one"):
            handle.run("go")
        assert isinstance(world.sync.run(support(), "go"), Completed)


def test_another_version_of_the_code_goes_on_where_it_may() -> None:
    with World(support(), model=REFUND) as world:
        rest = world.sync.run(support(), "Refund order 7")
        assert isinstance(rest, Suspended)
        world.restart(support(version=2, compatible_with=[1]))
        assert isinstance(world.sync.decide(rest.request.id, approve=True), Completed)


# what was seen --------------------------------------------------------------------------------------------------------


def test_it_tells_requests_tool_calls_events_and_what_waits() -> None:
    heard: list[Event] = []
    both = calls(call("charge", cents=1), call("refund", order_id="1", cents=2))
    with World(support(), model=[both, "done"], on_event=heard.append) as world:
        rest = world.sync.run(support(), "Both")
        assert isinstance(rest, Suspended)
        assert [request.id for request in world.approvals] == [rest.request.id]
        world.sync.decide(rest.request.id, approve=True)

        assert world.approvals == ()
        assert [(run.tool, run.arguments) for run in world.tool_calls] == [
            ("charge", {"cents": 1}),
            ("refund", {"cents": 2, "order_id": "1"}),
        ]
        assert [len(request.messages) for request in world.model_calls] == [1, 4]
        assert world.events == heard
        assert [str(event.kind) for event in heard if event.kind != "token"] == [
            "tool_call", "tool_call", "approval_required", "tool_result", "tool_result", "done"
        ]  # fmt: skip


def test_what_a_tool_raises_is_seen() -> None:
    def broken(cents: int) -> str:
        raise ValueError("no card")

    with World(support(), model=[call("charge", cents=1), "sorry"], tools={"charge": broken}) as world:
        world.sync.run(support(), "go")
        assert [(run.result, run.error) for run in world.tool_calls] == [(None, "no card")]


# what is left over ----------------------------------------------------------------------------------------------------


def test_a_run_that_nobody_saw_to_its_rest_is_left_over() -> None:
    world = World(support(model_timeout=None), model=[hang()])
    world.sync.start(support(), "go")
    with pytest.raises(AssertionError, match=r"execution \S+ is not at rest, it is in calling_llm"):
        world.close()


def test_a_task_that_a_tool_left_behind_is_left_over() -> None:
    left: list[asyncio.Task[None]] = []

    async def somewhen() -> None:
        await asyncio.sleep(1e9)

    async def careless(seconds: float) -> str:
        left.append(asyncio.create_task(somewhen()))
        return "done"

    world = World(support(), model=[call("nap", seconds=1), "done"], tools={"nap": careless})
    world.sync.run(support(), "go")
    with pytest.raises(AssertionError, match=r"the task \S*somewhen goes on"):
        world.close()


def test_a_block_that_failed_is_not_checked_as_well() -> None:
    def test() -> None:
        with World(support(), model=[hang()]) as world:
            world.sync.start(support(), "go")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        test()


def test_a_closed_world_starts_nothing() -> None:
    world = World(support(), model=["x"])
    world.close()
    world.close()
    with pytest.raises(InvalidArguments, match="closed"):
        world.sync.run(support(), "go")


# misuse ---------------------------------------------------------------------------------------------------------------


def test_a_tool_that_moves_the_world_is_told_not_to() -> None:
    said: list[str] = []

    def busybody(cents: int) -> str:
        for work in (
            lambda: world.sync.run(support(), "again"),
            lambda: world.advance(1),
            world.crash,
            world.settle,
        ):
            with pytest.raises(RuntimeError) as caught:
                work()
            said.append(str(caught.value))
        return "tried"

    with World(support(), model=[call("charge", cents=1), "done"], tools={"charge": busybody}) as world:
        assert isinstance(world.sync.run(support(), "go"), Completed)
    assert len(said) == 4
    assert "stands still" in said[0]


def test_a_store_must_be_one_that_runs_inline(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments, match="'memory', 'sqlite'"):
        World(support(), model=["x"], store="sqlite:///runs.db")  # type: ignore[arg-type]
    for store in (tmp_path / "runs.db", MemoryStore(inline=True)):
        with World(support(), model=["x"], store=store) as world:
            assert isinstance(world.sync.run(support(), "go"), Completed)
    assert (tmp_path / "runs.db").stat().st_size > 0


def test_results_can_arrive_in_orders_drawn_from_a_seed() -> None:
    @tool
    def step(number: int) -> str:
        """Step."""
        return str(number)

    def order(seed: int) -> list[Any]:
        many = calls(*[call("step", number=number) for number in range(6)])
        agent = Agent(name="a", model=scripted([many, "done"]), tools=[step])
        with World(agent, seed=seed) as world:
            world.sync.run(agent, "go")
            return [run.arguments["number"] for run in world.tool_calls]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(6)}) > 1


@pytest.mark.parametrize("kind", ["blocking", "asynchronous"])
def test_a_tool_that_leaves_the_program_ends_its_call_and_not_the_test(kind: str) -> None:
    def leave(cents: int) -> str:
        sys.exit("no more")

    async def leave_later(cents: int) -> str:
        await asyncio.sleep(5)
        sys.exit("no more")

    instead = leave if kind == "blocking" else leave_later
    with World(support(), model=[call("charge", cents=1), "sorry"], tools={"charge": instead}) as world:
        assert isinstance(world.sync.run(support(), "go"), Completed)
        assert "no more" in world.model_calls[1].messages[-1].text


def test_a_tool_that_swallows_its_cancellation_is_waited_for() -> None:
    async def deaf(seconds: float) -> str:
        try:
            await asyncio.sleep(10_000)
        except asyncio.CancelledError:
            await asyncio.sleep(50)
        return "done after all"

    with World(support(), model=[call("nap", seconds=1), "done"], tools={"nap": deaf}) as world:
        execution = world.sync.start(support(), "go")
        world.advance(60)
        before = world.now
        world.sync.cancel(execution.id)
        assert isinstance(execution.terminal(), Cancelled)
        assert world.now - before == 50
