"""Measuring in other processes: what one figure leaves in the heap is none of the next one's business."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context

from pawl.tools.bench.figures import BENCHMARKS, Figure, measure


@contextmanager
def apart() -> Iterator[Callable[[str], Figure]]:
    """What measures a figure by its whole name, in a new process for each module of figures.

    The figures of a module share one, since some are two readings of one measurement. What a measurement raises is
    raised here.
    """
    with ExitStack() as open_ones:
        last: tuple[str, ProcessPoolExecutor] | None = None

        def measured(name: str) -> Figure:
            nonlocal last
            module = BENCHMARKS[name].partition(":")[0]
            if last is None or last[0] != module:
                open_ones.close()
                process = open_ones.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
                last = (module, process)
            return last[1].submit(measure, name).result()

        yield measured
