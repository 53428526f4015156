"""A second Ctrl-C takes the loop down with every task on it: what is cut off then is no failure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pawl import Agent, Runtime, call, scripted, tool
from pawl.runtime.store.sqlite import SqliteStore


@pytest.mark.parametrize("where", ["model", "tool"])
def test_a_run_whose_loop_is_taken_down_is_open_and_goes_on_later(where: str, tmp_path: Path) -> None:
    async def run() -> str:
        reached = asyncio.Event()

        async def stand_still() -> str:
            reached.set()
            return await asyncio.get_running_loop().create_future()

        @tool
        async def slow() -> str:
            """Never ends."""
            return await stand_still()

        async def answer(request: object) -> object:
            return await stand_still() if where == "model" else call("slow")

        agent = Agent(name="agent", model=scripted([answer]), tools=[slow])
        runtime = Runtime(SqliteStore(tmp_path / "runs.db"), [agent])
        await runtime.__aenter__()
        execution = await runtime.start(agent, "hello")
        await asyncio.wait_for(reached.wait(), 20)
        closing = asyncio.ensure_future(runtime.close())
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:  # as asyncio.run does it
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        assert closing.cancelled()
        return execution.id

    execution_id = asyncio.run(run())

    async def look() -> str:
        async with Runtime(SqliteStore(tmp_path / "runs.db")) as runtime:
            (record,) = await runtime.executions(open_only=True)
            assert record.execution_id == execution_id
            rows = await runtime._host.read(lambda tx: tx.tools.of_execution(execution_id))
            assert [row.status for row in rows] == (["pending"] if where == "tool" else [])
            return record.phase

    assert asyncio.run(look()) == {"model": "calling_llm", "tool": "dispatching_tools"}[where]
