"""Whole scenarios, with a collection between any two of their steps: what is open or owned misses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import scenarios_of
from pawl.runtime.simulation.world import World
from pawl.runtime.upkeep.check import check_store
from pawl.runtime.upkeep.collect import collect

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FILES = ["two_processes.yaml", "recovery-taken-over.yaml", "approval-deciding.yaml", "peers-approvals.yaml",
         "outcome-settling.yaml", "group_commit.yaml", "said_in_another_process.yaml"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_scenario_holds_though_what_has_ended_is_removed_all_the_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[World] = []

    def collected(world: World) -> None:
        if inside or world.invariants.tampered:
            return
        inside.append(world)
        said = collect(world.store, world.now, dry_run=True)
        done = collect(world.store, world.now, pause=lambda _: None)
        assert said == done
        assert [str(finding) for finding in check_store(world.store)] == []
        inside.pop()

    for step in ("settle", "advance"):
        taken = getattr(World, step)

        def with_gc(self: World, *values: Any, taken: Any = taken) -> Any:
            came = taken(self, *values)
            collected(self)
            return came

        monkeypatch.setattr(World, step, with_gc)
    for scenario in scenarios_of(SCENARIOS / name):
        played = play(scenario)
        assert played.failure is None, (scenario.name, played.failure)
