"""Names that no store can hold, and other wrong arguments, are refused in Pawl's own words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pawl import Agent, InvalidArguments, PawlError, Runtime, scripted

AGENT = Agent(name="talker", model=scripted(["one"], record=False))

CALLS: dict[str, Callable[[Runtime, Any], Awaitable[object]]] = {
    "execution": lambda runtime, name: runtime.execution(name),
    "result": lambda runtime, name: runtime.result(name),
    "executions": lambda runtime, name: runtime.executions(name),
    "decide": lambda runtime, name: runtime.decide(name, approve=True),
    "record_decision": lambda runtime, name: runtime.record_decision(name, approve=True),
    "receipts": lambda runtime, name: runtime.receipts(name),
    "cancel": lambda runtime, name: runtime.cancel(name),
    "resolve": lambda runtime, name: runtime.resolve(name, "model", "not_performed"),
    "load": lambda runtime, name: runtime.load(AGENT, name),
    "open": lambda runtime, name: runtime.open(AGENT, name),
    "create": lambda runtime, name: runtime.create(AGENT, name),
    "purge": lambda runtime, name: runtime.purge(name),
    "run": lambda runtime, name: runtime.run(AGENT, "go", agent_id=name),
    "reload": lambda runtime, name: runtime.reload(name),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_lone_surrogate_in_a_name_is_an_error_of_pawl_itself(call: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [AGENT]) as runtime:
            with pytest.raises(PawlError):
                await CALLS[call](runtime, "\udcff")

    asyncio.run(run())


@pytest.mark.parametrize("name", ["", ["a"], 7])
@pytest.mark.parametrize("call", ["load", "open", "create", "run"])
def test_what_cannot_be_an_agent_s_id_is_refused_and_not_replaced(call: str, name: Any) -> None:
    async def run() -> None:
        async with Runtime("memory://", [AGENT]) as runtime:
            with pytest.raises(InvalidArguments, match="cannot be an agent's id"):
                await CALLS[call](runtime, name)
            assert await runtime.executions() == []

    asyncio.run(run())


@pytest.mark.parametrize("limit", [-1, 1.5, "x", None, True, 2**63, 10**30])
def test_a_limit_is_a_whole_number(limit: Any) -> None:
    async def run() -> None:
        async with Runtime("memory://", [AGENT]) as runtime:
            with pytest.raises(InvalidArguments, match="limit="):
                await runtime.executions(limit=limit)

    asyncio.run(run())
