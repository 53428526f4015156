"""Many runs at once in Pawl, as a program: `python -m pawl.tools.bench.crowd FILE RUNS ROUNDS MODEL TOOL`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from time import perf_counter
from typing import Any

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import Tool, tool
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.llm.scripted import scripted
from pawl.runtime.records.messages import ModelAnswer, ToolCall
from pawl.tools.bench.bare_crowd import peak
from pawl.tools.bench.rounds import CountedStore, finish, running, texts


def slow_agent(rounds: int, model: float, seconds: float) -> Agent:
    """An agent whose model takes `model` seconds, and whose tool takes `seconds`, `rounds` times."""

    async def ask(request: ModelRequest) -> ModelAnswer:
        await asyncio.sleep(model)
        calls = (ToolCall(f"c{request.sequence}", "look_up", '{"line": 1}'),)
        return ModelAnswer(texts().next(), calls if request.sequence <= rounds else ())

    script = scripted([ask] * (rounds + 1), record=False)
    return Agent(name="slow", model=script, tools=[_look_up(seconds)], max_iterations=rounds + 1)


def _look_up(seconds: float) -> Tool[[int], Coroutine[Any, Any, str]]:
    @tool
    async def look_up(line: int) -> str:
        """Look a line up."""
        await asyncio.sleep(seconds)
        return texts().next() if line else ""

    return look_up


async def crowd(path: Path, runs: int, rounds: int, model: float, seconds: float) -> dict[str, float]:
    """All of them at once: seconds, barriers, peak memory in KiB. The logical agents are there before."""
    texts()
    store, agent = CountedStore(path), slow_agent(rounds, model, seconds)
    async with running(store, agent) as runtime:
        handles = [await runtime.create(agent, f"agent {number}") for number in range(runs)]
        await finish(await runtime.create(agent, "warm"))
        store.barriers.clear()
        begin = perf_counter()
        await asyncio.gather(*map(finish, handles))
        return {"seconds": perf_counter() - begin, "barriers": store.barriers.total(), "peak": peak()}


def main() -> None:
    """Run as a program, and print what was measured as JSON."""
    path, runs, rounds, model, seconds = sys.argv[1:]
    found = asyncio.run(crowd(Path(path), int(runs), int(rounds), float(model), float(seconds)))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
