"""Agents of one tool, run in a real runtime: bodies on real threads and a real loop."""

from __future__ import annotations

import asyncio
from typing import Any

from pawl import Agent, Completed, Runtime, call, scripted, tool
from pawl.runtime.loop.environment import AsyncioEnvironment


def agent(*tools: Any, script: Any = None, **options: Any) -> Agent:
    made = [one if hasattr(one, "spec") else tool(name="body")(one) for one in tools]
    return Agent(name="a", model=scripted(script or [call("body"), "done"], record=False), tools=made, **options)


def said_by(one: Agent, **options: Any) -> list[str]:
    """What the model was told of its calls."""

    async def main() -> list[str]:
        environment = AsyncioEnvironment(**options)
        async with Runtime("memory://", [one], environment=environment) as runtime:
            end = await runtime.run(one, "go")
            assert isinstance(end, Completed), end
            history = await (await runtime.execution(end.execution_id)).history()
            return [event.data["text"] for event in history if event.kind == "tool_result"]

    return asyncio.run(main())


def said_of(body: Any, **options: Any) -> str:
    (text,) = said_by(agent(tool(name="body", **options)(body)))
    return text
