"""The one door of the heart: what is about something that is no longer current changes nothing, and is counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import pytest

from pawl import Agent, ModelAnswer, call, scripted, tool
from pawl.runtime.agent.payloads import LlmCompleted, ToolEnded
from pawl.runtime.barriers.answers import BarrierAnswer
from pawl.runtime.execution.heart import Live, Message, decide
from pawl.runtime.records.tools import ToolOutcome
from pawl.runtime.simulation.world import World


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


ADDER = Agent(name="adder", model=scripted([call("add", a=1, b=2), "three"], record=False), tools=[add])


@contextmanager
def held_at(at: str) -> Iterator[tuple[World, Live]]:
    """A run that waits there for what has been let go."""
    with World(ADDER) as world:
        world.fault(at, "hold")
        process = world.open()
        execution = process.begin(process.runtime.run(ADDER, "go"))
        world.settle()
        (live,) = process.runtime._host.keeper.executing
        yield world, live
        world.release(at)
        world.wait(execution)


def is_dropped(world: World, live: Live, event: str, payload: object, **more: str) -> bool:
    message = Message(live.session, event, payload, world.now)._replace(**more)
    decision = decide(live, message)
    assert (decision.dropped is None) is (decision.live != live)
    assert not (decision.dropped and (decision.effects or decision.moves))
    return decision.dropped == event


def test_an_answer_is_of_this_session_this_revision_and_this_call() -> None:
    with held_at("model#1") as (world, live):
        record = live.invocation.record
        assert record.llm_call_id is not None
        answer = LlmCompleted(record.llm_call_id, record.revision, ModelAnswer("yes"))
        assert not is_dropped(world, live, "llm_completed", answer)
        assert is_dropped(world, live, "llm_completed", answer, session="an earlier one")
        for revision in (record.revision - 1, record.revision + 1):
            assert is_dropped(world, live, "llm_completed", attrs.evolve(answer, revision=revision))
        assert is_dropped(world, live, "llm_completed", attrs.evolve(answer, llm_call_id="llm-another"))


def test_an_outcome_is_of_this_attempt_of_this_call() -> None:
    with held_at("tool:add#1") as (world, live):
        (name,) = live.children
        ended = ToolEnded(name, 1, ToolOutcome(result="3"))
        assert not is_dropped(world, live, "execution_completed", ended, child=name)
        assert is_dropped(world, live, "execution_completed", attrs.evolve(ended, attempt=2), child=name)
        other = attrs.evolve(ended, tool_invocation_id="tool-another")
        assert is_dropped(world, live, "execution_completed", other, child=name)
        assert is_dropped(world, live, "execution_completed", ended, child="tool-another")


@pytest.mark.parametrize(("at", "child"), [("provider_dispatch#1", False), ("tool_outcome#1", True)])
def test_the_store_s_answer_is_to_this_submission_and_of_its_kind(at: str, child: bool) -> None:
    with held_at(at) as (world, live):
        (name,) = live.children or ("",)
        of = {"child": name} if child else {}
        waiting = live.children[name].invocation if child else live.invocation
        assert waiting.barrier is not None
        answer = BarrierAnswer(waiting.barrier.command.token, False, error=OSError())
        assert not is_dropped(world, live, "uncertain", answer, **of)
        assert is_dropped(world, live, "uncertain", attrs.evolve(answer, token="another"), **of)
        assert is_dropped(world, live, "uncertain", attrs.evolve(answer, reading=True), **of)
