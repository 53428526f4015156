"""What waiting costs: looking for work among 100,000 suspended executions, and what is alive of each of them."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import tracemalloc
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Final

from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import tool
from pawl.runtime.agent.tool_invocation import ToolInvocation
from pawl.runtime.app.execution import Execution
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.execution.heart import Child, Live
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.messages import ModelAnswer, ToolCall
from pawl.runtime.records.rests import Suspended
from pawl.runtime.store.sqlite import SqliteStore
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import on_disk

RESTING: Final = 100_000

_ALIVE: Final = (Live, Child, AgentInvocation, ToolInvocation, ExecutionRecord, Execution)
"""What there is of an execution only while somebody runs it, or waits for it."""


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


@tool
def look_up(line: int) -> str:
    """Look a line up."""
    return f"line {line}"


class Asking:
    """A provider that keeps nothing: its answer asks for two calls."""

    name = model = "asking"

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """The same every time."""
        calls = (ToolCall("c1", "pay", '{"cents": 5}'), ToolCall("c2", "look_up", '{"line": 1}'))
        return ModelAnswer(f"Shall I pay for {request.agent_id}?", calls)

    async def aclose(self) -> None:
        """Nothing is open."""


def payer() -> Agent:
    """Its runs wait for a person after their first answer."""
    return Agent(name="payer", model=Asking(), tools=[pay, look_up])


# the scan -----------------------------------------------------------------------------------------------------------


def recovery_scan_s(resting: int = RESTING, tries: int = 5) -> Figure:
    """Seconds in which a process that starts finds what it has to go on with, among 100,000 suspended executions.

    From opening the store to the end of the first look, with one execution to adopt, whose process is gone, and a
    listener to whom all that waits is announced behind it: the best of a few tries.
    """
    with on_disk() as folder:
        path = folder / "pawl.db"
        crowd(path, resting)
        seconds = min(asyncio.run(_found(path)) for _ in range(tries))
    return Figure("recovery_scan_s", seconds, 1.0, "s", note="what waits for people is in no index that the look reads")


async def _found(path: Path) -> float:
    """One start. Raises AssertionError when it did not find the one execution that was left to go on with."""
    agent, left = payer(), "agent-1"
    _orphan(path, left)
    begin = perf_counter()
    heard: list[object] = []
    async with Runtime(SqliteStore(path, "NORMAL"), [agent], poll_interval=0, on_event=heard.append) as runtime:
        seconds = perf_counter() - begin
        (record,) = await runtime.executions(left)
        rest = await (await runtime.execution(record.execution_id))
    if not isinstance(rest, Suspended):
        raise AssertionError(f"the execution that was left ended as {rest}")
    return seconds


def _orphan(path: Path, agent_id: str) -> None:
    """One execution as a process that is gone has left it: owned by nobody who lives, and not waiting."""
    database = sqlite3.connect(path, isolation_level=None)
    (row,) = database.execute("SELECT id FROM agents WHERE agent_id = ?", (agent_id,)).fetchone()
    database.execute("UPDATE executions SET awaiting = NULL WHERE agent = ?", (row,))
    database.close()


def crowd(path: Path, resting: int) -> None:
    """A store with so many suspended executions, each of an agent of its own: one that was run, and its copies."""
    asyncio.run(_one(path))
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    for statement in _COPIES:
        database.execute(statement, {"count": resting})
    database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    database.close()


async def _one(path: Path) -> None:
    agent = payer()
    async with Runtime(SqliteStore(path, "NORMAL"), [agent], poll_interval=0) as runtime:
        rest = await runtime.run(agent, "Begin.", agent_id="agent-1")
    if not isinstance(rest, Suspended):
        raise AssertionError(f"the run that was to be copied ended as {rest}")


_NUMBERS: Final = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < :count) "


def _own(column: str, table: str = "e") -> str:
    """The text of a column with the names of the first execution, of its request and of its calls made another's."""
    ids = ["e.execution_id", "r.request_id", "t1.tool_invocation_id", "t2.tool_invocation_id"]
    said = f"{table}.{column}"
    for name in ids:
        said = f"replace({said}, {name}, {name} || '-' || i)"
    return f"replace({said}, '\"agent-1\"', '\"agent-' || i || '\"')"


