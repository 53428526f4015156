"""The figure of random programs, at a tiny scale."""

from __future__ import annotations

from pawl.tools.bench.figures import BENCHMARKS
from pawl.tools.bench.seeds import random_seeds_a_minute


def test_some_seeds_are_played_and_counted_by_the_minute() -> None:
    figure = random_seeds_a_minute(seeds=2, batches=1)
    assert figure.name in BENCHMARKS
    assert (figure.limit, figure.direction) == (1_000, "at_least")
    assert 0 < figure.value < 1_000_000
