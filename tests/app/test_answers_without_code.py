"""Answers from a process that has no code of the agent: recorded there, applied by whoever goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pawl import Agent, Cancelled, Completed, InvalidArguments, Runtime, Suspended, UnknownSubject, call, scripted, tool
from pawl.runtime.barriers import hostless
from pawl.runtime.barriers.rest import may_wait
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.store.port import Store, Transaction
from pawl.runtime.store.sqlite import SqliteStore


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


CLERK = Agent(name="clerk", model=scripted([call("pay", cents=5), "done"]), tools=[pay])


def started_and_lost(path: Path) -> str:
    """A run whose only call was dispatched by a process that is gone: pending, and nobody's. Its id."""

    async def run() -> str:
        store = SqliteStore(path)
        async with Runtime(store, [CLERK]) as runtime:
            rest = await runtime.run(CLERK, "pay it", id="r1")
            assert isinstance(rest, Suspended)
        return rest.execution_id

    execution_id = asyncio.run(run())

    def lose(tx: Transaction) -> None:
        record = tx.executions.get(execution_id)
        assert record is not None
        (row,) = tx.tools.of_execution(execution_id)
        lost = {"status": "active", "phase": "dispatching_tools", "request": None, "revision": record.revision + 1}
        assert tx.executions.save(replace(record, **lost), record.revision, "resolution")
        tx.tools.put((replace(row, status=ToolStatus.PENDING, attempt=1),))

    written(SqliteStore(path), lose)
    return execution_id


def written(store: Store, operation: object) -> None:
    store.open()
    said: list[object] = []
    store.submit(operation, said.append)  # type: ignore[arg-type]
    store.close()
    assert type(said[0]).__name__ == "Committed", said


def test_a_recorded_resolution_is_applied_by_the_host_that_adopts_the_run(tmp_path: Path) -> None:
    execution_id = started_and_lost(tmp_path / "runs.db")

    async def record() -> int:
        async with Runtime(SqliteStore(tmp_path / "runs.db")) as runtime:
            record = await runtime.record_resolution(execution_id, "c1", "succeeded", result="paid by hand")
            assert await runtime.result(execution_id) is None  # nothing waits, and nothing runs here
            with pytest.raises(UnknownSubject):
                await runtime.record_resolution(execution_id, "c1", "succeeded", result="paid by hand")
            return record.revision

    async def go_on() -> tuple[str | None, int]:
        async with Runtime(SqliteStore(tmp_path / "runs.db"), [CLERK]) as runtime:
            rest = await (await runtime.execution(execution_id)).terminal()
            assert isinstance(rest, Completed)
            results = [event.data["text"] for event in await (await runtime.execution(execution_id)).history()
                       if event.kind == "tool_result"]  # fmt: skip
            return results[0], rest.revision

    revision = asyncio.run(record())
    text, at_the_end = asyncio.run(go_on())
    assert text == "paid by hand"
    assert at_the_end > revision


@pytest.mark.parametrize(
    "said", [{"result": None}, {"result": "x", "error": "y"}, {"error": "y"}], ids=["nothing", "both", "other"]
)
def test_a_recorded_resolution_takes_what_its_outcome_takes(tmp_path: Path, said: dict[str, str]) -> None:
    execution_id = started_and_lost(tmp_path / "runs.db")

    async def record() -> None:
        async with Runtime(SqliteStore(tmp_path / "runs.db")) as runtime:
            with pytest.raises(InvalidArguments, match="takes result="):
                await runtime.record_resolution(execution_id, "c1", "succeeded", **said)

    asyncio.run(record())


def test_a_run_that_was_asked_to_stop_before_it_came_to_rest_is_ended_by_the_next_look(tmp_path: Path) -> None:
    """The intent is written by another process while the model answers, and the answer leads to a suspension."""

    async def run() -> None:
        other = SqliteStore(tmp_path / "runs.db")
        other.open()

        def answer(request: object) -> object:
            written_beside = asyncio.Event()
            loop = asyncio.get_running_loop()
            name = request.execution_id  # type: ignore[attr-defined]
            other.submit(hostless.stop_intent(name, 1.0), lambda _: loop.call_soon_threadsafe(written_beside.set))

            async def said() -> object:
                await written_beside.wait()
                return call("pay", cents=5)

            return said()

        agent = Agent(name="clerk", model=scripted([answer, "done"]), tools=[pay])
        async with Runtime(SqliteStore(tmp_path / "runs.db"), [agent], poll_interval=0) as runtime:
            execution = await runtime.start(agent, "pay it")
            assert isinstance(await execution, Suspended)
            await runtime._watch.look()
            assert isinstance(await execution.terminal(), Cancelled)
        other.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_only_what_was_not_asked_to_stop_may_wait(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "runs.db")
    store.open()
    try:
        assert store.read(lambda tx: may_wait(tx, "x", "approval")) == "approval"
        assert store.read(lambda tx: may_wait(tx, "x", None)) is None
    finally:
        store.close()
