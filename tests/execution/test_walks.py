"""Random walks of the heart: see `walk`. SIM_RUNS makes them longer."""

from __future__ import annotations

import os

import pytest

from execution.walk import walked

RUNS = int(os.environ.get("SIM_RUNS", "2000"))
CHUNK = 100


@pytest.mark.parametrize("first", range(0, RUNS, CHUNK))
def test_whatever_happens_the_heart_is_pure_starts_nothing_twice_and_comes_to_an_end(first: int) -> None:
    for seed in range(first, first + CHUNK):
        walked(seed)
