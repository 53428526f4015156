"""Random conversations under random budgets, with a process lost on the way: no request is too large or broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pawl import Agent, Completed, ContextPolicy, Failed, ModelRequest, RequestPatch, call, calls, scripted, tool
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World


@tool(recovery="replay")
def look(size: int) -> str:
    """As many characters as were asked for."""
    return "x" * size


SIZES = st.integers(0, 80)
ROUND = st.lists(SIZES, min_size=1, max_size=3)
RUNS = st.lists(st.lists(ROUND, max_size=3), min_size=1, max_size=4)


def scripts(runs: list[list[list[int]]]) -> list[Any]:
    script: list[Any] = []
    for rounds in runs:
        script += [calls(*(call("look", size=size) for size in sizes)) for sizes in rounds]
        script.append("y" * (len(script) % 40))
    return script


TOOLS = len(Agent(name="a", model=scripted(["x"]), tools=[look]).callbacks.tools((look.spec,)))


def used(agent: Agent, request: ModelRequest) -> int:
    """Characters of a request, as the policy counts them."""
    said = 0
    for message in request.messages:
        parts = [message.text, *(f"{one.name} {one.arguments}" for one in message.calls)]
        said += len("\n".join(parts))
    return said + len(request.instructions) + len(agent.callbacks.tools(request.tools))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(RUNS, st.integers(1, 500), st.integers(1, 12), st.sampled_from(["crash_before_effect", "crash_after_effect"]))
def test_every_request_is_valid_and_within_its_budget(
    runs: list[list[list[int]]], budget: int, lost: int, how: Any
) -> None:
    def hook(query: Any) -> RequestPatch:
        return RequestPatch(add_instructions="z" * (query.sequence * 7))

    agent = Agent(
        name="a",
        model=scripted(scripts(runs), record=False),
        tools=[look],
        context=ContextPolicy(TOOLS + budget, len),
        before_llm=[hook],
    )
    with World(agent, faults=[Fault(f"model#{lost}", how)]) as world:
        for number in range(len(runs)):
            end = Client(world, agent, "question" * number, start_id=f"r{number}").see_through()
            assert isinstance(end, Completed) or (isinstance(end, Failed) and end.error.type == "ContextTooLarge")
            if isinstance(end, Failed):
                break  # the script goes on by answers, of which there are fewer now
        asked: dict[int, list[Any]] = {}
        for request in world.witness.requests:
            assert why_invalid(request.messages) is None
            assert used(agent, request) <= TOOLS + budget
            assert sum(message.role == "user" for message in request.messages) >= 1
            asked.setdefault(request.sequence, []).append((list(request.messages), request.instructions))
        assert all(one == alike[0] for alike in asked.values() for one in alike)


@pytest.mark.parametrize("room", range(10, 300, 10))
def test_the_budget_is_used_as_far_as_whole_units_go(room: int) -> None:
    agent = Agent(name="a", model=scripted(["y" * 20] * 9), tools=[look], context=ContextPolicy(TOOLS + room, len))
    with World(agent) as world:
        process = world.open()
        for number in range(9):
            assert isinstance(process.do(process.runtime.run(agent, f"{number}" * 10)), Completed)
        last = world.witness.requests[-1]
        left = (len(last.messages) - 1) // 2
        assert used(agent, last) <= TOOLS + room
        assert left == 8 or used(agent, last) + 30 > TOOLS + room
