"""Every fault at every place of a run: what was undisturbed stays so, or the run asks about what nobody can know."""

from __future__ import annotations

import pytest

from execution.programs import Seen, clerk, run, single_faults
from pawl import Agent
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World


def undisturbed(agent: Agent) -> tuple[Seen, list[Fault]]:
    with World(agent) as world:
        result, client = run(world, agent)
        assert client.asked == []
        return result, single_faults(world)


CLERK = clerk()
EXPECTED, FAULTS = undisturbed(CLERK)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.at}-{fault.do}")
def test_one_fault_anywhere_changes_nothing_that_anybody_can_see(fault: Fault) -> None:
    with World(CLERK, faults=[fault]) as world:
        result, client = run(world, CLERK)
        assert not world.faults.unmet
        effects = dict(result.effects)
        effects["pay"] = min(effects["pay"], 1)  # a replay call may run again
        assert (result.outcome, result.output, result.kinds, result.statuses) == (
            EXPECTED.outcome,
            EXPECTED.output,
            EXPECTED.kinds,
            EXPECTED.statuses,
        )
        assert effects == EXPECTED.effects
        assert "c2" not in client.asked
