"""Runs that another version of the machine has written: they go on, are led elsewhere, or are left alone, untouched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pawl import (
    Agent,
    Cancelled,
    Completed,
    ModelAnswer,
    NeedsResolution,
    OutcomeUnknown,
    SpecMismatch,
    Suspended,
    call,
    scripted,
    tool,
)
from pawl.generated.agent_invocation import MACHINE, State
from pawl.runtime.execution.output import ended
from pawl.runtime.fsm.table import Migration
from pawl.runtime.records import evolution
from pawl.runtime.records.errors import NotSuspended
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.world import World
from pawl.runtime.store.port import Transaction

OLD = "0d" * 32
SUSPENDED = State.SUSPENDED
UNRESOLVED = State.AWAITING_RESOLUTION


@tool(approval=True)
def pay(cents: int) -> str:
    """Pay; nobody knows whether it was done."""
    return f"paid {cents}"


@tool
def ask(text: str) -> str:
    """Asked about when its process is lost."""
    return f"asked {text}"


def clerk(**options: Any) -> Agent:
    script = [call("pay", cents=5), call("ask", text="x"), ModelAnswer("done")]
    return Agent(name="clerk", model=scripted(script, record=False), tools=[pay, ask], **options)


CLERK = clerk()
DESK = Agent(name="desk", model=scripted(["x"]))
"""An agent whose process has no code of the clerk."""


def speaks(monkeypatch: pytest.MonkeyPatch, *migrations: Migration[State]) -> None:
    """From now on the spec of this version says so."""
    monkeypatch.setattr(evolution, "MACHINE", attrs.evolve(MACHINE, migrations=migrations))


def age(world: World, spec_hash: str = OLD) -> None:
    """Every open run was written under another spec."""

    def run(tx: Transaction) -> None:
        for record, awaiting in tx.executions.list(open_only=True):
            assert tx.executions.save(replace(record, spec_hash=spec_hash), record.revision, awaiting)

    said: list[object] = []
    world.store.submit(run, said.append)
    assert type(said[0]).__name__ == "Committed", said


def on_disk(world: World) -> list[Any]:
    """Everything that is on record, but for stops."""

    def read(tx: Transaction) -> list[Any]:
        return [
            (record, awaiting, tx.tools.of_execution(record.execution_id), tx.journal.read(record.agent_id, 0),
             tx.agents.get(record.agent_id))
            for record, awaiting in tx.executions.list()
        ]  # fmt: skip

    return world.store.read(read)


def one(world: World) -> tuple[ExecutionRecord, Awaiting | None]:
    return world.store.read(lambda tx: tx.executions.list()[0])


def suspended(world: World) -> Suspended:
    """A run that waits for a decision, written by another version, whose process has ended."""
    process = world.open()
    rest = process.do(process.runtime.run(CLERK, "go", id="r1"))
    process.close()
    assert isinstance(rest, Suspended)
    age(world)
    return rest


def unresolved(world: World) -> NeedsResolution:
    """A run that waits for an answer about a tool, written by another version."""
    process = world.open()
    rest = process.do(process.runtime.run(CLERK, "go", id="r1"))
    assert isinstance(rest, Suspended)
    process.begin(process.runtime.decide(rest.request.id, approve=True))
    world.settle()
    assert not process.alive
    process = world.open()
    asked = process.do(process.runtime.run(CLERK, "go", id="r1"))
    assert isinstance(asked, NeedsResolution)
    process.close()
    age(world)
    return asked


LOST = Fault("tool_outcome#1", "crash_before_commit")


def answers(process: Process, rest: Suspended | NeedsResolution) -> list[Callable[[], Any]]:
    """Each way to go on with a run at rest."""
    runtime, name = process.runtime, rest.execution_id
    if isinstance(rest, Suspended):
        request = rest.request.id
        return [
            lambda: runtime.decide(request, approve=True),
            lambda: runtime.record_decision(request, approve=False),
        ]
    subject = rest.unresolved[0].subject
    return [
        lambda: runtime.resolve(name, subject, "not_performed"),
        lambda: runtime.record_resolution(name, subject, "succeeded", result="paid"),
    ]


# it goes on -----------------------------------------------------------------------------------------------------------

GOING_ON = {
    "compatible": Migration[State](OLD[:12], 1, compatible=True),
    "mapped": Migration(OLD, 1, states=(("suspended", SUSPENDED), ("awaiting_resolution", UNRESOLVED),
                                        ("deciding", State.RECOVERING))),
}  # fmt: skip


@pytest.mark.parametrize("way", GOING_ON)
def test_a_run_that_waits_for_a_decision_goes_on(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(CLERK) as world:
        rest = suspended(world)
        speaks(monkeypatch, GOING_ON[way])
        process = world.open()
        world.advance(60)
        assert one(world)[0].spec_hash == OLD  # until something of it is committed
        assert process.do(process.runtime.unclaimed()) == []
        assert process.do(process.runtime.why_unclaimed(rest.execution_id)) is None
        end = process.do(process.runtime.decide(rest.request.id, approve=True))

        assert isinstance(end, Completed)
        assert one(world)[0].spec_hash == MACHINE.spec_hash


@pytest.mark.parametrize("way", GOING_ON)
def test_a_run_that_waits_for_a_resolution_goes_on(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(CLERK, faults=[LOST]) as world:
        rest = unresolved(world)
        speaks(monkeypatch, GOING_ON[way])
        process = world.open()
        world.advance(60)
        assert one(world)[0].spec_hash == OLD
        end = process.do(process.runtime.resolve(rest.execution_id, rest.unresolved[0].subject, "not_performed"))

        assert isinstance(end, Completed)
        assert one(world)[0].spec_hash == MACHINE.spec_hash


@pytest.mark.parametrize("way", GOING_ON)
def test_an_answer_without_the_agent_s_code_is_this_version_s_from_then_on(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World(CLERK) as world:
        rest = suspended(world)
        speaks(monkeypatch, GOING_ON[way])
        desk = world.open(DESK)
        desk.do(desk.runtime.record_decision(rest.request.id, approve=True))
        assert one(world)[0].spec_hash == MACHINE.spec_hash
        desk.close()
        speaks(monkeypatch)  # nothing has to be said about it any more
        process = world.open()
        assert isinstance(process.do(process.do(process.runtime.execution(rest.execution_id)).terminal()), Completed)


@pytest.mark.parametrize("way", GOING_ON)
def test_a_run_that_goes_on_can_be_cancelled(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(CLERK) as world:
        rest = suspended(world)
        speaks(monkeypatch, GOING_ON[way])
        process = world.open()
        process.do(process.runtime.cancel(rest.execution_id))
        end = process.do(process.do(process.runtime.execution(rest.execution_id)).terminal())

        assert isinstance(end, Cancelled)
        assert one(world)[0].spec_hash == MACHINE.spec_hash


def test_a_run_that_has_waited_too_long_is_ended_by_a_version_that_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hasty = clerk(approval_timeout=10)
    for migrations, status in (((), "suspended"), ((GOING_ON["compatible"],), "failed")):
        with World(hasty) as world:
            process = world.open()
            process.do(process.runtime.run(hasty, "go"))
            process.close()
            age(world)
            speaks(monkeypatch, *migrations)
            world.open()
            world.advance(60)
            assert one(world)[0].status == status


def test_two_versions_one_after_the_other_hand_a_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash on record is always that of the version that committed last."""
    with World(CLERK) as world:
        rest = suspended(world)
        for step, name in enumerate(("1e" * 32, "2f" * 32)):
            before = one(world)[0].spec_hash
            newer = attrs.evolve(MACHINE, spec_hash=name, migrations=(Migration(before, step + 1, compatible=True),))
            monkeypatch.setattr(evolution, "MACHINE", newer)
            desk = world.open(DESK)
            if step == 0:
                desk.do(desk.runtime.record_decision(rest.request.id, approve=True))
                assert one(world)[0].spec_hash == name
            desk.close()
        process = world.open()
        assert isinstance(process.do(process.do(process.runtime.execution(rest.execution_id)).terminal()), Completed)
        assert one(world)[0].spec_hash == "2f" * 32


