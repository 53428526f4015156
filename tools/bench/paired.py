"""Comparing two pieces of code on a machine that others use too.

The two are timed in turns, so that a slow moment hits both. A batch's answer is the median of its ratios; of the
batches the best one counts, since noise can only make code look slower than it is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter

Work = Callable[[], object]


def ratios(
    subject: Work, reference: Work, *, batches: int = 7, pairs: int = 9, clock: Callable[[], float] = perf_counter
) -> list[float]:
    """For each batch, how many times as long `subject` takes as `reference` (the median of its pairs)."""

    def seconds(work: Work) -> float:
        begin = clock()
        work()
        return clock() - begin

    subject()
    reference()
    enabled = gc.isenabled()
    gc.disable()
    try:
        return [median(seconds(subject) / seconds(reference) for _ in range(pairs)) for _ in range(batches)]
    finally:
        if enabled:
            gc.enable()
