"""`run_scenario` and `explore_scenario`: scenario files in an application's own tests.

from pawl.runtime.simulation.running import run_scenario

def test_a_refund_is_asked_about() -> None:
    run_scenario(Path("tests/scenarios/refund.yaml"))
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.simulation.exploring import Explored, MakeStore, explore, in_memory
from pawl.runtime.simulation.playing import Played, play
from pawl.runtime.simulation.scenario import Scenario

Source = Scenario | str | Path
"""A scenario as a value, the text of a file, or its path."""


def scenarios_of(source: Source) -> Sequence[Scenario]:
    """The scenarios that a text or a file holds, in order. Text is read where the extra `tools` is installed.

    Raises InvalidArguments with everything that is wrong, each with its file, line and column.
    """
    if isinstance(source, Scenario):
        return (source,)
    try:
        # By name: the library works without the reader, and what it needs is an extra.
        reader: Any = importlib.import_module("pawl.tools.scenario.load")
    except ModuleNotFoundError as error:
        raise InvalidArguments(f"scenario files need {error.name}; run: pip install 'pawl-fsm[tools]'") from error
    loaded = reader.load_scenarios(source) if isinstance(source, Path) else reader.load_scenario_text(source)
    if loaded.findings:
        __tracebackhide__ = True
        raise InvalidArguments("\n".join(str(found) for found in loaded.findings))
    scenarios: Sequence[Scenario] = loaded.scenarios
    return scenarios


def run_scenario(source: Source, *, store: MakeStore = in_memory, seed: int | None = None) -> Sequence[Played]:
    """Play every scenario of `source`, and check that each holds.

    `store` makes a new inline store for each, such as `lambda: SqliteStore(path, inline=True)`; by default it is in
    memory. `seed` draws the order of what may happen in any order. Raises AssertionError with the place and the first
    difference, expected against actual; InvalidArguments for what is no scenario.
    """
    __tracebackhide__ = True  # for pytest: what is wrong is wrong with the scenario
    return [play(scenario, store=store(), seed=seed).check() for scenario in scenarios_of(source)]


def explore_scenario(
    source: Source,
    *,
    store: MakeStore = in_memory,
    pairs: bool = False,
    sample: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
) -> Sequence[Explored]:
    """Play every scenario of `source` with every single fault (with `pairs`, every two), and check that each is made
    up for. `sample` chooses among the disturbances.

    Raises AssertionError with the first that is not, as a scenario file; InvalidArguments for what is no scenario.
    """
    __tracebackhide__ = True
    return [explore(scenario, store=store, pairs=pairs, sample=sample).check() for scenario in scenarios_of(source)]
