"""How often others are looked at: each wait is longer than the one before, up to a bound, until something is new."""

from __future__ import annotations

import pytest

from pawl.runtime.execution.looks import LONGEST, SHORTEST, Looks


def test_waits_grow_by_half_up_to_the_longest() -> None:
    looks = Looks()
    waits = [looks.next() for _ in range(10)]
    assert waits[:3] == pytest.approx([SHORTEST, SHORTEST * 1.5, SHORTEST * 2.25])
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST


def test_after_something_new_the_next_look_is_soon() -> None:
    looks = Looks()
    for _ in range(10):
        looks.next()
    looks.found()
    assert looks.next() == SHORTEST
