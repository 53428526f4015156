"""Models and tools that do not end when they should, in a real runtime: the run fails or goes on, and the agent is
busy until the body has ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from pawl import (
    Agent,
    AgentBusy,
    Completed,
    Failed,
    ModelAnswer,
    OutcomeUnknown,
    Runtime,
    ToolContext,
    Usage,
    call,
    hang,
    scripted,
    tool,
)

SOON = 0.05


class Provider:
    """A provider with a body of its own."""

    name = "hostile"

    def __init__(self, body: Callable[[], Awaitable[ModelAnswer]]) -> None:
        self._body = body

    async def complete(self, request: Any) -> ModelAnswer:
        return await self._body()

    async def aclose(self) -> None:
        pass


def ran(agent: Agent, story: Callable[[Runtime], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with Runtime("memory://", [agent], poll_interval=0, close_timeout=0.1, **options) as runtime:
            return await asyncio.wait_for(story(runtime), 20)

    return asyncio.run(main())


async def run(runtime: Runtime, agent: Agent) -> Any:
    return await runtime.run(agent, "go")


def expect_slow_model(end: object) -> None:
    assert isinstance(end, Failed)
    assert (end.error.type, end.error.message) == (
        "ModelError",
        "the model did not answer within 0.05 s (model_timeout)",
    )


# models -----------------------------------------------------------------------------------------------------------


def test_a_model_that_does_not_answer_fails_the_run() -> None:
    agent = Agent(name="a", model=scripted([hang()]), model_timeout=SOON)
    expect_slow_model(ran(agent, lambda runtime: run(runtime, agent)))


def test_a_model_that_raises_when_it_is_asked_to_stop_fails_the_run_as_too_slow() -> None:
    async def body() -> ModelAnswer:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ValueError("not now")

    agent = Agent(name="a", model=Provider(body), model_timeout=SOON)
    expect_slow_model(ran(agent, lambda runtime: run(runtime, agent)))


def test_a_model_that_ignores_cancellation_keeps_the_agent_busy_until_it_ends() -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def body() -> ModelAnswer:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                asked.set()
        return ModelAnswer("late", usage=Usage(7, 3))

    agent = Agent(name="a", model=Provider(body), model_timeout=SOON)

    async def story(runtime: Runtime) -> Any:
        execution = await runtime.start(agent, "go")
        await asked.wait()
        with pytest.raises(AgentBusy):
            await runtime.start(agent, "again")
        release.set()
        return await execution

    end = ran(agent, story)
    expect_slow_model(end)
    assert end.usage == Usage(7, 3)


def test_a_model_that_never_ends_closes_the_run_after_the_drain_timeout() -> None:
    release = asyncio.Event()

    async def body() -> ModelAnswer:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return ModelAnswer("late")

    agent = Agent(name="a", model=Provider(body), model_timeout=SOON, drain_timeout=SOON)

    async def story(runtime: Runtime) -> Any:
        execution = await runtime.start(agent, "go")
        with pytest.raises(OutcomeUnknown):
            await execution
        with pytest.raises(AgentBusy):
            await runtime.start(agent, "again")
        stats = runtime.stats()
        release.set()
        return stats

    stats = ran(agent, story)
    assert (stats.closed, stats.executing, stats.moving) == (1, 1, 0)


def test_a_model_may_take_as_long_as_it_likes_where_the_agent_says_so() -> None:
    release = asyncio.Event()

    async def body() -> ModelAnswer:
        await release.wait()
        return ModelAnswer("there")

    agent = Agent(name="a", model=Provider(body), model_timeout=None)

    async def story(runtime: Runtime) -> Any:
        execution = await runtime.start(agent, "go")
        assert not runtime._keeper._timers
        release.set()
        return await execution

    assert isinstance(ran(agent, story), Completed)


# tools ------------------------------------------------------------------------------------------------------------


def telling(one: Any) -> tuple[Agent, list[str]]:
    """An agent that calls the tool once; what the model was told of it is in the list."""
    told: list[str] = []
    first = True

    async def body() -> ModelAnswer:
        raise AssertionError

    class Model(Provider):
        async def complete(self, request: Any) -> ModelAnswer:
            nonlocal first
            told.extend(message.text for message in request.messages if message.role == "tool")
            if first:
                first = False
                from pawl import ToolCall

                return ModelAnswer("", (ToolCall("c1", one.name, "{}"),))
            return ModelAnswer("done")

    return Agent(name="a", model=Model(body), tools=[one], drain_timeout=5), told


def test_an_async_tool_that_takes_too_long_is_an_error_that_the_model_is_told() -> None:
    @tool(timeout=SOON)
    async def slow() -> str:
        """Slow."""
        await asyncio.get_running_loop().create_future()
        return "never"

    agent, told = telling(slow)
    assert isinstance(ran(agent, lambda runtime: run(runtime, agent)), Completed)
    assert len(told) == 1
    assert "slow took over 0.05 s" in told[0]


def test_an_async_tool_that_swallows_its_cancellation_and_succeeds_has_succeeded() -> None:
    @tool(timeout=SOON)
    async def stubborn() -> str:
        """Stubborn."""
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
        return "after all"

    agent, told = telling(stubborn)
    assert isinstance(ran(agent, lambda runtime: run(runtime, agent)), Completed)
    assert told == ["after all"]


def test_a_blocking_tool_is_told_through_its_context() -> None:
    @tool(timeout=SOON)
    def listens(ctx: ToolContext) -> str:
        """Listens."""
        ctx.cancellation.wait(10)
        return f"asked to stop: {ctx.cancelled}"

    agent, told = telling(listens)
    assert isinstance(ran(agent, lambda runtime: run(runtime, agent)), Completed)
    assert told == ["asked to stop: True"]


def test_a_blocking_tool_that_does_not_listen_is_waited_for() -> None:
    release, asked = threading.Event(), threading.Event()

    @tool(timeout=SOON)
    def deaf(ctx: ToolContext) -> str:
        """Deaf."""
        ctx.cancellation.wait(10)
        asked.set()
        release.wait(10)
        return "did it all"

    agent, told = telling(deaf)

    async def story(runtime: Runtime) -> Any:
        execution = await runtime.start(agent, "go")
        await asyncio.to_thread(asked.wait, 10)
        with pytest.raises(AgentBusy):
            await runtime.start(agent, "again")
        release.set()
        return await execution

    assert isinstance(ran(agent, story), Completed)
    assert told == ["did it all"]


def test_a_blocking_tool_that_never_ends_closes_the_run() -> None:
    release = threading.Event()

    @tool(timeout=SOON)
    def stuck() -> str:
        """Stuck."""
        release.wait(10)
        return "never"

    agent = Agent(name="a", model=scripted([call("stuck"), "done"]), tools=[stuck], drain_timeout=SOON)

    async def story(runtime: Runtime) -> None:
        execution = await runtime.start(agent, "go")
        try:
            with pytest.raises(OutcomeUnknown):
                await execution
        finally:
            release.set()

    ran(agent, story)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, BaseException])
def test_whatever_a_tool_raises_when_it_is_asked_to_stop_the_model_is_told(error: type[BaseException]) -> None:
    @tool(timeout=SOON)
    def odd(ctx: ToolContext) -> str:
        """Odd."""
        ctx.cancellation.wait(10)
        raise error

    agent, told = telling(odd)
    assert isinstance(ran(agent, lambda runtime: run(runtime, agent)), Completed)
    assert len(told) == 1
    assert told[0].startswith("error")


def test_a_tool_without_a_timeout_is_asked_to_stop_at_the_runs_deadline() -> None:
    @tool
    def patient(ctx: ToolContext) -> str:
        """Patient."""
        ctx.cancellation.wait(10)
        return "asked"

    agent = Agent(name="a", model=scripted([call("patient"), "done"]), tools=[patient], run_timeout=SOON)
    end = ran(agent, lambda runtime: run(runtime, agent))
    assert isinstance(end, Failed)
    assert end.error.type == "DeadlineExceeded"
