"""What a barrier costs in time: alone beside a bare log in SQLite, and in the company of other runs."""

from __future__ import annotations

import asyncio
from statistics import median
from time import perf_counter

from pawl.tools.bench.bare_log import BareLog
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import CountedStore, finish, on_disk, running, talker, texts

ROUNDS = 5


def durable_ratio(pairs: int = 60, rounds: int = ROUNDS) -> Figure:
    """One run at a time, from its admission to its outcome; times a bare log that commits as often, as much, as safely.

    The two take turns on the same disk, since a busy machine slows them down alike: the median of the pairs' ratios.
    """
    return Figure("durable_ratio", median(asyncio.run(pair_ratios(pairs, rounds))), 3.5, "times")


def group_commit_gain(executions: int = 64, repetitions: int = 6, rounds: int = ROUNDS) -> Figure:
    """Barriers a second of 64 runs at once; times those of one run at a time, the median of some turns."""
    gains = asyncio.run(_gains(executions, repetitions, rounds))
    return Figure("group_commit_gain", median(gains), 2.5, "times", "at_least")


async def pair_ratios(pairs: int, rounds: int) -> list[float]:
    """How many times as long as the bare log each run took. Raises AssertionError when the commits differ in number."""
    agent = talker(rounds)
    ratios = []
    with on_disk() as folder:
        log, store = BareLog(folder / "bare.db"), CountedStore(folder / "pawl.db")
        async with running(store, agent) as runtime:
            for pair in range(-_WARM_UP, pairs):
                handle = await runtime.create(agent, f"agent {pair}")
                store.barriers.clear()
                begin = perf_counter()
                await finish(handle)
                turn = perf_counter()
                bodies = [texts().next() for _ in range(store.barriers.total())]
                again = perf_counter()
                log.write(handle.id, bodies)
                if pair >= 0:
                    ratios.append((turn - begin) / (perf_counter() - again))
        log.close()
    return ratios


async def _gains(executions: int, repetitions: int, rounds: int) -> list[float]:
    agent = talker(rounds)
    gains = []
    with on_disk() as folder:
        store = CountedStore(folder / "pawl.db")
        async with running(store, agent) as runtime:
            for repetition in range(-1, repetitions):
                names = [f"agent {repetition}.{number}" for number in range(executions + executions // 4)]
                handles = [await runtime.create(agent, name) for name in names]
                store.barriers.clear()
                begin = perf_counter()
                await asyncio.gather(*[finish(handle) for handle in handles[:executions]])
                turn = perf_counter()
                together = store.barriers.total() / (turn - begin)
                store.barriers.clear()
                for handle in handles[executions:]:
                    await finish(handle)
                if repetition >= 0:
                    gains.append(together / (store.barriers.total() / (perf_counter() - turn)))
    return gains


_WARM_UP = 5
"""Pairs that are run and not counted: the first commits make the files, the first runs the decoders."""
