"""The agent loop as a graph of LangGraph, over its SQLite checkpointers."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pawl.tools.bench.peers.loops import Pauses, spend
from pawl.tools.bench.rounds import texts


class _State(TypedDict):
    said: Annotated[list[str], add]
    round: int
    rounds: int


def _graph(*, model: Callable[..., Any], tool: Callable[..., Any]) -> Any:
    from langgraph.graph import END, START, StateGraph

    builder = StateGraph(_State)
    builder.add_node("model", model)
    builder.add_node("tool", tool)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tool" if state["round"] < state["rounds"] else END)
    builder.add_edge("tool", "model")
    return builder


def _input(name: str, rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    first = {"said": ["Begin."], "round": 0, "rounds": rounds}
    return first, {"configurable": {"thread_id": name}, "recursion_limit": 2 * rounds + 10}


class LangGraph:
    """SqliteSaver, durability="sync"."""

    is_async = False

    def __init__(self, folder: Path, _: Pauses) -> None:
        from langgraph.checkpoint.sqlite import SqliteSaver

        def model(state: _State) -> dict[str, Any]:
            return {"said": [texts().next()]}

        def tool(state: _State) -> dict[str, Any]:
            return {"said": [texts().next()], "round": state["round"] + 1}

        self._connection = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
        self._graph = _graph(model=model, tool=tool).compile(checkpointer=SqliteSaver(self._connection))

    def run(self, name: str, rounds: int) -> None:
        first, config = _input(name, rounds)
        end = self._graph.invoke(first, config, durability="sync")
        assert len(end["said"]) == 2 * rounds + 2

    def close(self) -> None:
        self._connection.close()


class AsyncLangGraph:
    """AsyncSqliteSaver, durability="sync"."""

    is_async = True

    def __init__(self, folder: Path, pauses: Pauses) -> None:
        self._path, self._pauses = folder / "langgraph.db", pauses
        self._opening: asyncio.Task[Any] | None = None

    async def _open(self) -> Any:
        import aiosqlite
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async def model(state: _State) -> dict[str, Any]:
            await spend(self._pauses[0])
            return {"said": [texts().next()]}

        async def tool(state: _State) -> dict[str, Any]:
            await spend(self._pauses[1])
            return {"said": [texts().next()], "round": state["round"] + 1}

        self._connection = await aiosqlite.connect(self._path)
        saver = AsyncSqliteSaver(self._connection)
        await saver.setup()
        return _graph(model=model, tool=tool).compile(checkpointer=saver)

    async def run(self, name: str, rounds: int) -> None:
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())
        graph = await asyncio.shield(self._opening)
        first, config = _input(name, rounds)
        end = await graph.ainvoke(first, config, durability="sync")
        assert len(end["said"]) == 2 * rounds + 2

    async def close(self) -> None:
        await self._connection.close()
