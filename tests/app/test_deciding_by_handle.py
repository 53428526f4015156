"""Decisions through the handle of a run: of what that handle has given, and of nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import (
    Agent,
    AlreadyDecided,
    Cancelled,
    Completed,
    Decision,
    Execution,
    InvalidArguments,
    NeedsResolution,
    NotSuspended,
    Rejected,
    Rest,
    RuntimeClosed,
    StaleRequest,
    StaleRevision,
    Suspended,
    UnknownSubject,
    Verdict,
    call,
    calls,
    scripted,
    sync,
    tool,
)
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


def payer() -> Agent:
    answers = [call("pay", cents=1), call("pay", cents=2), "both paid"]
    return Agent(name="payer", model=scripted(answers, record=False), tools=[pay])


async def awaited(execution: Execution[Any]) -> Rest[Any]:
    return await execution


def test_a_handle_decides_one_request_after_the_other_as_it_gives_them() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        first = process.do(awaited(execution))
        second = process.do(execution.decide(approve=True))
        assert isinstance(first, Suspended)
        assert isinstance(second, Suspended)
        assert first.request.id != second.request.id
        assert isinstance(process.do(execution.decide(approve=True)), Completed)
        assert world.witness.effects == {"pay": 2}


def test_a_handle_that_has_given_no_request_decides_nothing() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        execution = process.do(process.runtime.execution(rest.execution_id))
        with pytest.raises(InvalidArguments, match="has given no request yet, and nothing is decided unseen; await it"):
            process.do(execution.decide(approve=True))
        assert world.witness.effects == {}


@pytest.mark.parametrize("by", ["id", "request"])
def test_a_request_that_is_named_is_decided(by: str) -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        execution = process.do(process.runtime.execution(rest.execution_id))
        named = rest.request if by == "request" else rest.request.id
        assert isinstance(process.do(execution.decide(approve=False, message="no", request=named)), Rejected)


def test_what_waits_by_now_is_not_decided_with_what_was_seen() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        first = process.do(awaited(execution))
        assert isinstance(first, Suspended)
        second = process.do(process.runtime.decide(first.request.id, approve=True))
        assert isinstance(second, Suspended)
        with pytest.raises(AlreadyDecided):
            process.do(execution.decide(approve=False))
        assert process.do(execution.decide(approve=True)) == second  # the same again: no second payment
        assert world.witness.effects == {"pay": 1}


def test_the_request_of_another_run_is_refused() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        mine = process.do(process.runtime.start(agent, "go"))
        other = process.do(process.runtime.run(agent, "go", agent_id="other"))
        assert isinstance(other, Suspended)
        with pytest.raises(InvalidArguments, match=f"is one of execution {other.execution_id}, not of {mine.id}"):
            process.do(mine.decide(approve=True, request=other.request))
        with pytest.raises(StaleRequest):
            process.do(mine.decide(approve=True, request="request-of-nobody"))
        with pytest.raises(InvalidArguments, match="request=5 is no request"):
            process.do(mine.decide(approve=True, request=5))  # type: ignore[arg-type]
        assert world.witness.effects == {}


def test_items_are_decided_one_by_one() -> None:
    answers = [calls(call("pay", cents=1), call("pay", cents=2)), "paid"]
    agent = Agent(name="payer", model=scripted(answers, record=False), tools=[pay], on_rejection="continue")
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        process.do(awaited(execution))
        rest = process.do(execution.decide(items={"c1": False}, message="too much"))
        assert isinstance(rest, Suspended)
        assert rest.undecided == ("c2",)
        edited = Decision("c2", Verdict.APPROVED, edit={"cents": 5})
        assert isinstance(process.do(execution.decide(items={"c2": edited})), Completed)
        assert world.witness.effects == {"pay": 1}


def test_after_the_end_there_is_nothing_to_decide_and_after_closing_nobody_who_does() -> None:
    agent = payer()
    with sync.Runtime("memory://", [agent]) as runtime:
        execution = runtime.start(agent, "go")
        with pytest.raises(InvalidArguments, match="has given no request yet"):
            execution.decide(approve=True)
        rest = execution.wait()
        assert isinstance(rest, Suspended)
        assert isinstance(execution.decide(approve=False, message="no"), Rejected)
        assert isinstance(execution.decide(approve=False, message="no"), Rejected)
        with pytest.raises((NotSuspended, AlreadyDecided)):
            execution.decide(approve=True)
    with pytest.raises(RuntimeClosed):
        execution.decide(approve=False, message="no")


@tool
def charge(cents: int) -> str:
    """Charge."""
    return f"charged {cents}"


def test_a_handle_resolves_what_became_of_its_call_and_then_decides_what_that_led_to() -> None:
    answers = [call("charge", cents=1), call("pay", cents=2), "both"]
    agent = Agent(name="payer", model=scripted(answers, record=False), tools=[charge, pay])
    with World(agent, faults=[Fault("tool:charge#1", "crash_during_effect")]) as world:
        process = world.open()
        process.begin(process.runtime.run(agent, "go", id="r1"))
        world.settle()
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go", id="r1"))
        rest = process.do(awaited(execution))
        assert isinstance(rest, NeedsResolution)
        (asked,) = rest.unresolved
        with pytest.raises(UnknownSubject):
            process.do(execution.resolve("c9", "not_performed"))
        with pytest.raises(StaleRevision):
            process.do(execution.resolve(asked.subject, "succeeded", result="charged", revision=rest.revision - 1))
        led = process.do(
            execution.resolve(asked.subject, "succeeded", result="charged by hand", revision=rest.revision)
        )
        assert isinstance(led, Suspended)
        assert isinstance(process.do(execution.decide(approve=True)), Completed)
        with pytest.raises(UnknownSubject):
            process.do(execution.resolve(asked.subject, "failed", error="no"))


def test_a_handle_cancels_its_run_and_no_other() -> None:
    agent = payer()
    with World(agent) as world:
        process = world.open()
        runs = [process.do(process.runtime.start(agent, "go", agent_id=name)) for name in ("ann", "ben")]
        for run in runs:
            assert isinstance(process.do(awaited(run)), Suspended)
        for _ in range(2):
            process.do(runs[0].cancel())
            assert isinstance(process.do(runs[0].terminal()), Cancelled)
        assert isinstance(process.do(runs[1].decide(approve=False)), Rejected)
        process.do(runs[1].cancel())
        assert isinstance(process.do(runs[1].terminal()), Rejected)
        assert world.witness.effects == {}


def test_a_blocking_handle_cancels_and_resolves_and_after_closing_it_does_neither() -> None:
    agent = payer()
    with sync.Runtime("memory://", [agent]) as runtime:
        execution = runtime.start(agent, "go")
        assert isinstance(execution.wait(), Suspended)
        with pytest.raises(UnknownSubject):
            execution.resolve("c1", "failed", error="no")
        execution.cancel()
        assert isinstance(execution.terminal(), Cancelled)
    with pytest.raises(RuntimeClosed):
        execution.cancel()
    with pytest.raises(RuntimeClosed):
        execution.resolve("c1", "failed", error="no")
