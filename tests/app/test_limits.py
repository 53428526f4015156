"""Usage limits: what a run may use, counted over retries, lost calls, late answers and processes."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import (
    Agent,
    Completed,
    Failed,
    ModelAnswer,
    NeedsResolution,
    Suspended,
    ToolCall,
    Usage,
    UsageLimits,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(approval=True)
def pay(cents: int) -> str:
    """Approved."""
    return f"paid {cents}"


def used(answer: Any, tokens_in: int, tokens_out: int) -> Any:
    usage = Usage(tokens_in, tokens_out)
    if isinstance(answer, str):
        return ModelAnswer(answer, usage=usage)
    return calls(answer, usage=usage)


def limited(*answers: Any, **limits: int) -> Agent:
    return Agent(
        name="a",
        model=scripted(answers, record=False),
        tools=[add, pay],
        limits=UsageLimits(**limits),  # type: ignore[arg-type]
        on_rejection="continue",
    )


ADD = call("add", a=1, b=2)


def expect_over(end: object, said: str) -> Failed:
    assert isinstance(end, Failed)
    assert end.error.type == "UsageLimitExceeded"
    assert end.error.message == said
    return end


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"input_tokens": 30}, "input_tokens: 30 used of 30, and the run needs another model call"),
        ({"output_tokens": 9}, "output_tokens: 10 used of 9, and the run needs another model call"),
        ({"total_tokens": 40}, "total_tokens: 40 used of 40, and the run needs another model call"),
        ({"model_calls": 2}, "model_calls: 2 used of 2, and the run needs another model call"),
        ({"tool_calls": 1}, "tool_calls: 2 asked for of 1"),
    ],
)
def test_a_run_that_needs_more_than_it_may_have_fails_before_it_does_more(limits: dict[str, int], said: str) -> None:
    agent = limited(used(ADD, 10, 5), used(ADD, 20, 5), used("done", 1, 1), **limits)
    with World(agent) as world:
        process = world.open()
        end = expect_over(process.do(process.runtime.run(agent, "go")), said)
        assert end.usage == Usage(30, 10)
        assert world.witness.effects == {"add": 1}
        record = world.records()[0]
        assert (record.usage, record.model_calls, record.tool_calls) == (Usage(30, 10), 2, 2)
        assert [str(event.kind) for event in process.events][-1] == "error"


@pytest.mark.parametrize(
    "limits",
    [{"input_tokens": 31}, {"output_tokens": 11}, {"total_tokens": 41}, {"model_calls": 3}, {"tool_calls": 2}],
)
def test_a_run_that_needs_just_what_it_may_have_completes(limits: dict[str, int]) -> None:
    agent = limited(used(ADD, 10, 5), used(ADD, 20, 5), used("done", 1, 1), **limits)
    with World(agent) as world:
        process = world.open()
        assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)
        assert world.witness.effects == {"add": 2}


def test_the_last_answer_may_go_over_a_limit_since_nothing_follows_it() -> None:
    agent = limited(used("a long answer", 1000, 1000), total_tokens=50, model_calls=1)
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        assert isinstance(end, Completed)
        assert end.usage == Usage(1000, 1000)


def test_every_run_has_its_own_limits() -> None:
    agent = limited(*[used(ADD, 10, 5), used("done", 1, 1)] * 3, total_tokens=20, model_calls=2)
    with World(agent) as world:
        process = world.open()
        for _ in range(3):
            assert isinstance(process.do(process.runtime.run(agent, "go")), Completed)


def test_calls_that_run_no_tool_are_counted_too() -> None:
    agent = limited(calls(call("nothing"), call("add", a="x", b=1), ADD), "done", tool_calls=2)
    with World(agent) as world:
        process = world.open()
        expect_over(process.do(process.runtime.run(agent, "go")), "tool_calls: 3 asked for of 2")
        assert world.witness.effects == {}


def test_what_was_spent_before_a_crash_counts_after_it() -> None:
    agent = limited(used(ADD, 10, 5), used(ADD, 20, 5), used("done", 1, 1), total_tokens=40)
    with World(agent, faults=[Fault("tool_outcome#1", "crash_after_commit")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        again = world.open()
        end = again.do(again.do(again.runtime.execution(execution.id)))
        expect_over(end, "total_tokens: 40 used of 40, and the run needs another model call")


def test_what_was_spent_before_a_rest_counts_after_it() -> None:
    agent = limited(used(call("pay", cents=5), 10, 5), used(ADD, 20, 5), used("done", 1, 1), total_tokens=40)
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        world.lose(process)
        again = world.open()
        end = again.do(again.runtime.decide(rest.request.id, approve=True))
        expect_over(end, "total_tokens: 40 used of 40, and the run needs another model call")


def test_a_lost_call_was_let_go_and_is_not_made_again_over_the_limit() -> None:
    agent = limited(used(ADD, 10, 5), used("done", 1, 1), model_calls=2)
    with World(agent, faults=[Fault("model#2", "crash_during_effect")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        again = world.open()
        end = again.do(again.do(again.runtime.execution(execution.id)))
        expect_over(end, "model_calls: 2 used of 2, and the run needs another model call")
        assert world.witness.model_calls == {"a": 2}
        statuses = [entry.meta["status"] for entry in world.journal("a") if entry.kind == "llm_call_recorded"]
        assert statuses == ["completed", "unknown"]


@pytest.mark.parametrize("code", ["with the code", "without the code"])
def test_an_answer_that_somebody_gave_for_the_model_counts(code: str) -> None:
    agent = Agent(
        name="a",
        model=scripted(["never"], record=False),
        tools=[add],
        model_recovery="ask",
        limits=UsageLimits(tool_calls=1, total_tokens=100),
    )
    said = ModelAnswer(
        "", (ToolCall("c1", "add", '{"a":1,"b":2}'), ToolCall("c2", "add", '{"a":1,"b":2}')), Usage(9, 1)
    )
    with World(agent, faults=[Fault("model#1", "crash_during_effect")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        helper = world.open(Agent(name="other", model=scripted([], record=False)))
        again = world.open()
        rest = again.do(again.do(again.runtime.execution(execution.id)))
        assert isinstance(rest, NeedsResolution)
        if code == "with the code":
            end = again.do(again.runtime.resolve(execution.id, "model", "succeeded", result=said))
        else:
            helper.do(helper.runtime.record_resolution(execution.id, "model", "succeeded", result=said))
            end = again.do(again.do(again.runtime.execution(execution.id)).terminal())
        expect_over(end, "tool_calls: 2 asked for of 1")
        assert end.usage == Usage(9, 1)
        assert world.witness.effects == {}
        record = world.records()[0]
        assert (record.tool_calls, record.iterations) == (2, 1)


def test_a_run_that_is_over_a_limit_is_not_seen_by_the_next_one() -> None:
    agent = limited(used(ADD, 10, 5), used("done", 1, 1), model_calls=1)
    with World(agent) as world:
        process = world.open()
        expect_over(
            process.do(process.runtime.run(agent, "go")),
            "model_calls: 1 used of 1, and the run needs another model call",
        )
        assert isinstance(process.do(process.runtime.run(agent, "again")), Completed)
        assert [message.text for message in world.witness.requests[-1].messages] == ["again"]


def test_an_answer_of_the_wrong_type_is_not_corrected_over_the_limit() -> None:
    agent = Agent(
        name="a",
        model=scripted(["no number", "7"], record=False),
        output_type=int,
        limits=UsageLimits(model_calls=1),
    )
    with World(agent) as world:
        process = world.open()
        end = process.do(process.runtime.run(agent, "go"))
        expect_over(end, "model_calls: 1 used of 1, and the run needs another model call")
