"""The program that test_torture kills: runs with every feature, on and on, until the file `enough` is there.

Arguments: the database, the folder for what happens outside, how many agents. A dot on standard output for every step
of a machine. What is not as it should be goes into the file `wrong`.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import attrs

from pawl import (
    Agent,
    AgentBusy,
    AgentHandle,
    Completed,
    Event,
    Execution,
    ModelError,
    ModelRequest,
    NeedsResolution,
    NotSuspended,
    ResultQuery,
    Retries,
    Runtime,
    StaleRequest,
    StaleRevision,
    Superseded,
    Suspended,
    ToolContext,
    UnknownSubject,
    Unresolved,
    UsageLimits,
    call,
    calls,
    scripted,
    streamed,
    tool,
)
from pawl.runtime.execution.heart import Move

FASTER = (AgentBusy, NotSuspended, StaleRequest, StaleRevision, Superseded, UnknownSubject)
"""What is said to the slower of two workers."""

MOMENT = 0.02
"""Seconds that a body takes, so that it can be killed in it."""

LOST = 0.005
"""How often a process is lost at the very edge of an effect, where a kill from outside hardly ever hits."""

CANCELLED_EVERY = 7
"""Every so many runs one is cancelled."""

outside = Path()


@attrs.frozen
class Report:
    """What a run comes to."""

    text: str
    calls: int


def append(name: str, line: str) -> None:
    """Add a line to a file, whole or not at all."""
    handle = os.open(outside / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def note(context: ToolContext, name: str) -> None:
    """One line for each time that a body is entered: that is the effect."""
    key = context.idempotency_key
    append("entries", f"{name} {context.execution_id} {context.tool_call_id} {context.attempt} {key}")


def edge() -> None:
    """Perhaps the process is lost here, while it is a torture."""
    if random.random() < LOST and not (outside / "enough").exists():
        os.kill(os.getpid(), signal.SIGKILL)


def happened(execution_id: str, lost: Unresolved) -> bool:
    """Whether a call had its effect, as only the world outside knows; what may be repeated had none that matters."""
    if lost.tool == "pay":
        return (outside / "paid" / str(lost.idempotency_key)).exists()
    path = outside / "entries"
    lines = path.read_text().splitlines() if path.exists() else []
    return lost.tool == "mail" and any(line.split()[1:3] == [execution_id, lost.subject] for line in lines)


@tool(recovery="replay", rate="100/s")
def look_up(ctx: ToolContext) -> str:
    """Free, safe to repeat, and not too often."""
    note(ctx, "look_up")
    time.sleep(MOMENT)
    return "a secret was found"


@tool(approval=True, recovery="replay", timeout=30)
def refund(ctx: ToolContext) -> str:
    """Approved, and safe to repeat under its key: the ledger has one line a key."""
    note(ctx, "refund")
    time.sleep(MOMENT)
    edge()
    (outside / "ledger" / ctx.idempotency_key).touch()
    edge()
    return "refunded"


@tool(max_concurrent=2)
def mail(ctx: ToolContext) -> str:
    """Asked about when its outcome is lost, and two at a time."""
    edge()
    note(ctx, "mail")
    edge()
    time.sleep(MOMENT)
    return "sent"


def happen(path: Path, execution_id: str) -> None:
    """Make a file that says for which run it is, whole or not at all: a kill leaves no effect without its run."""
    unseen = path.with_name(f"{path.name}.{os.getpid()}")
    unseen.write_text(execution_id)
    try:
        os.link(unseen, path)
    except FileExistsError:
        append("wrong", f"{execution_id}: paid again under {path.name}")
    edge()
    unseen.unlink()


def ledger_says(key: str) -> object:
    """What a probe of `pay` finds."""
    from pawl import Found

    return Found("paid") if (outside / "paid" / key).exists() else "absent"


@tool(recovery="probe", probe=ledger_says)
async def pay(ctx: ToolContext) -> str:
    """On the loop, and it can be found out whether it was done."""
    note(ctx, "pay")
    edge()
    happen(outside / "paid" / ctx.idempotency_key, ctx.execution_id)
    await asyncio.sleep(MOMENT)
    return "paid"


def without_secrets(text: str, query: ResultQuery) -> str:
    """A result filter."""
    return text.replace("secret", "[filtered]")


async def in_capitals(text: str) -> str:
    """An output filter."""
    await asyncio.sleep(0)
    return text.replace("done", "DONE")


WRONG = "this is no report"
DONE = '{"text": "done", "calls": 5}'
ROUNDS = [
    calls(call("look_up"), call("refund"), call("mail")),
    streamed("Now ", "pay.", call("pay"), call("mail")),
    WRONG,
    DONE,
]
"""Two rounds of calls in each run, an answer that is no Report, and then one that is."""


def answer(request: ModelRequest) -> object:
    """The answer that comes next in this run; one time in ten the provider is not to be reached."""
    if random.random() < 0.1:
        raise ModelError("overloaded", retry_safe=True)
    said = [message for message in request.messages if message.role != "tool"]
    begun = max(place for place, message in enumerate(said) if message.text == "go")
    answered = sum(message.role == "assistant" for message in said[begun:])
    if any("secret" in message.text for message in request.messages):
        append("wrong", f"{request.execution_id}: a result went past its filter")
    return ROUNDS[answered]


def worker(name: str) -> Agent:
    """The same answers for every run."""
    return Agent(
        name=name,
        model=scripted([answer] * 100_000, record=False),
        tools=[look_up, refund, mail, pay],
        output_type=Report,
        output_filters=[in_capitals],
        tool_result_filters=[without_secrets],
        retries=Retries(attempts=12, first=0.01, longest=0.05),
        limits=UsageLimits(tool_calls=5),
        run_timeout=600,
        approval_timeout=600,
    )


async def follow(execution: Execution) -> None:
    """Every record comes once, in order, whoever else is at the run; tokens have no place."""
    last = 0
    events: list[Event] = []
    async for event in execution.events():
        if event.cursor is not None and event.kind not in ("approval_required", "recovery_resolution_required"):
            events.append(event)
            if event.cursor < last or (event.cursor == last and not events[-2].more):
                append("wrong", f"{execution.id}: event {event.cursor} of {event.kind} comes after {last}")
            last = event.cursor


async def see_through(runtime: Runtime, execution: Execution) -> None:
    """Approve everything, and say of every lost call what became of it."""
    while True:
        match await (await runtime.execution(execution.id)):
            case Suspended(request=request):
                await runtime.decide(request.id, approve=True)
            case NeedsResolution(unresolved=unresolved, revision=revision):
                lost = unresolved[0]
                did = happened(execution.id, lost)
                outcome, result = ("succeeded", "found out") if did else ("not_performed", None)
                await runtime.resolve(execution.id, lost.subject, outcome, result=result, revision=revision)  # type: ignore[arg-type]
            case Completed(value=value):
                if value != Report("DONE", 5):
                    append("wrong", f"{execution.id}: it came to {value!r}")
                return
            case _:
                return


async def one(runtime: Runtime, handle: AgentHandle, number: int) -> None:
    """One run, whoever else is at it."""
    while True:
        try:
            execution = await handle.start("go", id=f"run-{number}")
            following = asyncio.ensure_future(follow(execution))
            try:
                if number % CANCELLED_EVERY == CANCELLED_EVERY - 1:
                    await asyncio.sleep(random.random() * 0.2)
                    await runtime.cancel(execution.id)
                await see_through(runtime, execution)
                await following
            finally:
                following.cancel()
            return
        except FASTER:
            await asyncio.sleep(0.02)


async def work(runtime: Runtime, handle: AgentHandle, agent_id: str) -> None:
    """One run after another; those that others have ended already are not begun again."""
    number = max(0, len(await runtime.executions(agent_id, limit=100_000)) - 1)
    while not (outside / "enough").exists():
        await one(runtime, handle, number)
        number += 1
    for left in await runtime.executions(agent_id, open_only=True):
        await one(runtime, handle, int(left.start_id.removeprefix("run-")))


def step(execution_id: str, move: Move) -> None:
    """Tell the test how far it is."""
    os.write(1, b".")


async def main(database: str, agents: int) -> None:
    """Work on `agents` agents at once; one more is left waiting for a decision that nobody makes."""
    agent, waiter = worker("worker"), worker("waiter")
    url = f"sqlite:///{database}?synchronous=normal"
    async with Runtime(url, [agent, waiter], poll_interval=0.1, trace=step) as runtime:
        await (await runtime.open(waiter, "waiter")).start("go", id="run-0")
        names = [f"agent-{number}" for number in range(agents)]
        await asyncio.gather(*[work(runtime, await runtime.open(agent, name), name) for name in names])


if __name__ == "__main__":
    outside = Path(sys.argv[2])
    try:
        asyncio.run(main(sys.argv[1], int(sys.argv[3])))
    except Exception:
        append("wrong", traceback.format_exc())
        raise
