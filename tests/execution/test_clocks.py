"""Every fault at every place of runs that retry, run out of time, wait too long or use too much: all end so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

from execution.programs import named, single_faults
from pawl import (
    Agent,
    AgentBusy,
    Completed,
    Decision,
    Failed,
    ModelError,
    OutcomeUnknown,
    PawlError,
    Retries,
    StoreUnavailable,
    Superseded,
    Suspended,
    Usage,
    UsageLimits,
    call,
    calls,
    hang,
    scripted,
    tool,
)
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.rests import Outcome
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.client import Client, approve_all
from pawl.runtime.simulation.faults import BARRIERS, Fault
from pawl.runtime.simulation.process import CallLost
from pawl.runtime.simulation.world import Stuck, World
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore


@tool
def add(a: int, b: int) -> int:
    """Free, and asked about when its outcome is lost."""
    return a + b


@tool(approval=True, recovery="replay")
def pay(cents: int) -> str:
    """Approved first, and safe to repeat under its key."""
    return f"paid {cents}"


@tool(recovery="replay")
async def sleep(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "slept"


def agent(*answers: Any, **options: Any) -> Agent:
    return Agent(name="a", model=scripted(answers, record=False), tools=[add, pay, sleep], **options)


def busy() -> ModelError:
    return ModelError("busy", retry_safe=True)


def spent(answer: Any) -> Any:
    return calls(answer, usage=Usage(10, 5))


@attrs.frozen
class Program:
    """A run that ends in one way, whatever goes wrong with its processes."""

    make: Callable[[], Agent]
    ends: Callable[[Outcome], bool]
    decide: Callable[[Suspended], Mapping[str, bool | Decision]] | None = approve_all


def failed_with(error: str) -> Callable[[Outcome], bool]:
    return lambda end: isinstance(end, Failed) and end.error.type == error


ADD, PAY = call("add", a=1, b=2), call("pay", cents=5)

PROGRAMS = {
    "retries": Program(
        lambda: agent(busy(), calls(ADD, PAY), busy(), busy(), "done", retries=Retries(attempts=2), run_timeout=600),
        lambda end: isinstance(end, Completed) and end.output == "done",
    ),
    # Nothing but its deadline ends it, which stands still while somebody is asked.
    "deadline in a tool": Program(
        lambda: agent(calls(ADD, PAY), call("sleep", seconds=1e6), *[hang()] * 20, "never", run_timeout=30),
        failed_with("DeadlineExceeded"),
    ),
    "deadline in the model": Program(
        lambda: agent(PAY, *[hang()] * 20, "never", run_timeout=30, model_timeout=None), failed_with("DeadlineExceeded")
    ),
    "deadline while retrying": Program(
        lambda: agent(*[busy()] * 50, "never", run_timeout=30, retries=Retries(attempts=40, first=20, longest=1000)),
        failed_with("DeadlineExceeded"),
    ),
    "expiry": Program(
        lambda: agent(calls(ADD, PAY), "never", approval_timeout=30), failed_with("DeadlineExceeded"), None
    ),
    "model timeout": Program(lambda: agent(ADD, *[hang()] * 20, "never", model_timeout=30), failed_with("ModelError")),
    "limit": Program(
        lambda: agent(spent(calls(ADD).calls[0]), spent(PAY), spent(ADD), "never", limits=UsageLimits(model_calls=3)),
        failed_with("UsageLimitExceeded"),
    ),
}


def see_through(world: World, agent: Agent, program: Program) -> Outcome:
    if program.decide is not None:
        return Client(world, agent, decide=program.decide).see_through()
    return wait_for_expiry(world, agent)


def wait_for_expiry(world: World, agent: Agent) -> Outcome:
    """Start it, insist, and never decide."""
    for _ in range(40):
        process = world.ready()
        try:
            execution = process.do(process.runtime.start(agent, "go", id="req-1"), within=60)
            rest = process.do(execution, within=120)
            if isinstance(rest, Suspended):
                rest = process.do(execution.terminal(), within=120)
            return rest
        except CallLost:
            continue
        except Stuck:  # its process is ended from outside
            world.lose(process)
        except OutcomeUnknown:
            process.close()
        except (StoreUnavailable, Superseded, AgentBusy):
            world.advance(5.0)
    raise AssertionError("it does not end")


def check(world: World, program: Program, end: Outcome) -> None:
    record = world.record(end.execution_id)
    assert program.ends(end), end
    assert record.status in TERMINAL
    assert record.time_left is None
    rows = world.rows(end.execution_id)
    assert not [row for row in rows if row.status is ToolStatus.PENDING]
    journal = world.journal("a")
    assert sum(entry.kind.startswith("execution_") for entry in journal) == 1
    spent = Usage()
    recorded = [entry for entry in journal if entry.kind is JournalKind.LLM_CALL_RECORDED]
    for entry in recorded:
        spent += Usage(**entry.meta.get("usage", {}))
    assert spent == record.usage
    # Each call that was let go is on record once, under its own id.
    names = [entry.meta["llm_call_id"] for entry in recorded]
    assert len(names) == len(set(names)) == record.model_calls
    assert {request.call_id for request in world.witness.requests} <= set(names)
    limits = world.agents[0].limits
    if limits is not None and limits.model_calls is not None:
        assert record.model_calls <= limits.model_calls
    for process in world.processes:
        if process.alive:
            assert len(process.runtime._keeper._deadlines) == 0
            assert not process.runtime._keeper._timers
    assert world.root("a").owner is None


def disturbed(name: str, *faults: Fault, hosts: int = 1, store: Store | None = None) -> list[Fault]:
    """Run the program over the faults, check how it ends; every fault that it could meet as well."""
    program = PROGRAMS[name]
    made = program.make()  # anew: its script remembers the attempts
    with World(made, faults=faults, store=store) as world:
        for _ in range(hosts):
            with suppress(CallLost, PawlError):
                world.open()
        end = see_through(world, made, program)
        check(world, program, end)
        return single_faults(world)


FAULTS = {name: disturbed(name) for name in PROGRAMS}
EVERY = [(name, fault) for name, faults in FAULTS.items() for fault in faults]


def shown(value: object) -> str:
    return named(value) if isinstance(value, Fault) else str(value)


@pytest.mark.parametrize(("name", "fault"), EVERY, ids=shown)
def test_one_fault_anywhere_does_not_change_how_it_ends(name: str, fault: Fault) -> None:
    disturbed(name, fault)


CRASHES = [(name, fault) for name, fault in EVERY if fault.do.startswith("crash")]


@pytest.mark.parametrize(("name", "fault"), CRASHES, ids=shown)
def test_with_a_second_host_beside_it_is_the_same(name: str, fault: Fault) -> None:
    disturbed(name, fault, hosts=2)


AT_BARRIERS = [(name, fault) for name, fault in CRASHES if fault.at.partition("#")[0] in BARRIERS]


@pytest.mark.parametrize(("name", "fault"), AT_BARRIERS, ids=shown)
def test_on_a_file_it_is_the_same(name: str, fault: Fault, tmp_path: Path) -> None:
    disturbed(name, fault, store=SqliteStore(tmp_path / "runs.db", "NORMAL", inline=True))
