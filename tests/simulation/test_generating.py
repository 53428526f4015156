"""Random programs: the same seed is the same trace, all of them end, and what is found is shown as a scenario."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from pawl.runtime.execution.slots import Slots
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.simulation.beyond import AgentBeyond, ToolBeyond
from pawl.runtime.simulation.generating import generate
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import scenarios_of
from pawl.runtime.simulation.shrinking import fewest, shrunk, without_beyond
from pawl.runtime.simulation.simulating import simulate, wander
from pawl.runtime.simulation.spelling import scenario_text
from pawl.runtime.store.sqlite import SqliteStore

BLOCKS = [range(start, start + 25) for start in range(0, 200, 25)]

PRINT_TRACES = """
from pawl.runtime.simulation.generating import generate
from pawl.runtime.simulation.simulating import wander
for seed in range(12):
    print(seed, *wander(generate(seed)).trace, sep="\\n")
"""


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"from-{seeds.start}")
def test_every_program_comes_to_its_end_and_what_must_be_true_is_true(seeds: range) -> None:
    found = {seed: simulate(seed, shrink=False).violation for seed in seeds}

    assert {seed: one.what for seed, one in found.items() if one is not None} == {}


def test_programs_come_to_their_end_on_a_file_as_in_memory(tmp_path: Path) -> None:
    for seed in range(12):
        on_file = wander(generate(seed), SqliteStore(tmp_path / f"{seed}.db", "NORMAL", inline=True))

        assert on_file.failure is None
        assert on_file.trace == wander(generate(seed)).trace


def test_the_same_seed_is_the_same_trace_whatever_hashes_are() -> None:
    traces = [_traces(hash_seed) for hash_seed in ("0", "0", "1", "4711")]

    assert traces[0].count("outcome: committed") > 12
    assert len(set(traces)) == 1


def _traces(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_TRACES], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_programs_differ_and_go_through_every_kind_of_step_and_fault() -> None:
    scenarios = [generate(seed).scenario for seed in range(300)]
    steps = {step.word for scenario in scenarios for step in scenario.steps}
    faults = {fault.do.kind for scenario in scenarios for fault in scenario.faults}

    assert steps == {
        *("open", "start", "decide", "cancel", "resolve", "hold", "release", "advance", "crash", "reopen", "close"),
        *("pause", "unpause", "process", "end", "redeliver", "change"),
    }
    assert faults == {
        *("crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back", "unavailable"),
        *("unreadable", "refuse", "superseded", "foreign_write"),
        *("crash_before_effect", "crash_during_effect", "crash_after_effect"),
    }


def test_programs_have_what_no_scenario_file_can_say() -> None:
    programs = [generate(seed) for seed in range(400)]
    agents = [made for program in programs for made in program.scenario.agents.values()]
    beyond = [one for made in agents for one in (made.beyond, *(tool.beyond for tool in made.tools.values())) if one]
    unusual = {
        (type(one).__name__, field.name)
        for one in beyond
        for field in attrs.fields(type(one))
        if getattr(one, field.name) != field.default
    }

    kinds = (AgentBeyond, ToolBeyond)
    assert unusual == {(kind.__name__, field.name) for kind in kinds for field in attrs.fields(kind)}
    assert {fault.do for program in programs for fault in program.more} == {
        *("crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back", "unavailable"),
        *("slow", "full", "superseded", "foreign_write_unseen", "crash_before_effect"),
    }


def test_every_program_is_a_scenario_file_that_reads_back_as_the_same() -> None:
    for seed in range(60):
        scenario = without_beyond(generate(seed).scenario)

        assert scenarios_of(scenario_text(scenario)) == (scenario,)


def test_what_a_seed_finds_is_shown_as_a_small_scenario_that_shows_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolRow, "repeatable", property(lambda row: True))
    found = next(one.violation for one in map(simulate, range(300)) if one.violation is not None)

    assert "I14" in found.what
    assert found.reproduces
    assert len(found.scenario.faults) <= 1
    (read,) = scenarios_of(scenario_text(found.scenario))
    played = play(read, seed=found.order)
    assert played.failure is not None
    assert "I14" in played.failure


def test_shrinking_leaves_what_is_needed_and_nothing_else() -> None:
    scenario = next(one for one in (generate(seed).scenario for seed in range(300)) if len(one.faults) > 4)
    needed = scenario.faults[2]

    small = shrunk(scenario, lambda one: needed in one.faults)

    assert small.faults == (needed,)
    assert (small.steps, [len(answers) for answers in small.model.values()]) == ((), [0] * len(small.model))
    assert [attrs.evolve(made, at=None).max_iterations for made in small.agents.values()] == [10] * len(small.agents)


def test_what_a_seed_finds_only_beyond_the_format_says_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slots, "release", lambda slots, name: False)
    found = next(one.violation for one in map(simulate, range(300)) if one.violation is not None)

    assert "never ends" in found.what
    assert not found.reproduces
    assert len(found.beyond) == 1
    assert "max_concurrent" in found.beyond[0] or "rate" in found.beyond[0]


def test_the_fewest_are_found_wherever_they_stand() -> None:
    assert fewest(range(20), lambda some: {3, 17} <= set(some)) == (3, 17)
    assert fewest(range(20), lambda some: True) == ()
