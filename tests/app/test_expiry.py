"""Requests that expire: nothing is alive while they wait, so who looks next ends the run, and who decides too late is
refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pawl import (
    Agent,
    AlreadyDecided,
    Cancelled,
    Completed,
    Failed,
    InvalidArguments,
    RequestExpired,
    StaleRequest,
    Suspended,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.simulation.clock import EPOCH
from pawl.runtime.simulation.faults import BARRIERS, Fault
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import World
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore


@tool(approval=True)
def pay(cents: int) -> str:
    """Approved."""
    return f"paid {cents}"


def payer(*answers: Any, **options: Any) -> Agent:
    script = answers or (call("pay", cents=5), "done")
    options = {"approval_timeout": 60.0, **options}
    return Agent(name="a", model=scripted(script, record=False), tools=[pay], **options)


AGENT = payer()
OTHER = Agent(name="other", model=scripted([], record=False))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore(inline=True)
    else:
        yield SqliteStore(tmp_path / "runs.db", "NORMAL", inline=True)


def suspended(process: Process, agent: Agent = AGENT) -> Suspended:
    rest = process.do(process.runtime.run(agent, "go", id="r1"))
    assert isinstance(rest, Suspended)
    return rest


def outcome(process: Process, rest: Suspended) -> Any:
    return process.do(process.do(process.runtime.execution(rest.execution_id)))


def expect_expired(end: object) -> None:
    assert isinstance(end, Failed)
    assert (end.error.type, end.error.message) == (
        "DeadlineExceeded",
        "nobody decided in time: the request expired (approval_timeout)",
    )


def test_a_request_says_until_when_it_can_be_decided(store: Store) -> None:
    with World(AGENT, store=store) as world:
        process = world.open()
        assert suspended(process).request.expires_at == EPOCH + 60
        assert process.events[-1].data["request"]["expires_at"] == EPOCH + 60


def test_without_a_timeout_a_request_never_expires() -> None:
    agent = payer(approval_timeout=None)
    with World(agent) as world:
        process = world.open()
        rest = suspended(process, agent)
        assert rest.request.expires_at is None
        world.advance(10_000)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)


def test_a_request_that_nobody_decides_ends_the_run_at_the_next_look(store: Store) -> None:
    with World(AGENT, store=store) as world:
        process = world.open()
        rest = suspended(process)
        world.advance(59)
        assert world.records()[0].status == "suspended"
        world.advance(3)
        expect_expired(outcome(process, rest))
        assert [str(event.kind) for event in process.events] == ["tool_call", "approval_required", "timeout"]
        assert world.witness.effects == {}
        assert [str(row.status) for row in world.rows(rest.execution_id)] == ["cancelled"]
        assert world.root("a").owner is None


def test_a_host_that_starts_long_after_ends_it_without_announcing_it_again(store: Store) -> None:
    with World(AGENT, store=store) as world:
        process = world.open()
        rest = suspended(process)
        world.lose(process)
        world.advance(100_000)
        later = world.open()
        world.settle()
        expect_expired(outcome(later, rest))
        assert [str(event.kind) for event in later.events] == ["timeout"]


def test_a_host_that_starts_before_announces_it_and_ends_it_in_time() -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.lose(process)
        later = world.open()
        world.settle()
        assert [str(event.kind) for event in later.events] == ["approval_required"]
        world.advance(70)
        expect_expired(outcome(later, rest))


def test_two_hosts_race_for_it_and_one_ends_it(store: Store) -> None:
    with World(AGENT, store=store, shuffle=True) as world:
        first, second = world.open(), world.open()
        rest = suspended(first)
        world.advance(65)
        expect_expired(outcome(second, rest))
        told = [str(event.kind) for process in (first, second) for event in process.events]
        assert told.count("timeout") == 1
        assert world.kinds("a").count("execution_failed") == 1


def test_who_decides_in_time_is_heard() -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.advance(59.5)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)
        world.advance(10)
        assert world.records()[0].status == "completed"


@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("code", ["with the code", "without the code"])
def test_who_decides_too_late_is_told_so_before_anybody_has_ended_the_run(approve: bool, code: str) -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.lose(process)
        decider = world.open(*([AGENT] if code == "with the code" else [OTHER]), poll_interval=0)
        world.settle()
        world.clock.time += 60
        with pytest.raises(RequestExpired, match=r"expired at 2027-.* UTC; it can not be decided any more"):
            decider.do(decider.runtime.decide(rest.request.id, approve=approve))
        with pytest.raises(StaleRequest, match="expired"):
            decider.do(decider.runtime.record_decision(rest.request.id, approve=approve))
        assert world.records()[0].status == "suspended"
        assert world.root("a").owner is None
        host = world.open()
        expect_expired(outcome(host, rest))


def test_who_decides_after_the_run_has_ended_is_told_so() -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.advance(70)
        with pytest.raises(StaleRequest):
            process.do(process.runtime.decide(rest.request.id, approve=True))


def test_the_same_decision_after_the_expiry_is_still_the_same() -> None:
    agent = payer(calls(call("pay", cents=5), call("pay", cents=6)), "done")
    with World(agent) as world:
        process = world.open(poll_interval=0)
        rest = suspended(process, agent)
        first, second = rest.undecided
        process.do(process.runtime.decide(rest.request.id, items={first: True}))
        world.clock.time += 100
        again = process.do(process.runtime.record_decision(rest.request.id, items={first: True}))
        assert [receipt.decision.tool_call_id for receipt in again] == [first]
        with pytest.raises(AlreadyDecided):
            process.do(process.runtime.decide(rest.request.id, items={first: False}))
        with pytest.raises(RequestExpired):
            process.do(process.runtime.decide(rest.request.id, items={second: True}))


def test_a_request_that_is_decided_in_part_expires_all_the_same() -> None:
    agent = payer(calls(call("pay", cents=5), call("pay", cents=6)), "done")
    with World(agent) as world:
        process = world.open()
        rest = suspended(process, agent)
        world.advance(30)
        partly = process.do(process.runtime.decide(rest.request.id, items={rest.undecided[0]: True}))
        assert isinstance(partly, Suspended)
        assert partly.request.expires_at == EPOCH + 60
        world.advance(35)
        expect_expired(outcome(process, rest))
        assert world.witness.effects == {}


def test_a_decided_run_that_goes_on_late_does_not_expire() -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.lose(process)
        helper = world.open(OTHER)
        helper.do(helper.runtime.record_decision(rest.request.id, approve=True))
        world.advance(10_000)
        host = world.open()
        assert isinstance(outcome(host, rest), Completed)


def test_a_cancelled_run_is_cancelled_although_its_request_has_expired_since() -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.lose(process)
        helper = world.open(OTHER)
        helper.do(helper.runtime.cancel(rest.execution_id))
        world.advance(10_000)
        host = world.open()
        assert isinstance(outcome(host, rest), Cancelled)


def test_any_version_of_the_agent_ends_what_has_expired() -> None:
    with World(AGENT) as world:
        process = world.open()
        rest = suspended(process)
        world.lose(process)
        world.advance(100)
        newer = world.open(payer(version=2))
        expect_expired(outcome(newer, rest))
        assert list(newer.do(newer.runtime.unclaimed())) == []


def test_the_next_request_of_a_run_has_its_own_time() -> None:
    agent = payer(call("pay", cents=5), call("pay", cents=6), "done")
    with World(agent) as world:
        process = world.open()
        rest = suspended(process, agent)
        world.advance(50)
        second = process.do(process.runtime.decide(rest.request.id, approve=True))
        assert isinstance(second, Suspended)
        assert second.request.expires_at == pytest.approx(EPOCH + 110)


def test_the_deadline_of_the_run_and_the_expiry_of_its_request_are_two_clocks() -> None:
    agent = payer(run_timeout=10)
    with World(agent) as world:
        process = world.open()
        rest = suspended(process, agent)
        world.advance(50)
        assert world.records()[0].time_left == 10
        world.advance(15)
        expect_expired(outcome(process, rest))


def test_an_expiry_far_away_is_no_trouble() -> None:
    agent = payer(approval_timeout=1e18)
    with World(agent) as world:
        process = world.open()
        rest = suspended(process, agent)
        assert rest.request.expires_at is not None
        assert math.isfinite(rest.request.expires_at)
        assert isinstance(process.do(process.runtime.decide(rest.request.id, approve=True)), Completed)


FAULTS = [
    Fault(address, do)  # type: ignore[arg-type]
    for address in ("take_over#1", "outcome#1")
    for do in ("crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back",
               "unavailable", "superseded" if address in BARRIERS else "unavailable")
] + [Fault("outcome#1", "unreadable")]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.at}-{fault.do}")
def test_whatever_happens_while_it_is_ended_it_ends_so_once(fault: Fault, store: Store) -> None:
    with World(AGENT, store=store) as world:
        process = world.open()
        rest = suspended(process)
        world.faults.counts.clear()
        world.faults.add(fault)
        world.advance(70)
        assert not world.faults.unmet
        host = world.open()
        world.advance(60)
        expect_expired(outcome(host, rest))
        assert world.kinds("a").count("execution_failed") == 1
        assert world.witness.effects == {}
        assert world.root("a").owner is None


@tool(approval=True, approval_timeout=10)
def hurry(cents: int) -> str:
    """Approved soon, or not at all."""
    return f"paid {cents}"


@pytest.mark.parametrize(
    ("asked", "of_agent", "expires"),
    [
        (["hurry"], None, 10),
        (["hurry"], 60, 10),
        (["hurry"], 5, 10),
        (["pay"], 60, 60),
        (["pay"], None, None),
        (["pay", "hurry"], 60, 10),
        (["pay", "hurry"], 5, 5),
        (["pay", "hurry"], None, 10),
    ],
)
def test_a_tool_may_have_a_time_of_its_own_and_the_first_takes_the_request_along(
    asked: list[str], of_agent: float | None, expires: float | None
) -> None:
    script = [calls(*(call(name, cents=1) for name in asked)), "done"]
    agent = Agent(name="a", model=scripted(script, record=False), tools=[pay, hurry], approval_timeout=of_agent)
    with World(agent) as world:
        process = world.open()
        rest = suspended(process, agent)
        assert rest.request.expires_at == (None if expires is None else EPOCH + expires)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "60", True])
def test_a_time_of_a_tool_that_makes_no_sense_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArguments, match="tool f: approval_timeout="):

        @tool(approval_timeout=value)
        def f() -> None:
            """F."""
