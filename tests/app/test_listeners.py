"""Listeners that are wrong: no run hangs because of them, and what cannot be one is refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pawl import (
    Agent,
    Completed,
    Event,
    Failed,
    InvalidArguments,
    Rest,
    Runtime,
    Suspended,
    call,
    scripted,
    sync,
    tool,
)
from pawl.runtime.execution.waiting import Waiting
from pawl.runtime.simulation.world import World

AGENT = Agent(name="talker", model=scripted(["one"], record=False))
AGENT2 = Agent(name="a", model=scripted(["done"] * 9, record=False))


@tool
def look() -> str:
    """Look."""
    return "seen"


@tool(approval=True)
def pay() -> str:
    """Approved."""
    return "paid"


CALLER = Agent(name="a", model=scripted([call("look"), "done"], record=False), tools=[look])
PAYER = Agent(name="p", model=scripted([call("pay"), "done"], record=False), tools=[pay])


class Odd(BaseException):
    """No Exception."""


def cancelled(event: Event) -> None:
    raise asyncio.CancelledError


def odd(event: Event) -> None:
    raise Odd


@pytest.mark.parametrize("listener", [cancelled, odd])
@pytest.mark.parametrize(("how", "kind"), [("report", Completed), ("fail", Completed | Failed)])
def test_a_listener_may_raise_what_is_no_exception_and_the_run_still_settles(
    listener: Callable[[Event], None], how: Any, kind: Any
) -> None:
    async def run() -> tuple[Rest, int]:
        async with Runtime("memory://", [AGENT], on_event=listener, on_listener_error=how) as runtime:
            rest = await asyncio.wait_for(runtime.run(AGENT, "go"), 20)
            return rest, runtime.stats().listener_failures

    rest, failures = asyncio.run(run())
    assert isinstance(rest, kind)
    assert failures == 1


async def waits(event: Event) -> None:
    """A coroutine function: nobody would await what it returns."""


@pytest.mark.parametrize("listener", [waits, "a name", 7])
def test_what_cannot_be_a_listener_is_refused(listener: Any) -> None:
    with pytest.raises(InvalidArguments, match="plain function of an Event"):
        Runtime("memory://", [AGENT], on_event=listener)


# adding and taking away -----------------------------------------------------------------------------------------------


def test_a_listener_can_be_added_and_taken_away_while_runs_go_on() -> None:
    with World(AGENT2) as world:
        process = world.open()
        heard: list[str] = []

        def listener(event: Event) -> None:
            heard.append(str(event.kind))

        remove = process.runtime.add_listener(listener)
        process.do(process.runtime.run(AGENT2, "go"))
        remove()
        remove()
        process.do(process.runtime.run(AGENT2, "go"))
        assert heard == ["done"]
        process.runtime.add_listener(listener)
        process.do(process.runtime.run(AGENT2, "go"))
        process.runtime.remove_listener(listener)
        process.do(process.runtime.run(AGENT2, "go"))
        assert heard == ["done", "done"]
        assert len(process.events) == 4


def test_a_listener_that_another_has_taken_away_hears_nothing_more() -> None:
    with World(AGENT2) as world:
        process = world.open()
        heard: list[Event] = []
        process.runtime.add_listener(lambda event: process.runtime.remove_listener(heard.append))
        process.runtime.add_listener(heard.append)
        process.do(process.runtime.run(AGENT2, "go"))
        assert heard == []


def test_a_listener_may_take_itself_away_and_the_others_still_hear() -> None:
    with World(AGENT2) as world:
        process = world.open()
        heard: list[str] = []

        def once(event: Event) -> None:
            heard.append("once")
            process.runtime.remove_listener(once)

        process.runtime.add_listener(once)
        process.runtime.add_listener(lambda event: heard.append("other"))
        for _ in range(2):
            process.do(process.runtime.run(AGENT2, "go"))
        assert heard == ["once", "other", "other"]


@pytest.mark.parametrize("agent", [AGENT2, PAYER], ids=["ended", "suspended"])
def test_who_hears_of_a_rest_finds_the_agent_free(agent: Agent) -> None:
    with World(agent) as world:
        process = world.open()
        registry, seen = process.runtime._host.keeper.registry, []

        def listener(event: Event) -> None:
            if event.kind in ("done", "approval_required"):
                seen.append((registry.state(event.agent_id), world.root(event.agent_id).owner))

        process.runtime.add_listener(listener)
        process.do(process.runtime.run(agent, "go"))
        assert seen == [("vacant", None)]


@pytest.mark.parametrize("agent", [AGENT2, PAYER], ids=["ended", "suspended"])
def test_a_handle_settles_when_everybody_has_been_told(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    settle, told = Waiting.settle, list[list[str]]()

    def noted(waiting: Waiting, *said: Any) -> None:
        told.append([str(event.kind) for event in process.events])
        settle(waiting, *said)

    monkeypatch.setattr(Waiting, "settle", noted)
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        assert [kinds[-1:] for kinds in told] == [["done"] if agent is AGENT2 else ["approval_required"]]


def test_what_a_listener_makes_of_an_event_changes_no_record() -> None:
    def spoiler(event: Event) -> None:
        for value in event.data.values():
            if isinstance(value, dict):
                value.clear()
        event.data.clear()

    journals = []
    for listeners in ([], [spoiler]):
        with World(CALLER) as world:
            process = world.open()
            for listener in listeners:
                process.runtime.add_listener(listener)
            rest = process.do(process.runtime.run(CALLER, "go", agent_id="x"))
            (record,) = world.records()
            journals.append((rest, record, world.journal("x")))
    assert journals[0] == journals[1]


def test_a_listener_may_start_the_next_run() -> None:
    with World(AGENT2) as world:
        process = world.open()
        started: list[Any] = []

        def listener(event: Event) -> None:
            if not started:
                started.append(process.begin(process.runtime.start(AGENT2, "again")))

        process.runtime.add_listener(listener)
        process.do(process.runtime.run(AGENT2, "go"))
        assert isinstance(process.do(world.wait(started[0])), Completed)


def test_the_blocking_runtime_has_listeners_too() -> None:
    heard: list[str] = []
    with sync.Runtime("memory://", [AGENT2]) as runtime:
        remove = runtime.add_listener(lambda event: heard.append(str(event.kind)))
        runtime.run(AGENT2, "go")
        remove()
        runtime.run(AGENT2, "go")
    remove()
    assert heard == ["done"]


@pytest.mark.parametrize("policy", ["raise", "", None, 1])
def test_a_policy_that_does_not_exist_is_refused(policy: Any) -> None:
    with pytest.raises(InvalidArguments, match="on_listener_error="):
        Runtime("memory://", [AGENT], on_listener_error=policy)


# slow, odd, failing ---------------------------------------------------------------------------------------------------


def test_a_slow_listener_is_counted_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with World(AGENT2) as world:
        process = world.open()

        def slow(event: Event) -> None:
            world.clock.time += 0.5

        process.runtime.add_listener(slow)
        process.do(process.runtime.run(AGENT2, "go"))
        stats = process.runtime.stats()
        assert (stats.listener_slow, stats.listener_longest) == (1, pytest.approx(0.5))
        (said,) = [record.getMessage() for record in caplog.records if "held the loop" in record.getMessage()]
        assert "slow held the loop for 0.50 s at 'done'" in said


def test_a_quick_listener_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with World(AGENT2) as world:
        process = world.open()
        process.do(process.runtime.run(AGENT2, "go"))
        assert process.runtime.stats().listener_slow == 0
        assert caplog.records == []


def test_a_listener_that_somebody_would_have_to_await_is_found_out() -> None:
    async def later() -> None:
        raise AssertionError

    with World(AGENT2) as world:
        process = world.open()
        process.runtime.add_listener(lambda event: later())  # type: ignore[arg-type, return-value]
        assert isinstance(process.do(process.runtime.run(AGENT2, "go")), Completed)
        assert process.runtime.stats().listener_failures == 1


def deaf(event: Event) -> None:
    raise ValueError("no more")


@pytest.mark.parametrize("kind", ["tool_call", "tool_result"])
def test_with_fail_the_failure_is_on_record(kind: str) -> None:
    def listener(event: Event) -> None:
        if event.kind == kind:
            deaf(event)

    with World(CALLER) as world:
        process = world.open(on_event=listener, on_listener_error="fail")
        end = process.do(process.runtime.run(CALLER, "go"))
        assert isinstance(end, Failed)
        assert end.error.type == "ListenerFailed"
        assert end.error.message == f"a listener raised at '{kind}': ValueError: no more"
        record = world.records()[0]
        assert (record.status, record.error) == ("failed", end.error)
        assert len(world.witness.requests) == 1  # no model is asked after it


def test_with_fail_a_rest_and_an_end_stand() -> None:
    with World(PAYER) as world:
        process = world.open(on_listener_error="fail")
        for kind in ("approval_required", "done"):
            process.runtime.add_listener(lambda event, kind=kind: deaf(event) if event.kind == kind else None)  # type: ignore[misc]
        rest = process.do(process.runtime.run(PAYER, "go"))
        assert isinstance(rest, Suspended)
        end = process.do(process.runtime.decide(rest.request.id, approve=True))
        assert isinstance(end, Completed)
        assert process.runtime.stats().listener_failures == 2
