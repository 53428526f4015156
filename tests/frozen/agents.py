"""The agents of a frozen file, as they are when it is made and as they are when it is opened later.

A frozen file knows them by name and version, so what is here may not change what a recorded run would do. While a file
is being made, what is to be left in the middle stands still.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import attrs

from pawl import (
    Agent,
    Block,
    ContextPolicy,
    HookQuery,
    ModelError,
    RequestPatch,
    Secret,
    ToolContext,
    Usage,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.records.messages import Message


class Making:
    """Whether a file is being made just now."""

    now = False


@attrs.frozen
class Answer:
    """An output type."""

    city: str
    degrees: int


async def stand_still() -> None:
    """For ever, while a file is being made."""
    if Making.now:
        await asyncio.get_running_loop().create_future()


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
async def charge(cents: int) -> str:
    """Charge a card; nobody knows whether it happened."""
    await stand_still()
    return f"charged {cents}"


@tool(recovery="replay")
async def fetch(page: int, ctx: ToolContext) -> str:
    """Fetch a page; again does no harm."""
    await stand_still()
    return f"page {page}, attempt {ctx.attempt}"


@tool
async def slow(page: int) -> str:
    """Takes its time."""
    await stand_still()
    return f"page {page}"


async def waiting(text: str) -> str:
    """An input filter that takes its time."""
    await stand_still()
    return text


def block(text: str) -> Block:
    """Nothing leaves."""
    return Block("not for you")


def greeting(query: HookQuery) -> RequestPatch:
    """More than the conversation."""
    return RequestPatch(add_instructions="Be brief.", before=[Message("user", "Hello."), Message("assistant", "Hi.")])


TOOLS = [look, pay, unlock, charge, fetch, slow]
WORK = calls(call("look", city="Ulm"), call("look", city="Bonn"), usage=Usage(30, 12))
LONG = "a long answer " * 20


def agents() -> dict[str, Agent[Any]]:
    """New ones, by name: a script remembers its attempts."""

    def agent(name: str, *script: Any, **options: Any) -> Agent[Any]:
        return Agent(name=name, model=scripted(script, record=False), tools=TOOLS, **options)

    lost: list[Any] = [hang()] if Making.now else ["an answer at last"]
    found = [
        agent("completed", WORK, "all \u2028 done", instructions="Be kind.", before_llm=[greeting]),
        agent("typed", '{"city": "Ulm"}', '{"city": "Ulm", "degrees": 7}', output_type=Answer),
        agent("conversation", LONG, LONG, LONG, "short", context=ContextPolicy(1200)),
        agent("failed", ModelError("no such model")),
        agent("cancelled", *lost),
        agent("rejected", calls(call("pay", cents=5, to="Eve"), call("look", city="Oslo"))),
        agent("blocked", "secret", output_filters=[block]),
        agent("reset", "one", "two", "three"),
        agent("closed", "goodbye"),
        agent("suspended", calls(call("pay", cents=5, to="Ann"), call("look", city="Rome")), "paid", run_timeout=90.0),
        agent("expiring", call("pay", cents=6, to="Ann"), "paid", approval_timeout=60.0),
        agent("undecided", calls(call("pay", cents=5, to="Ann"), call("pay", cents=7, to="Bob")), "both"),
        agent("decided", calls(call("unlock", door="A", code="1234")), "opened"),
        agent("asked", call("charge", cents=9), "charged"),
        agent("model-asked", *lost, model_recovery="ask"),
        agent("preparing", "begun", input_filters=[waiting]),
        agent("calling", *lost, before_llm=[greeting]),
        agent("dispatched", calls(call("fetch", page=1), call("look", city="Rome")), "fetched"),
        agent("stopping", *lost),
    ]
    return {each.name: each for each in found}
