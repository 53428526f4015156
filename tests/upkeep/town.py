"""A store with an execution in every state that it can rest in, or be left in, made by the runtime itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pawl import (
    Agent,
    Decision,
    HookQuery,
    ModelError,
    NeedsResolution,
    RequestPatch,
    Secret,
    Suspended,
    ToolContext,
    Usage,
    Verdict,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.records.messages import Message, ToolCall
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore


@tool
def look(city: str) -> str:
    """Look up the weather."""
    return f"rain in {city}"


@tool(approval=True)
def pay(cents: int, to: str) -> str:
    """Pay."""
    return f"paid {cents} to {to}"


@tool(approval=True)
def unlock(door: str, code: Annotated[str, Secret]) -> str:
    """Open a door."""
    return f"{door} is open"


@tool(recovery="ask")
def charge(cents: int, ctx: ToolContext) -> str:
    """Charge a card; nobody knows whether it happened."""
    return f"charged {cents}"


def greeting(query: HookQuery) -> RequestPatch:
    asked = ToolCall("h1", "look", '{"city":"Ulm"}')
    shown = [Message("user", "Ulm?"), Message("assistant", "", (asked,)), Message("tool", "sun in Ulm", (), "h1")]
    return RequestPatch(add_instructions="Be brief.", before=[*shown])


def agent(name: str, *script: Any, **options: Any) -> Agent:
    return Agent(name=name, model=scripted(script, record=False), tools=[look, pay, unlock, charge], **options)


WORK = calls(call("look", city="Ulm"), call("look", city="Bonn"), usage=Usage(30, 12))


def agents() -> tuple[Agent, ...]:
    """New ones: a script remembers its attempts."""
    return (
        agent("done", WORK, "all \u2028 done", instructions="Be kind.", before_llm=[greeting]),
        agent(
            "waits", calls(call("pay", cents=5, to="Ann"), call("pay", cents=7, to="Bob"), call("look", city="Rome"))
        ),
        agent(
            "edited", calls(call("unlock", door="A", code="1234")), "opened", calls(call("pay", cents=1, to="Cy")), "x"
        ),
        agent("lost", call("charge", cents=9), "charged"),
        agent("failed", ModelError("no such model"), "fine", "fine again"),
        agent("cancelled", hang()),
        agent("rejected", calls(call("pay", cents=5, to="Eve"), call("look", city="Oslo")), "never"),
        agent("begun", hang()),
        agent("reset", "one", "two", "three"),
    )


def settled(world: World, process: Process) -> None:
    """All of it."""
    by_name = {each.name: each for each in world.agents}

    def run(name: str, text: str, **options: Any) -> Any:
        return process.do(process.runtime.run(by_name[name], text, **options))

    run("done", "weather?", id="r1", durable_context={"tenant": "acme"})
    _decide_one_of(process, run("waits", "pay both"))
    _edit(process, run("edited", "open A"))
    rest = run("edited", "and pay")
    process.do(process.runtime.decide(rest.request.id, approve=True))
    run("failed", "first")
    run("failed", "second")
    process.begin(process.runtime.run(by_name["cancelled"], "stop me"))
    world.settle()
    (stopped,) = [record for record in world.records() if record.agent_id == "cancelled"]
    process.do(process.runtime.cancel(stopped.execution_id))
    rest = run("rejected", "pay Eve")
    items = {rest.request.items[0].tool_call_id: Decision(rest.request.items[0].tool_call_id, Verdict.REJECTED, "no")}
    process.do(process.runtime.decide(rest.request.id, items=items))
    run("reset", "1")
    run("reset", "2")
    handle = process.do(process.runtime.open(by_name["reset"], "reset"))
    process.do(handle.reset())
    run("reset", "3")
    process.begin(process.runtime.run(by_name["begun"], "hello"))
    world.settle()


def _decide_one_of(process: Process, rest: Any) -> None:
    assert isinstance(rest, Suspended)
    first = rest.request.items[0].tool_call_id
    process.do(process.runtime.decide(rest.request.id, items={first: True}))


def _edit(process: Process, rest: Any) -> None:
    assert isinstance(rest, Suspended)
    name = rest.request.items[0].tool_call_id
    edited = Decision(name, Verdict.APPROVED, "with another code", {"door": "B", "code": "9876"})
    process.do(process.runtime.decide(rest.request.id, items={name: edited}))


@contextmanager
def town(store: Store | None = None) -> Iterator[World]:
    """A world that has come to rest, with a process that died in a tool."""
    with World(*agents(), store=store, faults=[Fault("tool:charge#1", "crash_during_effect")]) as world:
        first = world.open()
        first.begin(first.runtime.run(world.agents[3], "charge"))
        world.settle()
        process = world.open()
        settled(world, process)
        lost = next(record for record in world.records() if record.agent_id == "lost")
        assert isinstance(process.do(process.runtime.result(lost.execution_id)), NeedsResolution)
        yield world


def memory() -> MemoryStore:
    return MemoryStore(inline=True)


def built(path: Path) -> Path:
    """The file of such a store."""
    with town(SqliteStore(path, inline=True)):
        pass
    return path


def damaged(path: Path, *statements: str) -> None:
    """Run SQL on the file."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
