"""Figures that are measured in other processes."""

from __future__ import annotations

from multiprocessing import active_children

import pytest

from pawl.tools.bench.apart import apart
from pawl.tools.bench.figures import BENCHMARKS, Figure

NAME = "idle_session_bytes"


def living() -> set[int | None]:
    return {child.pid for child in active_children()}


def test_the_figures_of_a_module_share_a_process_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    before = living()
    with apart() as measure:
        figure = measure(NAME)
        first = living() - before
        measure(NAME)
        second = living() - before
        monkeypatch.setitem(BENCHMARKS, NAME, "of.another:module")
        measure(NAME)
        third = living() - before
    assert isinstance(figure, Figure)
    assert figure.name == NAME
    assert (len(first), second, len(third)) == (1, first, 1)
    assert third != first
    assert living() == before


def test_what_a_measurement_raises_is_raised_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCHMARKS, "only_here", "some:module")  # a new process does not know it
    with apart() as measure, pytest.raises(KeyError, match="only_here"):
        measure("only_here")
