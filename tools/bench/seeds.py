"""How many random programs the simulator plays in a minute of one core."""

from __future__ import annotations

from time import process_time

from pawl.tools.bench.figures import Figure


def random_seeds_a_minute(seeds: int = 300, batches: int = 3) -> Figure:
    """Programs of as many seeds, played to their end with the store in memory; per minute of processor time.

    Processor time: it is one thread that waits for nothing. The best of a few batches, each of other seeds.
    """
    rate = max(_rate(batch * seeds, seeds) for batch in range(batches))
    return Figure("random_seeds_a_minute", rate, 1_000, "seeds", "at_least", note="the heart, and every write checked")


def _rate(first: int, seeds: int) -> float:
    from pawl.runtime.simulation.simulating import simulate

    begin = process_time()
    for seed in range(first, first + seeds):
        simulate(seed, shrink=False)
    return seeds / (process_time() - begin) * 60
