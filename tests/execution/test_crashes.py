"""Every fault at every place of a run: what was undisturbed stays so, or the run asks about what nobody can know."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from execution.programs import Seen, clerk, named, run, single_faults
from pawl.runtime.simulation.faults import BARRIERS, Fault
from pawl.runtime.simulation.world import World
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore

RUNS = int(os.environ.get("SIM_RUNS", "0"))

CLERK = clerk()


def disturbed(*faults: Fault, store: Store | None = None) -> tuple[Seen, list[str], list[Fault]]:
    """What the run came to, what it asked about, and every fault that it could meet as well."""
    with World(CLERK, faults=faults, store=store) as world:
        result, client = run(world, CLERK)
        assert len(faults) > 1 or not world.faults.unmet  # one may keep the other from its place
        if all(fault.times for fault in faults):
            assert "Stuck" not in client.troubles
        return result, client.asked, single_faults(world)


EXPECTED, ASKED, FAULTS = disturbed()
LOSSES = [
    Fault("tool_outcome#1", "crash_before_commit"),
    Fault("approval#1", "crash_after_commit"),
    Fault("model#2", "crash_during_effect"),
]


def expect_undisturbed(*faults: Fault, store: Store | None = None) -> None:
    result, asked, _ = disturbed(*faults, store=store)
    effects = {**result.effects, "pay": min(result.effects["pay"], 1)}  # a replay call may run again
    assert (result.outcome, result.output, result.kinds, result.statuses) == (
        EXPECTED.outcome,
        EXPECTED.output,
        EXPECTED.kinds,
        EXPECTED.statuses,
    )
    assert effects == EXPECTED.effects
    assert "c2" not in asked


LOSSES_OF_REPLIES = [fault for fault in FAULTS if fault.do.startswith("lose_reply")]


@pytest.mark.parametrize("fault", LOSSES_OF_REPLIES, ids=named)
def test_who_waits_does_not_notice_that_a_reply_was_lost(fault: Fault) -> None:
    with World(CLERK, faults=[fault]) as world:
        _, client = run(world, CLERK)
        assert client.troubles == []
        assert len(world.processes) == 1


def test_nothing_is_asked_when_nothing_goes_wrong() -> None:
    assert ASKED == []
    assert EXPECTED.effects == {"add": 1, "pay": 1, "slow": 1}


@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_one_fault_anywhere_changes_nothing_that_anybody_can_see(fault: Fault) -> None:
    expect_undisturbed(fault)


@pytest.mark.parametrize(
    ("loss", "fault"), [(loss, fault) for loss in LOSSES for fault in disturbed(loss)[2]], ids=named
)
def test_one_more_fault_while_a_lost_process_is_made_up_for_changes_nothing(loss: Fault, fault: Fault) -> None:
    if loss.address != fault.address:
        expect_undisturbed(loss, fault)


AT_BARRIERS = [fault for fault in FAULTS if fault.at.partition("#")[0] in BARRIERS and fault.times == 1]


@pytest.mark.parametrize("fault", AT_BARRIERS, ids=named)
def test_on_a_file_it_is_the_same(fault: Fault, tmp_path: Path) -> None:
    expect_undisturbed(fault, store=SqliteStore(tmp_path / "runs.db", "NORMAL", inline=True))


@pytest.mark.skipif(not RUNS, reason="every pair takes minutes; set SIM_RUNS to the number of pairs to try")
def test_two_faults_anywhere_change_nothing() -> None:
    pairs = [(first, second) for first in FAULTS for second in disturbed(first)[2] if first.address != second.address]
    for first, second in random.Random(RUNS).sample(pairs, min(RUNS, len(pairs))):
        expect_undisturbed(first, second)
