"""The program that test_real_processes kills: it sees its runs through, and writes down outside what it does.

Arguments: the database, the folder for what happens outside, how many agents, how many runs of each. A dot on standard
output for every step of a machine.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from pawl import (
    Agent,
    AgentBusy,
    AgentHandle,
    Execution,
    ModelRequest,
    NeedsResolution,
    NotSuspended,
    Outcome,
    Runtime,
    StaleRequest,
    Superseded,
    Suspended,
    ToolContext,
    UnknownSubject,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.execution.heart import Move

FASTER = (AgentBusy, NotSuspended, StaleRequest, Superseded, UnknownSubject)
"""What is said to the slower of two workers."""

MOMENT = 0.1
"""Seconds that a body takes, so that it can be killed in it."""


def note(context: ToolContext, name: str) -> None:
    """One line for each time that a body is entered."""
    line = f"{name} {context.execution_id} {context.tool_call_id} {context.attempt} {context.idempotency_key}\n"
    handle = os.open(outside / "entries", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, line.encode())
    os.close(handle)


@tool(recovery="replay")
def look_up(ctx: ToolContext) -> str:
    """Free, and safe to repeat."""
    note(ctx, "look_up")
    time.sleep(MOMENT)
    return "found"


@tool(approval=True, recovery="replay")
def refund(ctx: ToolContext) -> str:
    """Approved, and safe to repeat under its key: the ledger has one line a key."""
    note(ctx, "refund")
    time.sleep(MOMENT)
    (outside / "ledger" / ctx.idempotency_key).touch()
    return "refunded"


@tool
def mail(ctx: ToolContext) -> str:
    """Asked about when its outcome is lost."""
    note(ctx, "mail")
    time.sleep(MOMENT)
    return "sent"


@tool
async def post(ctx: ToolContext) -> str:
    """The same, on the loop."""
    note(ctx, "post")
    await asyncio.sleep(MOMENT)
    return "posted"


ROUNDS = [calls(call("look_up"), call("refund"), call("mail")), calls(call("post"), call("mail")), "done"]


def answer(request: ModelRequest) -> object:
    """Two rounds of calls in each run, then its output."""
    roles = "".join(message.role[0] for message in request.messages)
    return ROUNDS[roles.rpartition("u")[2].count("a")]


def worker() -> Agent:
    """The same answers for every run."""
    model = scripted([answer] * len(ROUNDS) * runs, record=False)
    return Agent(name="worker", model=model, tools=[look_up, refund, mail, post])


async def see_through(runtime: Runtime, execution: Execution) -> Outcome:
    """Approve everything, and say of every lost call that it succeeded, unless it may be repeated."""
    while True:
        match await (await runtime.execution(execution.id)):
            case Suspended(request=request):
                await runtime.decide(request.id, approve=True)
            case NeedsResolution(unresolved=unresolved):
                lost = unresolved[0]
                if lost.tool in ("look_up", "refund"):  # lost so often that nobody repeats it unasked
                    await runtime.resolve(execution.id, lost.subject, "not_performed")
                else:
                    await runtime.resolve(execution.id, lost.subject, "succeeded", result="found out")
            case outcome:
                return outcome


async def work(runtime: Runtime, handle: AgentHandle) -> None:
    """All runs of one agent, whoever else is at them."""
    for number in range(runs):
        while True:
            try:
                await see_through(runtime, await handle.start("go", id=f"run-{number}"))
                break
            except FASTER:
                await asyncio.sleep(0.02)


def step(execution_id: str, move: Move) -> None:
    """Tell the test how far it is."""
    os.write(1, b".")


async def main() -> None:
    agent = worker()
    async with Runtime(f"sqlite:///{database}", [agent], poll_interval=0.1, trace=step) as runtime:
        await asyncio.gather(*[work(runtime, await runtime.open(agent, f"agent-{number}")) for number in range(agents)])


if __name__ == "__main__":
    database, outside, agents, runs = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    asyncio.run(main())
