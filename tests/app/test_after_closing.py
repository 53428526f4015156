"""A runtime that was closed, or left behind by a fork: it says so, and nothing is waited for in vain."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pawl import Agent, Completed, Execution, Runtime, RuntimeClosed, ToolContext, call, hang, scripted, sync, tool
from pawl.runtime.app.agents import AgentHandle

AGENT = Agent(name="talker", model=scripted(["one"], record=False))

CALLS: dict[str, Callable[[AgentHandle, Execution], Awaitable[object]]] = {
    "start": lambda handle, execution: handle.start("again"),
    "run": lambda handle, execution: handle.run("again"),
    "close": lambda handle, execution: handle.close(),
    "terminal": lambda handle, execution: execution.terminal(),
    "decide": lambda handle, execution: execution.decide(approve=True, request="request-1"),
    "history": lambda handle, execution: execution.history(),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_handles_of_a_closed_runtime_say_that_it_is_closed(call: str) -> None:
    async def run() -> None:
        async with Runtime("memory://", [AGENT]) as runtime:
            handle = await runtime.open(AGENT, "A")
            execution = await handle.start("go")
            await execution
        with pytest.raises(RuntimeClosed):
            await asyncio.wait_for(CALLS[call](handle, execution), 20)
        assert isinstance(await execution, Completed)  # what it was told once, it knows

    asyncio.run(run())


def _leases(path: Path) -> int:
    database = sqlite3.connect(path)
    (leases,) = database.execute("SELECT count(*) FROM owners").fetchone()
    database.close()
    return int(leases)


def test_a_tool_that_closes_its_own_runtime_does_not_keep_it_half_closed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    @tool
    async def closes(ctx: ToolContext) -> str:
        """Closing ends this very body, which would end the closing."""
        await ctx.deps[0].close()
        return "closed"

    agent = Agent(name="closer", model=scripted([call("closes"), "done"]), tools=[closes])

    async def run() -> None:
        deps: list[Runtime] = []
        async with Runtime(f"sqlite:///{path}", [agent], close_timeout=0.0, deps=deps) as runtime:
            deps.append(runtime)
            with pytest.raises(RuntimeClosed):
                await asyncio.wait_for(runtime.run(agent, "go"), 20)

    asyncio.run(run())
    assert _leases(path) == 0


def test_closing_that_was_cancelled_is_finished_by_the_next_and_nobody_is_told_too_early(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    agent = Agent(name="talker", model=scripted([hang()]))

    async def run() -> None:
        runtime = Runtime(f"sqlite:///{path}", [agent], close_timeout=60.0)
        async with runtime:
            await runtime.start(agent, "go")
            first = asyncio.ensure_future(runtime.close())
            second = asyncio.ensure_future(runtime.close())
            await asyncio.sleep(0)
            assert not first.done()
            assert not second.done()
            first.cancel()
            await asyncio.wait([first])
            await asyncio.wait_for(second, 20)
            assert _leases(path) == 0

    asyncio.run(run())


def test_a_runtime_that_was_never_opened_can_be_closed_twice() -> None:
    async def run() -> None:
        runtime = Runtime("memory://", [AGENT])
        await runtime.close()
        await runtime.close()
        with pytest.raises(RuntimeClosed):
            await runtime.__aenter__()

    asyncio.run(run())


def test_who_waits_on_another_thread_when_a_blocking_runtime_is_closed_is_told(tmp_path: Path) -> None:
    agent = Agent(name="talker", model=scripted([hang()], record=False))
    told: list[BaseException] = []
    started = threading.Event()

    def wait(execution: sync.Execution) -> None:
        started.set()
        try:
            execution.terminal()
        except RuntimeClosed as error:
            told.append(error)

    with sync.Runtime(f"sqlite:///{tmp_path}/runs.db", [agent], close_timeout=0.0) as runtime:
        execution = runtime.start(agent, "go")
        # One that waits for the run here, and one that looks at the store again and again.
        watcher = sync.Runtime(f"sqlite:///{tmp_path}/runs.db")
        with watcher:
            elsewhere = watcher.execution(execution.id)
            threads = [threading.Thread(target=wait, args=(one,)) for one in (execution, elsewhere)]
            for thread in threads:
                thread.start()
            started.wait(20)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert len(told) == 2
    with pytest.raises(RuntimeClosed):
        execution.terminal()


def _in_a_fork(body: Callable[[], object]) -> str:
    """What `body` raises in a child of this process, by name; it is ended if it takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body()
            said = "nothing"
        except BaseException as error:
            said = type(error).__name__
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    try:
        return os.read(reading, 100).decode()
    finally:
        os.close(reading)
        os.waitpid(child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_cannot_use_its_parent_s_runtime_and_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with sync.Runtime(f"sqlite:///{path}", [AGENT]) as runtime:
        assert _in_a_fork(lambda: runtime.run(AGENT, "go", agent_id="child")) == "RuntimeClosed"
        assert _in_a_fork(runtime.close) == "nothing"
        assert isinstance(runtime.run(AGENT, "go"), Completed)
        assert _leases(path) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_inside_of_a_loop_cannot_use_the_runtime_either(tmp_path: Path) -> None:
    async def run() -> str:
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [AGENT]) as runtime:
            return _in_a_fork(runtime.stats)

    assert asyncio.run(run()) == "RuntimeClosed"
