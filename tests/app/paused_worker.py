"""The program that test_pausing stops and wakes: one run, of which it writes down outside what it begins.

Arguments: the database, the file for what is begun, a name, the seconds that a lease lasts, the seconds that models and
tools take here, and, comma-separated, what of them takes until a file `go` is beside the database. On standard output:
a line for everything that is begun, and one for how it ended.
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


def say(line: str) -> None:
    """One line on standard output."""
    os.write(1, f"{line}\n".encode())


def begun(what: str) -> None:
    """It is let go now."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{name} {what} {time.time()}\n".encode())
    os.close(handle)
    say(what)


def over(what: str) -> bool:
    """Whether it has taken as long as it should. What is not held takes its time once, for this process."""
    if what in held:
        return os.path.exists(os.path.join(os.path.dirname(database), "go"))
    return time.monotonic() >= ends.setdefault(what, time.monotonic() + seconds)


async def passed(what: str) -> None:
    """Wait for that, with the loop free."""
    while not over(what):  # noqa: ASYNC110 - it is another process that ends it
        await asyncio.sleep(0.05)


@tool
def mail(ctx: ToolContext) -> str:
    """On the pool, and asked about when it is lost."""
    begun(f"mail-{ctx.tool_call_id}")
    while not over(f"mail-{ctx.tool_call_id}"):
        time.sleep(0.05)
    return "sent"


@tool
async def post(ctx: ToolContext) -> str:
    """On the loop."""
    begun(f"post-{ctx.tool_call_id}")
    await passed(f"post-{ctx.tool_call_id}")
    return "posted"


async def answer(request: ModelRequest) -> object:
    """Two tools, and then two more, and then the end."""
    round_ = sum(message.role == "assistant" for message in request.messages)
    begun(f"model-{round_ + 1}")
    await passed(f"model-{round_ + 1}")
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
    database, file, name = sys.argv[1:4]
    lasts, seconds, held = float(sys.argv[4]), float(sys.argv[5]), sys.argv[6].split(",")
    ends: dict[str, float] = {}
    lease.LEASE, lease.RENEW_EVERY = lasts, lasts / 4  # type: ignore[misc]
    opening.LEASE = lasts  # type: ignore[misc]
    asyncio.run(main())
