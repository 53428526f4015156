"""The asynchronous runtime of a world: awaited on the test's own loop, whichever that is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pawl import AgentHandle, Completed, Execution, InvalidArguments, Runtime, Suspended, call, hang
from pawl.testing import CallLost, Script, Stuck, World
from testing.agents import support

REFUND: Script = [call("refund", order_id="7", cents=500), "Order 7 is refunded."]


def on_a_loop(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


def test_an_approval_over_days_and_a_crash() -> None:
    async def story() -> None:
        with World(support(), model=REFUND) as world:
            rest = await world.runtime.run(support(), "Refund order 7")
            assert isinstance(rest, Suspended)
            await world.advance(days=2)
            world.crash()
            rest = await world.runtime.decide(rest.request.id, approve=True)
            assert isinstance(rest, Completed)

    on_a_loop(story())


def test_its_objects_are_those_that_applications_know() -> None:
    async def story() -> None:
        with World(support(), model=["x"]) as world:
            runtime = world.runtime
            handle = await runtime.open(support(), "a")
            execution = await handle.start("go")
            for thing, kind in ((runtime, Runtime), (handle, AgentHandle), (execution, Execution)):
                assert isinstance(thing, kind)
            assert (handle.id, handle.agent.name) == ("a", "support")
            assert await execution is await execution
            assert (await runtime.result(execution.id)) == await (await runtime.execution(execution.id))
            assert runtime.get("a") is not None
            assert runtime.stats().executing == 0
            assert [event.kind for event in await execution.history()] == ["done"]

    on_a_loop(story())


def test_runs_that_are_awaited_together_run_together() -> None:
    async def story() -> None:
        with World(support(), model=[call("nap", seconds=3600), "done"]) as world:
            before = world.now
            rests = await asyncio.gather(*(world.runtime.run(support(), "x", agent_id=name) for name in "abc"))
            assert all(isinstance(rest, Completed) for rest in rests)
            assert world.now - before < 4000

    on_a_loop(story())


def test_a_call_that_is_called_off_is_called_off_inside_too() -> None:
    async def story() -> None:
        with World(support(), model=[call("nap", seconds=10), "done"]) as world:
            execution = await world.runtime.start(support(), "go")
            waiting = asyncio.ensure_future(execution.terminal())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert isinstance(await execution, Completed)

    on_a_loop(story())


def test_other_tasks_of_the_loop_go_on_meanwhile() -> None:
    async def story() -> None:
        beats: list[int] = []

        async def beat() -> None:
            for number in range(5):
                await asyncio.sleep(0)
                beats.append(number)

        with World(support(), model=[call("nap", seconds=10), "done"]) as world:
            await asyncio.gather(world.runtime.run(support(), "go"), beat())
        assert beats == [0, 1, 2, 3, 4]

    on_a_loop(story())


def test_errors_come_out_as_they_are() -> None:
    async def story() -> None:
        with World(support(), model=["x"]) as world, pytest.raises(InvalidArguments, match="the input must be text"):
            await world.runtime.run(support(), 5)  # type: ignore[arg-type]

    on_a_loop(story())


def test_a_crash_ends_every_call_and_a_new_runtime_goes_on() -> None:
    async def story() -> None:
        with World(support(), model=["Hello."]) as world:
            old = world.runtime
            world.crash_at("model", "during")
            with pytest.raises(CallLost):
                await old.run(support(), "Hi", id="req-1")
            with pytest.raises(CallLost):
                await old.run(support(), "Hi", id="req-1")
            assert isinstance(await world.runtime.run(support(), "Hi", id="req-1"), Completed)

    on_a_loop(story())


def test_what_never_ends_is_stuck() -> None:
    async def story() -> None:
        agent = support(model_timeout=None)
        with World(agent, model=[hang()]) as world:
            with pytest.raises(Stuck, match="calling_llm"):
                await world.runtime.run(agent, "go")
            world.crash()

    on_a_loop(story())


def test_code_that_enters_the_runtime_itself_can_do_so() -> None:
    async def application(runtime: Runtime) -> str:
        async with runtime:
            rest = await runtime.run(support(), "Hi")
        assert isinstance(rest, Completed)
        return rest.output

    async def story() -> None:
        with World(support(), model=["one", "two"]) as world:
            assert await application(world.runtime) == "one"
            assert await application(world.runtime) == "two"

    on_a_loop(story())


def test_blocking_and_asynchronous_calls_mix() -> None:
    async def story() -> None:
        with World(support(), model=REFUND) as world:
            rest = world.sync.run(support(), "Refund order 7")
            assert isinstance(rest, Suspended)
            assert isinstance(await world.runtime.decide(rest.request.id, approve=True), Completed)

    on_a_loop(story())


def test_a_stream_is_read_on_the_loop_of_the_test() -> None:
    async def story() -> None:
        with World(support(), model=[call("nap", seconds=60), "Well rested."]) as world:
            handle = await world.runtime.open(support(), "a")
            async with handle.stream("Nap") as stream:
                seen = [str(event.kind) async for event in stream]
            assert isinstance(await stream, Completed)
            assert [kind for kind in seen if kind != "token"] == ["tool_call", "tool_result", "done"]

            again = stream.execution.events(tokens=False)
            assert [str(event.kind) async for event in again] == ["tool_call", "tool_result", "done"]

    on_a_loop(story())


def test_a_stream_that_is_left_leaves_the_run_alone() -> None:
    async def story() -> None:
        with World(support(), model=[call("nap", seconds=60), "Well rested."]) as world:
            execution = await world.runtime.start(support(), "Nap")
            async for _ in execution.events():
                break
            assert isinstance(await execution, Completed)

    on_a_loop(story())
