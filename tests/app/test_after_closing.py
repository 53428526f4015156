"""What is left of a runtime that was closed: handles that say so, and nothing that is waited for in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pawl import Agent, Completed, Execution, Runtime, RuntimeClosed, scripted
from pawl.runtime.app.agents import AgentHandle

AGENT = Agent(name="talker", model=scripted(["one"], record=False))

CALLS: dict[str, Callable[[AgentHandle, Execution], Awaitable[object]]] = {
    "start": lambda handle, execution: handle.start("again"),
    "run": lambda handle, execution: handle.run("again"),
    "close": lambda handle, execution: handle.close(),
    "terminal": lambda handle, execution: execution.terminal(),
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
