"""A look for lost work in which anything goes wrong loses none of it: the next one finds the rest."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest

from execution.programs import readings, submissions
from pawl import Agent, StoreUnavailable, ToolContext, call, scripted, tool
from pawl.runtime.simulation.faults import Do, Fault
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.world import World

LOST = 3
"""Runs whose process is gone."""


@tool(recovery="replay")
def work(ctx: ToolContext) -> str:
    """May be repeated."""
    return f"attempt {ctx.attempt}"


AGENT = Agent(name="a", model=scripted([call("work"), "done"], record=False), tools=[work])


def swept(*faults: Fault) -> World:
    """A process that looks for lost work, and whatever comes after it."""
    world = World(AGENT)
    with world:
        process = world.open()
        for number in range(LOST):
            world.fault(f"tool_outcome#{number + 1}", "hold")
            process.begin(process.runtime.run(AGENT, "go", agent_id=f"agent {number}"))
            world.settle()
        world.lose(process)
        world.faults.counts.clear()
        for fault in faults:
            world.faults.add(fault)
        process = lasting(world)
        assert [record.status for record in world.records()] == ["completed"] * LOST
        attempts = [entry.attempt for entry in world.witness.entries]
        assert attempts.count(1) == LOST
    return world


def lasting(world: World) -> Process:
    """The first process that opens and is still there a while later."""
    for _ in range(4):
        with suppress(CallLost, StoreUnavailable):
            process = world.open()
            world.advance(15)
            if process.alive:
                return process
    raise AssertionError("no process lasts")


@cache
def places() -> list[Fault]:
    """What can go wrong with each claim, and with each read, of a sweep."""
    world = swept()
    dos: tuple[Do, ...] = (
        "lose_reply_committed",
        "lose_reply_rolled_back",
        "crash_before_commit",
        "crash_after_commit",
    )
    claims = [address for address in submissions(world) if address.startswith("take_over#")]
    wrong = [Fault(address, do) for address in claims for do in dos]
    wrong += [Fault(address, "unavailable", times) for address in claims for times in (1, 7)]
    return [*wrong, *(Fault(address, "unavailable") for address in readings(world))]


@pytest.mark.parametrize("part", range(4))
def test_all_of_it_is_done_whatever_goes_wrong_meanwhile(part: int) -> None:
    assert len(places()) > LOST * 6
    for fault in places()[part::4]:
        swept(fault)
