"""Model calls that are made again: when, how often, under which ids, and what ends the wait."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    Failed,
    ModelError,
    NeedsResolution,
    Retries,
    ToolContext,
    UsageLimits,
    call,
    scripted,
    tool,
)
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World


def busy(after: float | None = None) -> ModelError:
    return ModelError("busy", retry_safe=True, retry_after=after)


@tool
def look(ctx: ToolContext) -> str:
    """Look."""
    return "seen"


def caller(*answers: Any, **options: Any) -> Agent:
    return Agent(name="a", model=scripted(answers, record=False), tools=[look], **options)


def calls_on_record(world: World) -> list[tuple[str, str]]:
    entries = [entry for entry in world.journal("a") if entry.kind == "llm_call_recorded"]
    return [(entry.meta["llm_call_id"], entry.meta["status"]) for entry in entries]


def test_each_attempt_is_on_record_under_its_own_id() -> None:
    agent = caller(busy(), busy(), "at last")
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        recorded = calls_on_record(world)
        assert [status for _, status in recorded] == ["failed", "failed", "completed"]
        assert [name for name, _ in recorded] == [request.call_id for request in world.witness.requests]
        assert len({name for name, _ in recorded}) == 3
        assert {request.sequence for request in world.witness.requests} == {1}
        assert world.records()[0].model_calls == 3
        assert process.runtime.stats().model_retries == 2


def test_the_wait_is_drawn_from_the_environment() -> None:
    def waited(attempts: Retries) -> float:
        agent = caller(busy(), "at last", retries=attempts)
        with World(agent) as world:
            process = world.open()
            process.do(process.runtime.run(agent, "go"))
            return world.clock.time

    assert waited(Retries(first=8, jitter=0)) == 8
    drawn = waited(Retries(first=8))
    assert 4 < drawn < 8
    assert waited(Retries(first=8)) == drawn


def test_a_provider_that_names_a_time_is_not_asked_before() -> None:
    agent = caller(busy(30), "at last", retries=Retries(jitter=0))
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        assert world.clock.time == 30


def test_a_provider_cannot_make_a_run_wait_for_ever() -> None:
    agent = caller(busy(1e8), "at last", retries=Retries(longest=45))
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        assert world.clock.time == 45


@pytest.mark.parametrize("attempts", [0, 1, 3])
def test_after_the_last_attempt_the_run_fails_with_what_the_provider_said(attempts: int) -> None:
    agent = caller(*[busy()] * (attempts + 1), "never", retries=Retries(attempts=attempts))
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert (end.error.type, end.error.message) == ("ModelError", "busy")
        assert len(world.witness.requests) == attempts + 1


@pytest.mark.parametrize("error", [ModelError("no such model"), ValueError("a bug in the provider"), TimeoutError()])
def test_a_failure_that_may_have_done_something_is_not_tried_again(error: Exception) -> None:
    agent = caller(error, "never", retries=Retries(attempts=5))
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Failed)
        assert len(world.witness.requests) == 1


def test_every_answer_has_its_own_retries() -> None:
    agent = caller(busy(), busy(), call("look"), busy(), busy(), "done", retries=Retries(attempts=2))
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert len(world.witness.requests) == 6


def waiting(world: World, agent: Agent, process: Process) -> Any:
    """A run that is between two attempts."""
    execution = process.do(process.runtime.start(agent, "go"))
    world.settle()
    live = process.runtime._keeper.live(execution.id)
    assert live is not None
    assert live.state == "retrying_llm"
    return execution


def test_a_cancellation_ends_the_wait() -> None:
    agent = caller(busy(), "never", retries=Retries(first=50))
    with World(agent) as world:
        process = world.open()
        execution = waiting(world, agent, process)
        process.do(process.runtime.cancel(execution.id))
        assert isinstance(process.do(execution, within=1), Cancelled)
        assert [status for _, status in calls_on_record(world)] == ["failed"]


def test_a_deadline_ends_the_wait() -> None:
    agent = caller(busy(), "never", retries=Retries(first=50), run_timeout=10)
    with World(agent) as world:
        process = world.open()
        end = process.do(waiting(world, agent, process))
        assert isinstance(end, Failed)
        assert end.error.type == "DeadlineExceeded"
        assert world.clock.time == 10
        assert len(world.witness.requests) == 1


def test_a_process_that_is_lost_while_it_waits_counts_its_last_call_as_lost() -> None:
    agent = caller(busy(), busy(), busy(), "at last", retries=Retries(attempts=2))
    with World(agent) as world:
        process = world.open()
        execution = waiting(world, agent, process)
        world.lose(process)
        again = world.open()
        assert isinstance(again.do(again.do(again.runtime.execution(execution.id))), Completed)
        # That it had failed was known to that process alone. The retries of the next one begin anew.
        assert [status for _, status in calls_on_record(world)] == ["lost", "failed", "failed", "completed"]
        assert world.records()[0].model_calls == 4


def test_a_process_that_is_lost_while_it_waits_asks_where_the_agent_says_so() -> None:
    agent = caller(busy(), "at last", model_recovery="ask")
    with World(agent) as world:
        process = world.open()
        execution = waiting(world, agent, process)
        world.lose(process)
        again = world.open()
        rest = again.do(again.do(again.runtime.execution(execution.id)))
        assert isinstance(rest, NeedsResolution)
        assert [one.subject for one in rest.unresolved] == ["model"]
        end = again.do(again.runtime.resolve(execution.id, "model", "not_performed"))
        assert isinstance(end, Completed)
        assert world.records()[0].model_calls == 1


def test_losing_one_process_after_another_between_attempts_ends() -> None:
    agent = caller(*[busy()] * 20, retries=Retries(first=50))
    with World(agent) as world:
        process = world.open()
        execution = waiting(world, agent, process)
        for _ in range(3):
            world.lose(process)
            process = world.open()
            world.settle()
        world.lose(process)
        process = world.open()
        end = process.do(process.do(process.runtime.execution(execution.id)))
        assert isinstance(end, Failed)
        assert "lost 3 times" in end.error.message


def test_a_crash_in_the_barrier_of_a_further_attempt_changes_nothing() -> None:
    agent = caller(busy(), "at last")
    for do in ("crash_before_commit", "crash_after_commit"):
        with World(agent, faults=[Fault("provider_dispatch#2", do)]) as world:  # type: ignore[arg-type]
            process = world.open()
            execution = process.do(process.runtime.start(agent, "go"))
            world.advance(5)
            again = world.open()
            assert isinstance(again.do(again.do(again.runtime.execution(execution.id))), Completed)


def test_a_retry_that_a_limit_forbids_is_not_made() -> None:
    agent = caller(busy(), busy(), "never", limits=UsageLimits(model_calls=2), retries=Retries(attempts=5))
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Failed)
        assert end.error.type == "UsageLimitExceeded"
        assert end.error.message == "model_calls: 2 used of 2, and the run needs another model call"
        assert [status for _, status in calls_on_record(world)] == ["failed", "failed"]
