"""The program that test_pausing stops and wakes: one run, of which it writes down outside what it begins.

Arguments: the database, the file for what is begun, a name, and the seconds that models and tools take here. Leases
are short. On standard output: a line for everything that is begun, and one for how it ended.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from pawl import (
    Agent,
    AgentBusy,
    Execution,
    ModelRequest,
    NeedsResolution,
    Outcome,
    Runtime,
    Superseded,
    Suspended,
    ToolContext,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.app import life as opening
from pawl.runtime.execution import lease

LEASE = 2.0
"""Seconds that a lease lasts here."""


def say(line: str) -> None:
    """One line on standard output."""
    os.write(1, f"{line}\n".encode())


def begun(what: str) -> None:
    """It is let go now."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{name} {what} {time.time()}\n".encode())
    os.close(handle)
    say(what)


@tool
def mail(ctx: ToolContext) -> str:
    """On the pool, and asked about when it is lost."""
    begun(f"mail-{ctx.tool_call_id}")
    time.sleep(seconds)
    return "sent"


@tool
async def post(ctx: ToolContext) -> str:
    """On the loop."""
    begun(f"post-{ctx.tool_call_id}")
    await asyncio.sleep(seconds)
    return "posted"


async def answer(request: ModelRequest) -> object:
    """Two tools, and then two more, and then the end."""
    round_ = sum(message.role == "assistant" for message in request.messages)
    begun(f"model-{round_ + 1}")
    await asyncio.sleep(seconds)
    two = [calls(call("mail", call_id=f"c{n}"), call("post", call_id=f"c{n + 1}")) for n in (1, 3)]
    return [*two, "done"][round_]


async def see_through(runtime: Runtime, execution: Execution) -> Outcome:
    """What was begun elsewhere did happen."""
    while True:
        match await (await runtime.execution(execution.id)):
            case NeedsResolution(unresolved=unresolved):
                await runtime.resolve(execution.id, unresolved[0].subject, "succeeded", result="found out")
            case Suspended():
                raise AssertionError("nobody is asked")
            case outcome:
                return outcome


async def main() -> None:
    """Start the run, or join it, and say how it ended."""
    agent = Agent(name="clerk", model=scripted([answer] * 3, record=False), tools=[mail, post])
    async with Runtime(f"sqlite:///{database}", [agent], poll_interval=0.1) as runtime:
        handle = await runtime.open(agent, "clerk")
        execution = await handle.start("go", id="the-run")
        if name != "first":
            try:
                await handle.start("go", id="another")
            except AgentBusy:
                say("busy")
        try:
            say(type(await see_through(runtime, execution)).__name__)
        except Superseded:
            say("Superseded")


if __name__ == "__main__":
    database, file, name, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    lease.LEASE, lease.RENEW_EVERY = LEASE, LEASE / 4  # type: ignore[misc]
    opening.LEASE = LEASE  # type: ignore[misc]
    asyncio.run(main())
