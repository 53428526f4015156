"""Every scenario holds in memory; some hold on a file, and some under every fault that a sample chose.

`make explore` takes all of them through everything that can go wrong.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from pawl.runtime.simulation.exploring import explore
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import scenarios_of
from pawl.runtime.simulation.scenario import Scenario
from pawl.runtime.store.sqlite import SqliteStore

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.rglob("*.yaml"))

SAMPLED = 20
"""Scenarios that are played on a file, and as many that are explored."""

DISTURBANCES = 10
"""Disturbances that are tried of each of these."""


@cache
def _all() -> dict[str, Scenario]:
    """Every scenario, by its file and name."""
    return {
        f"{path.relative_to(FOLDER).with_suffix('')}: {scenario.name}": scenario
        for path in FILES
        for scenario in scenarios_of(path)
    }


NAMES = list(_all())


def _sample(seed: int) -> list[str]:
    return sorted(random.Random(seed).sample(NAMES, min(SAMPLED, len(NAMES))))


@pytest.mark.parametrize("name", NAMES)
def test_it_holds(name: str) -> None:
    play(_all()[name]).check()


@pytest.mark.parametrize("name", _sample(1))
def test_it_holds_on_a_file(name: str, tmp_path: Path) -> None:
    play(_all()[name], store=SqliteStore(tmp_path / "runs.db", "NORMAL", inline=True)).check()


@pytest.mark.parametrize("name", _sample(2))
def test_it_holds_whatever_goes_wrong(name: str) -> None:
    def chosen(disturbances: Sequence[tuple[Fault, ...]]) -> Sequence[tuple[Fault, ...]]:
        return random.Random(name).sample(disturbances, min(DISTURBANCES, len(disturbances)))

    explore(_all()[name], sample=chosen).check()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_scenario_begins_with_why_it_exists(path: Path) -> None:
    documents = re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    first = [document.strip().splitlines()[0] for document in documents if document.strip()]
    assert [line for line in first if not re.fullmatch(r"# \S.{20,}", line)] == []


def test_no_two_have_the_same_name() -> None:
    assert len({scenario.name for scenario in _all().values()}) == len(_all())
