"""Two processes, one store: one owner at a time, and who was taken over writes, starts and settles nothing more."""

from __future__ import annotations

import asyncio

import pytest

from execution.programs import clerk, run
from pawl import (
    Agent,
    AgentBusy,
    AlreadyDecided,
    Cancelled,
    Completed,
    Rejected,
    Rest,
    Superseded,
    Suspended,
    call,
    calls,
    scripted,
    tool,
)
from pawl.runtime.execution import watch
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World

CLERK = clerk()
with World(CLERK) as undisturbed:
    EXPECTED, _ = run(undisturbed, CLERK)
    COUNTS = undisturbed.faults.counts

RESTS = {"done", "error", "timeout", "cancelled", "approval_required", "recovery_resolution_required"}
OWNED = [
    f"{barrier}#{n}"
    for barrier, last in COUNTS.items()
    if barrier in ("provider_dispatch", "tool_dispatch", "tool_outcome")
    for n in range(1, last + 1)
]


def sleeping(world: World, at: str, do: str) -> tuple[asyncio.Task[Rest], Client]:
    """A process that falls asleep at `at`, and is taken over by another when its lease has run out."""
    world.fault(at, do)
    first = world.open()
    client = Client(world, CLERK)
    call = first.begin(client._step(first))
    while not world.held(at):
        world.settle()
        world.advance(1)
    world.pause(first)
    world.advance(31)
    return call, client


@pytest.mark.parametrize("do", ["hold", "hold_reply"])
@pytest.mark.parametrize("at", OWNED)
def test_a_process_that_slept_through_its_lease_does_nothing_more_for_what_was_taken_over(at: str, do: str) -> None:
    with World(CLERK) as world:
        call, _ = sleeping(world, at, do)
        first = world.processes[0]
        taken_over_at = world.now
        second = Client(world, CLERK)
        assert isinstance(second.see_through(), Completed)
        entered, told = len(world.witness.entries), len(first.events)
        journal, kinds = world.journal("clerk"), world.kinds("clerk")
        world.unpause(first)
        world.release(at)
        world.advance(100)
        with pytest.raises(Superseded):
            world.wait(call)
        assert len(world.witness.entries) == entered
        assert not [entry for entry in world.witness.entries if entry.process == "p1-" and entry.at >= taken_over_at]
        assert not RESTS & {str(event.kind) for event in first.events[told:]}
        assert world.journal("clerk") == journal
        assert kinds.count("execution_completed") == 1
        assert first.runtime._host.keeper.executing == ()


@pytest.mark.parametrize("at", ["tool:add#1", "tool:pay#1"])
def test_a_call_that_had_not_begun_when_its_process_fell_asleep_never_begins(at: str) -> None:
    with World(CLERK) as world:
        call, _ = sleeping(world, at, "hold")
        first = world.processes[0]
        taken_over_at = world.now
        assert isinstance(Client(world, CLERK).see_through(), Completed)
        requests = len(world.witness.requests)
        world.unpause(first)
        world.release(at)
        world.advance(100)
        with pytest.raises(Superseded):
            world.wait(call)
        assert len(world.witness.requests) == requests
        assert not [entry for entry in world.witness.entries if entry.process == "p1-" and entry.at >= taken_over_at]


@pytest.mark.parametrize("asleep", [True, False], ids=["while it sleeps", "before it sleeps"])
@pytest.mark.parametrize("jump", [-3 * 3600, 3 * 3600])
@pytest.mark.parametrize("at", ["tool:add#1", "tool:pay#1"])
def test_a_call_that_had_not_begun_never_begins_though_the_clock_of_its_process_was_set(
    at: str, jump: float, asleep: bool
) -> None:
    with World(CLERK) as world:
        world.fault(at, "hold")
        first = world.open()
        client = Client(world, CLERK)
        call = first.begin(client._step(first))
        while not world.held(at):
            world.settle()
            world.advance(1)
        environment = first.environment
        right = environment.now
        if asleep:
            world.pause(first)
        environment.now = lambda: right() + jump  # type: ignore[method-assign]
        if not asleep:
            world.advance(15)  # it renews its lease by that clock
            world.pause(first)
        world.advance(31 + max(0, jump))
        taken_over_at = world.now
        assert isinstance(Client(world, CLERK).see_through(), Completed)
        requests = len(world.witness.requests)
        world.release(at)  # it comes before the renewal that is due
        world.unpause(first)
        world.advance(100)
        with pytest.raises(Superseded):
            world.wait(call)
        assert len(world.witness.requests) == requests
        assert not [entry for entry in world.witness.entries if entry.process == "p1-" and entry.at >= taken_over_at]


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