_FIRST: Final = (
    "JOIN executions e ON e.id = 1 JOIN requests r JOIN tools t1 ON t1.id = 1 JOIN tools t2 ON t2.id = 2 "
    "JOIN agents a ON a.id = 1 "
)
_COPIES: Final = (
    f"{_NUMBERS} INSERT INTO agents SELECT i, 'agent-' || i, NULL, {_own('record', 'a')} FROM n {_FIRST}"
    "WHERE r.execution = 1",
    f"{_NUMBERS} INSERT INTO executions SELECT i, e.execution_id || '-' || i, i, {_own('start_id')}, e.created_at, "
    f"e.status, e.open, e.awaiting, e.due, e.revision, {_own('record')} FROM n {_FIRST} WHERE r.execution = 1",
    f"{_NUMBERS} INSERT INTO requests SELECT r.request_id || '-' || i, i FROM n JOIN requests r WHERE r.execution = 1",
    f"{_NUMBERS} INSERT INTO tools SELECT NULL, t.tool_invocation_id || '-' || i, i, t.call, "
    f"{_own('record', 't')} FROM n JOIN tools t ON t.execution = 1 {_FIRST} WHERE r.execution = 1",
    f"{_NUMBERS} INSERT INTO journal SELECT i, j.position, i, j.kind, j.at, j.content, {_own('meta', 'j')} "
    f"FROM n JOIN journal j ON j.agent = 1 {_FIRST} WHERE r.execution = 1",
)


# what is alive ------------------------------------------------------------------------------------------------------


def suspended_live_objects(executions: int = 400) -> Figure:
    """Objects that are left in a process of 800 executions that it has run until they were suspended."""
    objects, _ = left_behind(executions)
    return Figure("suspended_live_objects", objects, 0, "objects")


def suspended_bytes(executions: int = 400) -> Figure:
    """Bytes that are left in a process of each execution that it has run until it was suspended.

    Of the second of two crowds: the first one fills what is kept once a process. What the store's writer remembers of
    the last rows that it wrote, up to a bound, is not counted: it is made to forget that.
    """
    _, size = left_behind(executions)
    return Figure(
        "suspended_bytes", size, 128, "bytes", note="nothing is kept of them: what is left is the allocator's"
    )


@cache
def left_behind(executions: int) -> tuple[int, float]:
    """Both at once: it takes seconds."""
    return asyncio.run(_left_behind(executions))


async def _left_behind(executions: int) -> tuple[int, float]:
    """How many objects are alive of two crowds of suspended executions, and how many bytes of each of the second."""
    agent, others = payer(), _alive()
    with on_disk() as folder:
        path = folder / "pawl.db"
        async with Runtime(SqliteStore(path, "NORMAL"), [agent], poll_interval=0) as runtime:
            names = [f"agent {number}" for number in range(2 * executions)]
            for name in names:
                await runtime.open(agent, name)
            tracemalloc.start()
            await _suspend(runtime, agent, names[:executions])
            before = await _bytes(runtime, path)
            await _suspend(runtime, agent, names[executions:])
            after = await _bytes(runtime, path)
            tracemalloc.stop()
            alive = _alive() - others
    return alive, max(0.0, (after - before) / executions)


def _alive() -> int:
    gc.collect()
    return sum(isinstance(one, _ALIVE) for one in gc.get_objects())


async def _suspend(runtime: Runtime, agent: Agent, names: list[str]) -> None:
    for name in names:
        rest = await runtime.run(agent, "Begin.", agent_id=name)
        if not isinstance(rest, Suspended):
            raise AssertionError(f"the run that was to be suspended ended as {rest}")


async def _bytes(runtime: Runtime, path: Path) -> int:
    """Bytes in use, when the store's writer has forgotten which rows it wrote: somebody else has committed."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("UPDATE seal SET count = count + 1")
    database.close()
    agent = payer()
    await runtime.purge((await runtime.create(agent, "nobody")).id)
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
