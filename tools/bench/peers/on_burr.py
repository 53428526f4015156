"""The agent loop as an application of Burr, over its SQLite persisters."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pawl.tools.bench.peers.loops import Pauses, spend
from pawl.tools.bench.rounds import texts

_NEXT = (("model", "tool"), ("tool", "model"), ("model", "end"))


def _actions(model: Any, tool: Any, end: Any) -> dict[str, Any]:
    """With what each of them reads and writes."""
    from burr.core import action

    return {
        "model": action(reads=["said", "round", "rounds"], writes=["said", "more"])(model),
        "tool": action(reads=["said", "round"], writes=["said", "round"])(tool),
        "end": action(reads=[], writes=["done"])(end),
    }


def _conditions() -> tuple[Any, ...]:
    from burr.core import when

    return ((*_NEXT[0], when(more=True)), _NEXT[1], (*_NEXT[2], when(more=False)))


class Burr:
    """SQLitePersister."""

    is_async = False

    def __init__(self, folder: Path, _: Pauses) -> None:
        from burr.core import State
        from burr.core.persistence import SQLitePersister

        def model(state: State) -> State:
            return state.append(said=texts().next()).update(more=state["round"] < state["rounds"])

        def tool(state: State) -> State:
            return state.append(said=texts().next()).update(round=state["round"] + 1)

        def end(state: State) -> State:
            return state.update(done=True)

        self._actions = _actions(model, tool, end)
        self._persister = SQLitePersister(str(folder / "burr.db"), connect_kwargs={"check_same_thread": False})
        self._persister.initialize()

    def run(self, name: str, rounds: int) -> None:
        from burr.core import ApplicationBuilder

        builder = ApplicationBuilder().with_actions(**self._actions).with_transitions(*_conditions())
        builder = builder.with_identifiers(app_id=name).with_state(said=["Begin."], round=0, rounds=rounds)
        app = builder.with_entrypoint("model").with_state_persister(self._persister).build()
        _, _, state = app.run(halt_after=["end"])
        assert len(state["said"]) == 2 * rounds + 2

    def close(self) -> None:
        self._persister.cleanup()


class AsyncBurr:
    """AsyncSQLitePersister."""

    is_async = True

    def __init__(self, folder: Path, pauses: Pauses) -> None:
        from burr.core import State

        async def model(state: State) -> State:
            await spend(pauses[0])
            return state.append(said=texts().next()).update(more=state["round"] < state["rounds"])

        async def tool(state: State) -> State:
            await spend(pauses[1])
            return state.append(said=texts().next()).update(round=state["round"] + 1)

        async def end(state: State) -> State:
            return state.update(done=True)

        self._actions = _actions(model, tool, end)
        self._path = folder / "burr.db"
        self._opening: asyncio.Task[Any] | None = None

    async def _open(self) -> Any:
        from burr.integrations.persisters.b_aiosqlite import AsyncSQLitePersister

        persister = await AsyncSQLitePersister.from_values(str(self._path))
        await persister.initialize()
        return persister

    async def run(self, name: str, rounds: int) -> None:
        from burr.core import ApplicationBuilder

        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())
        persister = await asyncio.shield(self._opening)
        builder = ApplicationBuilder().with_actions(**self._actions).with_transitions(*_conditions())
        builder = builder.with_identifiers(app_id=name).with_state(said=["Begin."], round=0, rounds=rounds)
        app = await builder.with_entrypoint("model").with_state_persister(persister).abuild()
        _, _, state = await app.arun(halt_after=["end"])
        assert len(state["said"]) == 2 * rounds + 2

    async def close(self) -> None:
        if self._opening is not None:
            await (await self._opening).cleanup()
