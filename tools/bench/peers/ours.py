"""The same agent loop on Pawl, and as bare programs that commit before each step: the references."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import tool
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.messages import ModelAnswer, ToolCall
from pawl.runtime.records.rests import Completed
from pawl.tools.bench.bare_log import BareLog
from pawl.tools.bench.peers import on_burr, on_dbos, on_langgraph
from pawl.tools.bench.peers.loops import Pauses, spend
from pawl.tools.bench.rounds import texts


class Pawl:
    """A Runtime over an SQLite file, as README begins; the same for one run and for many."""

    is_async = True

    def __init__(self, folder: Path, pauses: Pauses) -> None:
        self._url, self._pauses = f"sqlite:///{folder / 'pawl.db'}", pauses
        self._stack = AsyncExitStack()
        self._opening: asyncio.Task[tuple[Runtime, Agent[Any]]] | None = None

    async def _open(self) -> tuple[Runtime, Agent[Any]]:
        pauses = self._pauses

        @tool
        async def look_up(line: int) -> str:
            """Look a line up."""
            await spend(pauses[1])
            return texts().next()

        agent = Agent(name="loop", model=_Model(pauses[0]), tools=[look_up], max_iterations=10_000)
        return await self._stack.enter_async_context(Runtime(self._url, agents=[agent])), agent

    async def run(self, name: str, rounds: int) -> None:
        """Of a logical agent of its own."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())
        runtime, agent = await asyncio.shield(self._opening)
        rest = await runtime.run(agent, f"{rounds}", agent_id=name)
        assert isinstance(rest, Completed), rest

    async def close(self) -> None:
        """The runtime."""
        await self._stack.aclose()


class _Model:
    """A provider that asks for the tool as often as the input says."""

    name = model = "loop"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        await spend(self._seconds)
        more = request.sequence <= int(request.messages[0].text)
        calls = (ToolCall(f"c{request.sequence}", "look_up", '{"line": 1}'),) if more else ()
        return ModelAnswer(texts().next(), calls)

    async def aclose(self) -> None:
        """Nothing to close."""


class Bare:
    """A log and a status row in SQLite, in WAL with synchronous=FULL: one commit before each step, and at the end."""

    is_async = False

    def __init__(self, folder: Path, _: Pauses) -> None:
        self._log = BareLog(folder / "bare.db")

    def run(self, name: str, rounds: int) -> None:
        """Admission, each model call, each tool, the end."""
        self._log.write(name, [texts().next() for _ in range(2 * rounds + 3)])

    def close(self) -> None:
        """The file."""
        self._log.close()


class BareTogether:
    """The same for many at once on one event loop: a thread commits whatever waits, as one transaction."""

    is_async = True

    def __init__(self, folder: Path, pauses: Pauses) -> None:
        self._path, self._pauses = folder / "bare.db", pauses
        self._waiting: list[tuple[tuple[str, int, str], asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def run(self, name: str, rounds: int) -> None:
        """Each commit is awaited before the step that it lets go."""
        if self._writer is None:
            self._wake = asyncio.Event()
            self._connection = await asyncio.to_thread(self._open)
            self._writer = asyncio.create_task(self._write())
        await self._commit(name, 0, texts().next())
        for place in range(1, 2 * rounds + 2):
            await self._commit(name, place, texts().next())
            await spend(self._pauses[(place + 1) % 2])
        await self._commit(name, 2 * rounds + 2, texts().next())

    def _open(self) -> sqlite3.Connection:
        BareLog(self._path).close()
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    async def _commit(self, name: str, place: int, body: str) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((name, place, body), done))
        self._wake.set()
        await done

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await asyncio.to_thread(self._transaction, [row for row, _ in batch])
                for _, done in batch:
                    done.set_result(None)

    def _transaction(self, rows: list[tuple[str, int, str]]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO log VALUES (?, ?, 0.0, ?)", rows)
        status = [(name, place) for name, place, _ in rows]
        connection.executemany("INSERT OR REPLACE INTO status VALUES (?, ?, 0.0)", status)
        connection.execute("COMMIT")

    async def close(self) -> None:
        """The writer and the file."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.to_thread(self._connection.close)


class Asleep:
    """Nothing but the pauses of models and tools: what no program can undercut."""

    is_async = True

    def __init__(self, _: Path, pauses: Pauses) -> None:
        self._pauses = pauses

    async def run(self, name: str, rounds: int) -> None:
        """Sleep."""
        for place in range(2 * rounds + 1):
            await spend(self._pauses[place % 2])

    async def close(self) -> None:
        """Nothing to close."""


BARE: Final = "bare program"
ALL_ALONE: Final[dict[str, tuple[str, Any]]] = {
    BARE: ("", Bare),
    "Pawl": ("", Pawl),
    "LangGraph": ("LangGraph", on_langgraph.LangGraph),
    "DBOS": ("DBOS", on_dbos.Dbos),
    "Burr": ("Burr", on_burr.Burr),
}
ALL_TOGETHER: Final[dict[str, tuple[str, Any]]] = {
    "only the waiting": ("", Asleep),
    BARE: ("", BareTogether),
    "Pawl": ("", Pawl),
    "LangGraph": ("LangGraph", on_langgraph.AsyncLangGraph),
    "DBOS": ("DBOS", on_dbos.AsyncDbos),
    "Burr": ("Burr", on_burr.AsyncBurr),
}
"""Name in the tables to the peer that it needs, and to its class."""
