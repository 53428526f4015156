"""A reset: a new conversation of the same logical agent, for every process, with its history kept."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import (
    Agent,
    AgentBusy,
    AgentNotFound,
    Completed,
    ContextPolicy,
    HookQuery,
    Suspended,
    call,
    hang,
    scripted,
    sync,
    tool,
)
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World
from pawl.runtime.store.sqlite import SqliteStore

ANSWERS = [f"answer {number}" for number in range(9)]


def talker(**options: Any) -> Agent:
    return Agent(name="a", model=scripted(ANSWERS), **options)


def seen(world: World) -> list[str]:
    """What the last request showed."""
    return [message.text for message in world.witness.requests[-1].messages]


@pytest.mark.parametrize("kept", ["memory", "file"])
@pytest.mark.parametrize(
    "options",
    [{}, {"context": ContextPolicy(1000)}, {"before_llm": [lambda query: None]}],
    ids=["plain", "policy", "hook"],
)
def test_later_runs_see_nothing_of_the_earlier_ones_in_any_process(
    kept: str, options: dict[str, Any], tmp_path: Any
) -> None:
    agent = talker(**options)
    store = SqliteStore(tmp_path / "runs.db", "NORMAL", inline=True) if kept == "file" else None
    with World(agent, store=store) as world:
        first = world.open()
        handle = first.do(first.runtime.open(agent, "x"))
        first.do(handle.run("one"))
        first.do(handle.run("two"))
        assert seen(world) == ["one", "answer 0", "two"]
        first.do(handle.reset())
        first.do(handle.run("three"))
        assert seen(world) == ["three"]
        world.lose(first)
        second = world.open()
        again = second.do(second.runtime.load(agent, "x"))
        second.do(again.run("four"))
        assert seen(world) == ["three", "answer 2", "four"]
        second.do(again.reset())
        second.do(again.reset())
        second.do(again.run("five"))
        assert seen(world) == ["five"]
        assert world.kinds("x").count("external_message") == 5  # the history stays


def test_a_run_that_is_open_is_not_cut_off() -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(name="a", model=scripted([call("pay"), hang()]), tools=[pay])
    with World(agent) as world:
        process = world.open()
        handle = process.do(process.runtime.open(agent, "x"))
        rest = process.do(handle.run("go"))
        assert isinstance(rest, Suspended)
        with pytest.raises(AgentBusy) as busy:
            process.do(handle.reset())
        assert busy.value.execution_id == rest.execution_id
        assert busy.value.status == "suspended"
        assert world.root("x").since == 0


def test_what_a_reset_left_behind_is_not_seen_after_a_recovery_either() -> None:
    agent = talker()
    with World(agent) as world:
        first = world.open()
        handle = first.do(first.runtime.open(agent, "x"))
        first.do(handle.run("one"))
        first.do(handle.reset())
        world.fault("model#2", "crash_during_effect")
        first.begin(handle.run("two", id="r2"))
        world.settle()
        assert not first.alive
        second = world.open()
        rest = second.do(second.runtime.run(agent, "two", agent_id="x", id="r2"))
        assert isinstance(rest, Completed)
        assert [[message.text for message in request.messages] for request in world.witness.requests[1:]] == [
            ["two"]
        ] * 2


def test_hooks_and_units_begin_behind_the_reset() -> None:
    lengths: list[int] = []

    def look(query: HookQuery) -> None:
        lengths.append(len(query.messages))

    agent = talker(before_llm=[look], context=ContextPolicy(8, lambda text: 1))
    with World(agent) as world:
        process = world.open()
        handle = process.do(process.runtime.open(agent, "x"))
        for _ in range(3):
            process.do(handle.run("hello"))
        process.do(handle.reset())
        process.do(handle.run("hello"))
    assert lengths == [1, 3, 5, 1]


@pytest.mark.parametrize("do", ["lose_reply_committed", "lose_reply_rolled_back", "unavailable"])
def test_a_reset_whose_answer_is_lost_is_made_all_the_same(do: Any) -> None:
    agent = talker()
    with World(agent) as world:
        process = world.open()
        handle = process.do(process.runtime.open(agent, "x"))
        process.do(handle.run("one"))
        world.faults.add(Fault("reset#1", do))
        process.do(handle.reset())
        assert not world.faults.unmet
        process.do(handle.run("two"))
        assert seen(world) == ["two"]


def test_blocking_programs_reset_too() -> None:
    agent = talker()
    with sync.Runtime("memory://", agents=[agent]) as runtime:
        handle = runtime.open(agent, "x")
        handle.run("one")
        handle.reset()
        handle.run("two")
        assert isinstance(agent.model, type(scripted(["x"])))
        assert len(agent.model.requests[-1].messages) == 1
        runtime.purge("x")
        with pytest.raises(AgentNotFound):
            handle.reset()
