"""A second Ctrl-C takes the loop down with every task on it: what is cut off then is no failure."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pawl import Agent, Rest, Runtime, RuntimeClosed, call, scripted, tool
from pawl.runtime.execution.waiting import Waiting
from pawl.runtime.store.memory import MemoryStore
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
            rows = await runtime._host.store.read(lambda tx: tx.tools.of_execution(execution_id))
            assert [row.status for row in rows] == (["pending"] if where == "tool" else [])
            return record.phase

    assert asyncio.run(look()) == {"model": "calling_llm", "tool": "dispatching_tools"}[where]


class Silent(MemoryStore):
    """A store that never answers a write, and says when it was asked."""

    asked: asyncio.Event

    def submit(self, operation: Any, answer: Any) -> None:
        self.asked.set()


def test_an_opening_that_is_dropped_with_its_loop_raises_nothing() -> None:
    store = Silent()

    async def reach() -> asyncio.Task[Runtime]:
        store.asked = asyncio.Event()
        opening = asyncio.ensure_future(Runtime(store).__aenter__())
        await store.asked.wait()
        return opening

    loop = asyncio.new_event_loop()
    opening = loop.run_until_complete(reach())
    loop.close()

    opening.get_coro().close()  # as the garbage collector would
    opening._log_destroy_pending = False  # type: ignore[attr-defined]


def test_nobody_is_told_on_a_loop_that_is_closed() -> None:
    loop = asyncio.new_event_loop()
    future: asyncio.Future[Rest] = loop.create_future()
    waiting = Waiting(Futures(future))  # type: ignore[arg-type]
    assert waiting.rest("x1") is future
    future.add_done_callback(print)
    loop.close()

    waiting.fail_all(RuntimeClosed("closed"))

    assert not future.done()


class Futures:
    """An environment that has one future."""

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self._future = future

    def future(self) -> asyncio.Future[Any]:
        """That one."""
        return self._future
