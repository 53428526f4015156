"""A guard or an action that raises: the run fails or closes, as its row says; nothing hangs and nothing runs twice."""

from __future__ import annotations

from typing import Any

import pytest

from execution.programs import clerk, run
from pawl import Completed, Failed, OutcomeUnknown, Rest, StaleRequest, Suspended
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.batch import ChildFact
from pawl.runtime.agent.tool_invocation import ToolInvocation
from pawl.runtime.execution.heart import AGENT, TOOL
from pawl.runtime.fsm.table import Machine
from pawl.runtime.simulation.client import Client
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World

CLERK = clerk()


def methods(machine: Machine[Any, Any]) -> list[str]:
    """Every guard, action and delay that a machine names."""
    names: set[str] = set()
    for row in machine.rows:
        names |= {*row.when, *row.unless, *row.do}
    for state in machine.states:
        names |= set(state.enter)
        if state.after is not None:
            names.add(state.after.delay)
    return sorted(names)


INSIDE = [(AgentInvocation, name) for name in methods(AGENT)] + [(ToolInvocation, name) for name in methods(TOOL)]


class Broken(Exception):
    """Raised where nothing should."""


def ends(world: World) -> Rest | None:
    """Start the run and decide it; where it ends in this process, None where it is closed."""
    process = world.open()
    try:
        rest = process.do(process.runtime.run(CLERK, "go", id="req-1"), within=2000)
        if isinstance(rest, Suspended):
            rest = process.do(process.runtime.decide(rest.request.id, approve=True), within=2000)
    except (OutcomeUnknown, StaleRequest, Broken):
        return None
    return rest


@pytest.mark.parametrize("times", [1, 1000], ids=["once", "always"])
@pytest.mark.parametrize(("kind", "name"), INSIDE, ids=lambda part: getattr(part, "__name__", part))
def test_what_raises_inside_a_step_fails_or_closes_the_run(
    kind: type[Any], name: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = getattr(kind, name)
    left = [times]

    def raising(self: Any, *payload: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise Broken(name)
        return works(self, *payload)

    if (name, times) == ("ownership_is_lost", 1000):
        pytest.skip("asked at each submission: as with a store that is away, it is tried until somebody stops it")
    with World(CLERK) as world:
        monkeypatch.setattr(kind, name, raising)
        rest = ends(world)
        monkeypatch.setattr(kind, name, works)
        assert rest is None or isinstance(rest, Completed | Failed | Suspended)
        if left[0] == times:
            assert isinstance(rest, Completed)
        world.processes[-1].close()
        client = Client(world, CLERK)
        assert isinstance(client.see_through(), Completed | Failed)
        for tool in ("add", "slow"):
            assert world.witness.effects.get(tool, 0) <= 1


@pytest.mark.parametrize("name", ["load_record", "found", "to_probe"])
def test_what_raises_while_a_run_is_recovered_leaves_it_to_the_next_process(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*arguments: Any) -> Any:
        raise Broken(name)

    kind: Any = ChildFact if name == "to_probe" else AgentInvocation
    with World(CLERK, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        first = Client(world, CLERK)
        process = world.open()
        process.begin(first._step(process))
        world.advance(10)
        with monkeypatch.context() as patch:
            patch.setattr(kind, name, property(raising) if name == "to_probe" else raising)
            broken = world.open()
            world.advance(5)
            assert broken.alive
            broken.close()
        result, _ = run(world, CLERK)
        assert result.outcome is Completed


def test_what_raises_while_a_resolution_is_applied_closes_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*arguments: Any) -> Any:
        raise Broken("apply_resolution")

    with World(CLERK, faults=[Fault("tool_outcome#1", "crash_before_commit")]) as world:
        process = world.open()
        process.begin(Client(world, CLERK)._step(process))
        world.advance(10)
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go", id="req-1"))
        with monkeypatch.context() as patch:
            patch.setattr(AgentInvocation, "apply_resolution", raising)
            with pytest.raises(OutcomeUnknown):
                process.do(process.runtime.resolve(rest.execution_id, "c1", "succeeded", result="3"))
        process.do(process.runtime.reload(rest.execution_id))
        result, _ = run(world, CLERK)
        assert result.outcome is Completed
        assert world.witness.effects["add"] == 1


def test_what_raises_while_an_outcome_is_replaced_closes_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*arguments: Any) -> Any:
        raise Broken("replace_outcome_by_failure")

    with World(CLERK, faults=[Fault("outcome#1", "refuse", error=ValueError("no"))]) as world:
        process = world.open()
        rest = process.do(process.runtime.run(CLERK, "go"))
        assert isinstance(rest, Suspended)
        with monkeypatch.context() as patch:
            patch.setattr(AgentInvocation, "replace_outcome_by_failure", raising)
            with pytest.raises(OutcomeUnknown):
                process.do(process.runtime.decide(rest.request.id, approve=True))
        process.do(process.runtime.reload(rest.execution_id))
        assert isinstance(process.do(process.do(process.runtime.execution(rest.execution_id))), Completed)