@tool(approval=True)
def mail(to: str) -> str:
    """Mail."""
    return f"mailed {to}"


def payer(**options: object) -> Agent:
    script = [calls(call("pay", cents=5), call("mail", to="x")), "done"]
    return Agent(name="payer", model=scripted(script, record=False), tools=[pay, mail], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", ["model#1", "model#2", "tool:slow#1"])
def test_an_answer_that_comes_after_the_takeover_is_recorded_by_nobody(at: str) -> None:
    with World(CLERK) as world:
        call, _ = sleeping(world, at, "hold")
        first = world.processes[0]
        assert isinstance(Client(world, CLERK).see_through(), Completed)
        journal = world.journal("clerk")
        world.unpause(first)
        world.release(at)
        world.advance(100)
        with pytest.raises(Superseded):
            world.wait(call)
        assert world.journal("clerk") == journal


def test_an_agent_that_runs_elsewhere_is_busy_here() -> None:
    with World(CLERK) as world:
        first, second = world.open(), world.open()
        world.fault("model#1", "hold")
        execution = first.do(first.runtime.start(CLERK, "go"))
        with pytest.raises(AgentBusy) as busy:
            second.do(second.runtime.start(CLERK, "more"))
        assert busy.value.execution_id == execution.id
        assert busy.value.owner == first.owner
        same = second.do(second.runtime.execution(execution.id))
        waiting = second.begin(same)
        world.release("model#1")
        rest = world.wait(waiting)
        assert isinstance(rest, Suspended)
        assert rest == first.do(execution)


@pytest.mark.parametrize("at", ["provider_dispatch#1", "model#1", "tool:slow#1", "outcome#1"])
def test_who_is_turned_away_has_begun_and_written_nothing(at: str) -> None:
    with World(CLERK) as world:
        client = Client(world, CLERK)
        world.fault(at, "hold")
        first = world.open()
        call = first.begin(client._step(first))
        while not world.held(at):
            world.settle()
            world.advance(1)
        second = world.open()
        before = (world.root("clerk"), world.journal("clerk"), len(world.witness.entries), len(world.witness.requests))
        for _ in range(3):
            with pytest.raises(AgentBusy):
                second.do(second.runtime.start(CLERK, "more"))
            world.advance(1)
        after = (world.root("clerk"), world.journal("clerk"), len(world.witness.entries), len(world.witness.requests))
        assert after == before
        assert len(second.do(second.runtime.executions("clerk"))) == 1
        world.release(at)
        assert isinstance(world.wait(call), Completed)


def test_nobody_is_taken_over_while_it_renews_its_lease() -> None:
    with World(CLERK) as world:
        first, second = world.open(), world.open()
        world.fault("model#1", "hold")
        first.do(first.runtime.start(CLERK, "go"))
        world.advance(300)
        assert world.root("clerk").owner == first.owner
        assert second.runtime._host.keeper.executing == ()


def test_the_work_of_a_dead_process_is_taken_over_at_the_next_look() -> None:
    with World(CLERK, faults=[Fault("model#1", "hold")]) as world:
        first, second = world.open(), world.open()
        execution = first.do(first.runtime.start(CLERK, "go"))
        world.settle()
        world.lose(first)
        world.advance(1.1)
        assert isinstance(second.do(second.do(second.runtime.execution(execution.id))), Suspended)
        assert world.clock.time < 3


def test_the_work_of_a_lost_machine_is_taken_over_when_its_lease_has_run_out() -> None:
    with World(CLERK, faults=[Fault("model#1", "hold")]) as world:
        first, second = world.open(), world.open()
        execution = first.do(first.runtime.start(CLERK, "go"))
        world.settle()
        world.lose(first, host=True)
        world.advance(28)
        assert world.witness.model_calls == {}
        world.advance(3)
        assert world.witness.model_calls == {"clerk": 1}
        assert isinstance(second.do(second.do(second.runtime.execution(execution.id))), Suspended)


def test_a_run_that_is_at_rest_is_decided_in_any_process_and_goes_on_there() -> None:
    agent = payer()
    with World(agent) as world:
        first, second = world.open(), world.open()
        execution = first.do(first.runtime.start(agent, "go"))
        rest = first.do(execution)
        assert isinstance(rest, Suspended)
        assert world.root("payer").owner is None
        end = first.begin(execution.terminal())
        assert isinstance(second.do(second.runtime.decide(rest.request.id, approve=True)), Completed)
        assert {entry.process for entry in world.witness.entries} == {"p2-"}
        assert isinstance(world.wait(end), Completed)
        assert first.do(execution) == rest  # a handle gives the rest that it came to first, for ever


@pytest.mark.parametrize("seed", range(8))
def test_two_people_deciding_two_items_in_two_processes_at_once_are_both_heard(seed: int) -> None:
    agent = payer()
    with World(agent, shuffle=True, seed=seed) as world:
        first, second = world.open(), world.open()
        rest = first.do(first.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        one = first.begin(first.runtime.decide(rest.request.id, items={"c1": True}))
        two = second.begin(second.runtime.decide(rest.request.id, items={"c2": True}))
        world.wait(one)
        world.wait(two)
        end = first.do(first.do(first.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Completed)
        assert world.witness.effects == {"pay": 1, "mail": 1}
        receipts = first.do(first.runtime.receipts(rest.request.id))
        assert {receipt.decision.tool_call_id for receipt in receipts} == {"c1", "c2"}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("processes", [1, 2])
def test_of_two_people_who_disagree_one_is_told_that_it_was_decided(seed: int, processes: int) -> None:
    agent = payer()
    with World(agent, shuffle=True, seed=seed) as world:
        first = world.open()
        second = world.open() if processes == 2 else first
        rest = first.do(first.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        one = first.begin(first.runtime.decide(rest.request.id, approve=True))
        two = second.begin(second.runtime.decide(rest.request.id, approve=False))
        outcomes: list[object] = []
        for waiting in (one, two):
            try:
                outcomes.append(world.wait(waiting))
            except AlreadyDecided as error:
                outcomes.append(error)
        assert sum(isinstance(outcome, AlreadyDecided) for outcome in outcomes) == 1
        end = first.do(first.do(first.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Completed if world.witness.effects else Rejected)


def test_a_cancellation_reaches_a_run_in_another_process_at_its_next_look() -> None:
    with World(CLERK, faults=[Fault("model#1", "hold")]) as world:
        first, second = world.open(), world.open()
        execution = first.do(first.runtime.start(CLERK, "go"))
        second.do(second.runtime.cancel(execution.id))
        assert world.record(execution.id).status == "active"
        assert isinstance(first.do(execution), Cancelled)
        assert world.clock.time < 2


def test_a_process_without_the_code_takes_decisions_and_the_host_goes_on() -> None:
    agent = payer()
    other = Agent(name="other", model=scripted(["hello"]))
    with World(agent) as world:
        host = world.open()
        rest = host.do(host.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        desk = world.open(other)
        deciding = desk.begin(desk.runtime.decide(rest.request.id, approve=True))
        assert isinstance(world.wait(deciding), Completed)
        assert {entry.process for entry in world.witness.entries} == {"p1-"}


def test_without_any_host_a_decision_is_kept_until_one_comes() -> None:
    agent = payer()
    other = Agent(name="other", model=scripted(["hello"]))
    with World(agent) as world:
        host = world.open()
        rest = host.do(host.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        host.close()
        desk = world.open(other)
        receipts = desk.do(desk.runtime.record_decision(rest.request.id, approve=True))
        assert [receipt.decision.tool_call_id for receipt in receipts] == ["c1", "c2"]
        assert desk.do(desk.runtime.record_decision(rest.request.id, approve=True)) == receipts
        assert desk.do(desk.runtime.result(rest.execution_id)) is None
        assert [record.execution_id for record in desk.do(desk.runtime.unclaimed())] == [rest.execution_id]
        host = world.open()
        end = host.do(host.do(host.runtime.execution(rest.execution_id)).terminal())
        assert isinstance(end, Completed)
        assert world.witness.effects == {"pay": 1, "mail": 1}


@pytest.mark.parametrize("at", ["suspension#1", "approval#1"])
def test_a_run_that_is_cancelled_elsewhere_in_the_moment_in_which_it_is_let_go_does_not_wait_on(at: str) -> None:
    agent = payer()
    with World(agent) as world:
        host, desk = world.open(), world.open(Agent(name="other", model=scripted(["hello"])))
        execution = host.do(host.runtime.start(agent, "go"))
        if at == "approval#1":
            rest = host.do(execution)
            assert isinstance(rest, Suspended)
            world.fault(at, "hold")
            host.begin(host.runtime.decide(rest.request.id, items={"c1": True}))
        else:
            world.fault(at, "hold")
        world.settle()
        assert world.held(at)
        desk.do(desk.runtime.cancel(execution.id))
        world.release(at)
        world.advance(5)
        assert world.record(execution.id).status == "cancelled"
        assert world.witness.effects == {}


def test_without_any_host_a_cancellation_is_kept_until_one_comes() -> None:
    agent = payer()
    with World(agent) as world:
        host = world.open()
        rest = host.do(host.runtime.run(agent, "go"))
        host.close()
        desk = world.open(Agent(name="other", model=scripted(["hello"])))
        desk.do(desk.runtime.cancel(rest.execution_id))
        assert world.record(rest.execution_id).status == "suspended"
        host = world.open()
        assert isinstance(host.do(host.do(host.runtime.execution(rest.execution_id))), Cancelled)
        assert world.witness.effects == {}


def test_a_process_that_starts_does_not_wait_until_all_that_waits_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_AT_ONCE", 1)
    agent = payer()
    with World(agent) as world:
        first = world.open()
        for number in range(3):
            first.do(first.runtime.run(agent, "go", agent_id=f"agent {number}"))
        world.fault("take_over#2", "hold")
        second = world.open()
        assert isinstance(second.do(second.runtime.run(agent, "go", agent_id="another")), Suspended)
        world.settle()
        assert world.held("take_over#2")
        world.release("take_over#2")
        world.settle()
        told = [event.agent_id for event in second.events if event.kind == "approval_required"]
        assert sorted(told) == ["agent 0", "agent 1", "agent 2", "another"]


def test_what_was_adopted_at_the_start_is_announced_once() -> None:
    agent = payer()
    with World(agent, faults=[Fault("suspension#1", "crash_before_commit")]) as world:
        first = world.open()
        first.begin(first.runtime.run(agent, "go", agent_id="lost"))
        world.settle()
        second = world.open()
        world.settle()
        assert [event.kind for event in second.events].count("approval_required") == 1


def test_a_process_that_starts_announces_what_waits_and_turns_nobody_away() -> None:
    agent = payer()
    with World(agent) as world:
        first = world.open()
        rest = first.do(first.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        world.fault("take_over#1", "hold_reply")
        opening = world.begin_open()
        world.settle()
        assert world.held("take_over#1")
        deciding = first.begin(first.runtime.decide(rest.request.id, approve=True))
        world.advance(0.2)
        world.release("take_over#1")
        assert isinstance(world.wait(deciding), Completed)
        second = world.opened(*opening)
        assert [event.kind for event in second.events] == ["approval_required"]
        assert second.events[0].data["request"]["id"] == rest.request.id


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_that_claims_the_run_after_the_same_item_was_decided_elsewhere_is_no_second_one(
    approve: bool,
) -> None:
    agent = payer()
    with World(agent, faults=[Fault("take_over#1", "hold")]) as world:
        first, second = world.open(), world.open()
        rest = first.do(first.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        late = second.begin(second.runtime.decide(rest.request.id, items={"c1": approve}))
        world.settle()
        still = first.do(first.runtime.decide(rest.request.id, items={"c1": True}))
        assert isinstance(still, Suspended)
        world.release("take_over#1")
        if approve:
            again = world.wait(late)
            assert isinstance(again, Suspended)
            assert again.revision == still.revision
        else:
            with pytest.raises(AlreadyDecided):
                world.wait(late)
        assert world.record(rest.execution_id).revision == still.revision
        assert world.kinds(rest.agent_id).count("approval_decided") == 1


def test_a_run_that_is_cancelled_while_a_decision_lets_it_go_unchanged_is_ended() -> None:
    agent = payer()
    with World(agent, faults=[Fault("take_over#1", "hold"), Fault("let_go#1", "hold")]) as world:
        first, second = world.open(), world.open()
        rest = first.do(first.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        late = second.begin(second.runtime.decide(rest.request.id, items={"c1": False}))
        world.settle()
        first.do(first.runtime.decide(rest.request.id, items={"c1": True}))
        world.release("take_over#1")
        world.settle()
        first.do(first.runtime.cancel(rest.execution_id))
        world.release("let_go#1")
        with pytest.raises(AlreadyDecided):
            world.wait(late)
        world.advance(5)
        assert world.record(rest.execution_id).status == "cancelled"


def test_a_run_that_is_cancelled_while_a_process_that_dies_brings_it_a_decision_is_ended() -> None:
    agent = payer()
    with World(agent, faults=[Fault("take_over#1", "hold_reply")]) as world:
        first, second = world.open(), world.open()
        rest = first.do(first.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        second.begin(second.runtime.decide(rest.request.id, approve=True))
        world.settle()
        first.do(first.runtime.cancel(rest.execution_id))
        assert world.record(rest.execution_id).status == "suspended"
        world.lose(second)
        world.advance(5)
        assert world.record(rest.execution_id).status == "cancelled"
