"""What anybody wrote is nowhere in a redacted dump, however it is spelled there; and the dump is whole all the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from pawl import (
    Agent,
    Block,
    Decision,
    HookQuery,
    ModelError,
    RequestPatch,
    Secret,
    Suspended,
    ToolContext,
    Verdict,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.records.messages import Message
from pawl.runtime.simulation.world import World
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.dump import dump
from pawl.runtime.upkeep.load import load
from upkeep.town import memory

MARK = 'gehe\u00efm "x'
"""Text that JSON may spell in several ways."""

SPELLINGS = [MARK, json.dumps(MARK)[1:-1], json.dumps(json.dumps(MARK))[1:-1], "gehe", MARK.encode().hex()]


def m(name: str) -> str:
    return f"{name} {MARK}"


@tool(approval=lambda query: ("ask", m("because")))
def pay(to: str, codes: dict[str, Annotated[str, Secret]], note: dict[str, Any]) -> str:
    """Pay."""
    return m("paid")


@tool
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(m(why))


@tool(recovery="ask")
def look(what: str, ctx: ToolContext) -> str:
    """Look."""
    return m(what)


def hook(query: HookQuery) -> RequestPatch:
    return RequestPatch(add_instructions=m("instructions"), before=[Message("user", m("before"))])


def no_marks(text: str) -> str | Block:
    return Block(m("blocked")) if "block" in text else text


PAY = call("pay", to=m("to"), codes={m("name"): m("code")}, note={m("key"): [m("item"), 4711]})
ODD = call("pay", **{m("made up"): m("value")})


def agent(**options: Any) -> Agent:
    script = [
        calls(call("fail", why="w"), call("look", what="l"), text=m("thinking")),
        calls(PAY, ODD),
        m("all done"),
        ModelError(m("model")),
    ]
    return Agent(
        name="clerk", model=scripted(script, record=False), tools=[pay, fail, look], before_llm=[hook],
        input_filters=[no_marks], output_filters=[no_marks], **options,
    )  # fmt: skip


Pair = tuple[World, Any]


@pytest.fixture(params=["pending", "edited", "rejected", "failed", "blocked"])
def left(request: pytest.FixtureRequest) -> Iterator[tuple[World, str]]:
    """A run that was left so."""
    how = request.param
    clerk = agent()
    with World(clerk, store=memory()) as world:
        process = world.open()

        def run(text: str, name: str) -> Any:
            started = process.runtime.run(
                clerk, text, agent_id=m("agent"), id=m(name), durable_context={m("tenant"): m("acme")}
            )
            return process.do(started)

        rest = run(m("block") if how == "blocked" else m("hello"), "first")
        if how in ("edited", "rejected", "failed"):
            assert isinstance(rest, Suspended)
            name = rest.request.items[0].tool_call_id
            edit = {"to": m("else"), "codes": {m("other"): m("new code")}, "note": {m("k"): m("v")}}
            said = Decision(name, Verdict.APPROVED, m("with a note"), edit)
            if how == "rejected":
                said = Decision(name, Verdict.REJECTED, m("never"))
            rest = process.do(process.runtime.decide(rest.request.id, items={name: said}))
        if how == "failed":
            rest = run(m("again"), "second")
        yield world, rest.execution_id


@pytest.mark.parametrize("conversation", [False, True])
def test_nothing_that_anybody_wrote_is_in_it(left: tuple[World, str], conversation: bool) -> None:
    world, name = left
    lines = list(dump(world.store, name, conversation=conversation))
    text = "\n".join(lines)
    assert [spelling for spelling in SPELLINGS if spelling in text] == []
    assert [line for line in lines if "gehe" in json.dumps(json.loads(line), ensure_ascii=False)] == []
    assert "4711" not in re.sub("[0-9a-f]{12,}", "", text)
    store = MemoryStore(inline=True)
    store.open()
    assert load(store, lines).execution_id == name
    assert [str(finding) for finding in check_store(store)] == []


def test_only_what_is_declared_secret_is_left_out_of_the_other_one(left: tuple[World, str]) -> None:
    world, name = left
    lines = list(dump(world.store, name, redact=False, conversation=True))
    text = "\n".join(json.dumps(json.loads(line), ensure_ascii=False) for line in lines)
    assert "gehe" in text
    assert "code gehe" not in text
    store = MemoryStore(inline=True)
    store.open()
    load(store, lines)
    assert [str(finding) for finding in check_store(store)] == []
