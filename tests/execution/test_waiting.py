"""Whoever waits is told once, and whoever does not wait any more is forgotten."""

from __future__ import annotations

import asyncio

from pawl import Agent, Completed, Runtime, Suspended, call, scripted, tool
from pawl.runtime.store.memory import MemoryStore


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


def test_a_handle_that_is_looked_at_again_and_again_leaves_nothing_behind() -> None:
    release = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await release.wait()
        return "waited"

    async def run() -> tuple[int, object]:
        agent = Agent(name="clerk", model=scripted([call("wait"), "done"]), tools=[wait])
        async with Runtime(MemoryStore(), [agent]) as runtime:
            execution = await runtime.start(agent, "go")
            for _ in range(20):
                looked = asyncio.ensure_future(execution.terminal())
                await asyncio.sleep(0)
                looked.cancel()
                await asyncio.gather(looked, return_exceptions=True)
            left = len(runtime._keeper.waiting._rests[execution.id])
            release.set()
            return left, await execution

    left, rest = asyncio.run(run())

    assert left == 1  # the handle's own
    assert isinstance(rest, Completed)


def test_the_history_tells_of_the_request_with_its_cursor() -> None:
    async def run() -> list[tuple[str, int | None]]:
        agent = Agent(name="clerk", model=scripted([call("pay", cents=5), "done"]), tools=[pay])
        async with Runtime(MemoryStore(), [agent]) as runtime:
            execution = await runtime.start(agent, "go")
            assert isinstance(await execution, Suspended)
            return [(str(event.kind), event.cursor) for event in await execution.history()]

    assert asyncio.run(run()) == [("tool_call", 4), ("approval_required", 5)]
