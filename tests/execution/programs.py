"""The agents that tests of the runtime run, and how a disturbed run is compared with the undisturbed one."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import attrs

from pawl import Agent, ToolContext, call, calls, scripted, tool
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.rests import NeedsResolution, Outcome
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import BARRIERS, Do, Fault
from pawl.runtime.simulation.world import World


@tool
def add(a: int, b: int) -> int:
    """Free, and asked about when its outcome is lost."""
    return a + b


@tool(approval=True, recovery="replay")
def pay(cents: int, ctx: ToolContext) -> str:
    """Approved first, and safe to repeat under its key."""
    return f"paid {cents}"


@tool
async def slow() -> str:
    """Takes its time, and is asked about."""
    await asyncio.sleep(5)
    return "slept"


def clerk(**options: Any) -> Agent:
    """Three calls in one answer: free, approved and replayed, slow and asked about; then the output."""
    three = calls(call("add", a=1, b=2), call("pay", cents=500), call("slow"))
    return Agent(name="clerk", model=scripted([three, "all done"], record=False), tools=[add, pay, slow], **options)


@attrs.frozen
class Seen:
    """What a run came to, in the terms that do not depend on what went wrong."""

    outcome: type[Outcome]
    output: str
    kinds: tuple[str, ...]
    statuses: dict[str, str]
    effects: dict[str, int]


def seen(world: World, end: Outcome) -> Seen:
    """Look at a run that has ended; what recovery adds to its journal is left out."""
    record = world.record(end.execution_id)
    return Seen(
        type(end),
        getattr(end, "output", ""),
        tuple(str(entry.kind) for entry in world.journal(record.agent_id) if not _of_recovery(entry)),
        {row.tool_call_id: str(row.status) for row in world.rows(end.execution_id)},
        world.witness.effects,
    )


def _of_recovery(entry: JournalRecord) -> bool:
    lost = entry.kind is JournalKind.LLM_CALL_RECORDED and entry.meta["status"] == "lost"
    return lost or entry.kind is JournalKind.RECOVERY_RESOLVED


def run(world: World, agent: Agent, **options: Any) -> tuple[Seen, Client]:
    """Run `agent` once, over whatever was planned, and check what it asked about."""
    client = Client(world, agent, **options)
    end = client.see_through()
    for rest in client.rests:
        if isinstance(rest, NeedsResolution):
            _asks_rightly(world, rest)
    return seen(world, end), client


def _asks_rightly(world: World, rest: NeedsResolution) -> None:
    """Only effects that may have happened and may not be repeated are asked about."""
    policies = {row.tool_call_id: row for row in world.rows(rest.execution_id)}
    for unresolved in rest.unresolved:
        if unresolved.subject != "model":
            row = policies[unresolved.subject]
            assert row.policy != "replay", f"{row.tool} is asked about, and may be repeated"
            assert row.status is not ToolStatus.AUTHORIZED


def submissions(world: World) -> list[str]:
    """The address of everything that a run submitted to the store."""
    counts: Counter[str] = world.faults.counts
    return [f"{name}#{n + 1}" for name in counts if _is_submission(name) for n in range(counts[name])]


def barriers(world: World) -> list[str]:
    """The addresses of the barriers alone."""
    return [address for address in submissions(world) if address.partition("#")[0] in BARRIERS]


def bodies(world: World) -> list[str]:
    """The address of every start of a tool or model call."""
    counts: Counter[str] = world.faults.counts
    return [f"{name}#{n + 1}" for name in counts if _is_body(name) for n in range(counts[name])]


def _is_submission(name: str) -> bool:
    return not _is_body(name) and not name.startswith("reading:") and name != "pool"


def _is_body(name: str) -> bool:
    return name == "model" or name.startswith(("tool:", "probe:"))


def readings(world: World) -> list[str]:
    """The address of every read."""
    counts: Counter[str] = world.faults.counts
    return [f"{name}#{n + 1}" for name in counts if name.startswith("reading:") for n in range(counts[name])]


CRASHES: tuple[Do, ...] = ("crash_before_commit", "crash_after_commit")
LOST: tuple[Do, ...] = ("lose_reply_committed", "lose_reply_rolled_back", "unavailable")
AROUND: tuple[Do, ...] = ("crash_before_effect", "crash_during_effect", "crash_after_effect")

LONG = 7
"""Submissions that a store which is away for long turns down: more than anybody tries at once."""


def single_faults(world: World) -> list[Fault]:
    """Every fault that a run like the one in `world` can meet and has to survive."""
    faults = [Fault(address, do) for address in submissions(world) for do in (*CRASHES, *LOST)]
    faults += [Fault(address, "unavailable", times=LONG) for address in submissions(world)]
    faults += [Fault(address, "unreadable", times=times) for address in barriers(world) for times in (1, 0)]
    faults += [Fault(address, "crash_before_commit") for address in readings(world)]
    faults += [Fault(address, "unavailable") for address in readings(world)]
    faults += [Fault(address, do) for address in bodies(world) for do in AROUND]
    return faults


def named(fault: Fault) -> str:
    """A fault as a test's id."""
    return f"{fault.at}-{fault.do}" + (f"-{fault.times}" if fault.times != 1 else "")