# it is left alone -----------------------------------------------------------------------------------------------------

LEFT = {
    "not named": (),
    "of another": (Migration[State]("ab" * 32, 1, compatible=True),),
    "refused": (Migration[State](OLD, 1, compatible=True, refuse=("suspended", "awaiting_resolution")),),
    "not among them": (Migration(OLD, 1, states=(("calling_llm", State.CALLING_LLM),)),),
    "led to another wait": (
        Migration(OLD, 1, states=(("suspended", UNRESOLVED), ("awaiting_resolution", SUSPENDED))),
    ),
    "led to work": (
        Migration(OLD, 1, states=(("suspended", State.RECOVERING), ("awaiting_resolution", State.RECOVERING))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", LEFT)
@pytest.mark.parametrize("waits", ["approval", "resolution"])
@pytest.mark.parametrize("code", [True, False], ids=["with code", "without code"])
def test_a_run_at_rest_that_is_not_taken_over_is_untouched(
    why: str, waits: str, code: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World(CLERK, faults=[LOST] if waits == "resolution" else []) as world:
        rest = suspended(world) if waits == "approval" else unresolved(world)
        speaks(monkeypatch, *LEFT[why])
        before = on_disk(world)
        process = world.open() if code else world.open(DESK)
        world.advance(60)
        for answer in answers(process, rest):
            with pytest.raises(SpecMismatch, match="finish it with the version that wrote it"):
                process.do(answer())
        world.advance(60)

        assert on_disk(world) == before
        assert [record.execution_id for record in process.do(process.runtime.unclaimed())] == [rest.execution_id]
        reason = process.do(process.runtime.why_unclaimed(rest.execution_id))
        assert reason is not None
        assert (OLD[:12] in reason) is code

        speaks(monkeypatch, GOING_ON["compatible"])  # the version that wrote it, for one, goes on
        process.close()
        process = world.open()
        assert isinstance(process.do(answers(process, rest)[0]()), Completed)


@pytest.mark.parametrize("why", ["not named", "refused", "not among them"])
def test_a_stop_of_a_run_that_is_not_taken_over_is_noted_and_nothing_else(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World(CLERK) as world:
        rest = suspended(world)
        speaks(monkeypatch, *LEFT[why])
        (before,) = on_disk(world)
        process = world.open()
        process.do(process.runtime.cancel(rest.execution_id))
        world.advance(60)

        (after,) = on_disk(world)
        assert (after[0], after[2:]) == (before[0], before[2:])
        speaks(monkeypatch, GOING_ON["compatible"])
        world.advance(60)
        assert one(world)[0].status == "cancelled"


# at every barrier -----------------------------------------------------------------------------------------------------

BARRIERS = ["admission#1", "provider_dispatch#1", "provider_dispatch#2", "suspension#1", "approval#1",
            "tool_dispatch#1", "tool_outcome#1", "tool_dispatch#2", "outcome#1"]  # fmt: skip


def lost(world: World) -> bool:
    """A run whose process was lost at the fault, written by another version. False where it had ended by then."""
    process = world.open()
    process.begin(process.runtime.run(CLERK, "go", id="r1"))
    world.settle()
    if process.alive:
        rest = process.do(process.runtime.run(CLERK, "go", id="r1"))
        assert isinstance(rest, Suspended)
        process.begin(process.runtime.decide(rest.request.id, approve=True))
        world.settle()
    assert not process.alive
    if not world.records():
        return False  # not even admitted
    age(world)
    return not ended(one(world)[0])


def to_the_end(world: World) -> ExecutionRecord:
    """What a version does with the run that goes on with it."""
    process = world.open()
    for _ in range(5):
        try:
            rest = process.do(process.runtime.run(CLERK, "go", id="r1"))
        except (NotSuspended, CallLost):
            continue
        if isinstance(rest, Completed):
            break
        assert isinstance(rest, Suspended | NeedsResolution)
        process.do(answers(process, rest)[0]())
    return one(world)[0]


@pytest.mark.parametrize("do", ["crash_before_commit", "crash_after_commit"])
@pytest.mark.parametrize("at", BARRIERS)
def test_a_run_on_its_way_is_untouched_or_goes_on_to_its_end(at: str, do: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(CLERK, faults=[Fault(at, do)]) as world:
        if not lost(world):
            return
        record, awaiting = one(world)
        stood = evolution.stands(record, awaiting)
        assert stood in MACHINE.state
        refuses = Migration[State](OLD, 1, compatible=True, refuse=(stood,))
        for migrations in ((), (refuses,)):
            speaks(monkeypatch, *migrations)
            before = on_disk(world)
            process = world.open()
            world.advance(60)
            assert on_disk(world) == before
            assert [one.execution_id for one in process.do(process.runtime.unclaimed())] == [record.execution_id]
            world.lose(process)
        speaks(monkeypatch, Migration(OLD, 1, states=((stood, State.RECOVERING if awaiting is None else SUSPENDED),)))
        end = to_the_end(world)
        assert (end.status, end.spec_hash) == ("completed", MACHINE.spec_hash)


def test_every_phase_that_a_run_can_have_says_where_it_stands() -> None:
    """Phases that no barrier writes any more may stay; none may be missing."""
    seen = set()
    for at in BARRIERS:
        with World(CLERK, faults=[Fault(at, "crash_after_commit")]) as world:
            if lost(world):
                seen.add(one(world)[0].phase)
    with World(CLERK, faults=[LOST]) as world:
        rest = unresolved(world)
        desk = world.open(DESK)
        age(world, MACHINE.spec_hash)
        desk.do(desk.runtime.record_resolution(rest.execution_id, rest.unresolved[0].subject, "not_performed"))
        seen.add(one(world)[0].phase)
    assert seen == set(evolution.STANDS)
    assert set(evolution.STANDS.values()) <= set(MACHINE.state)


# two versions at once -------------------------------------------------------------------------------------------------


def test_a_run_that_another_version_took_between_a_look_and_a_claim_is_given_back() -> None:
    with World(CLERK) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go", id="r1"))
        assert isinstance(rest, Suspended)
        host = process.runtime._open()
        record = one(world)[0]
        agent = host.definition(record, "approval")
        assert agent is not None
        age(world)
        before = on_disk(world)
        with pytest.raises(SpecMismatch):
            process.do(host.adopt(record, agent))
        world.settle()

        after = on_disk(world)
        assert after[0][:4] == before[0][:4]
        assert after[0][4].owner is None
        assert host.keeper.registry.slot(record.agent_id) is None


def test_a_closed_run_that_another_version_has_moved_on_is_that_version_s(monkeypatch: pytest.MonkeyPatch) -> None:
    with World(CLERK, faults=[Fault("provider_dispatch#2", "foreign_write_unseen")]) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go", id="r1"))
        assert isinstance(rest, Suspended)
        with pytest.raises(OutcomeUnknown, match="reload"):
            process.do(process.runtime.decide(rest.request.id, approve=True))
        age(world)
        with pytest.raises(SpecMismatch):
            process.do(process.runtime.reload(rest.execution_id))
        world.settle()
        assert one(world)[0].spec_hash == OLD
        assert on_disk(world)[0][4].owner is None  # free for the version that it is of

        speaks(monkeypatch, GOING_ON["compatible"])
        process.do(process.runtime.reload(rest.execution_id))
        world.advance(60)
        assert one(world)[0].spec_hash == MACHINE.spec_hash
