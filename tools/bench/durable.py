"""What a barrier costs in time: alone beside a bare log in SQLite, and in the company of other runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from itertools import count
from statistics import median
from time import perf_counter

from pawl.runtime.app.agents import AgentHandle
from pawl.runtime.app.runtime import Runtime
from pawl.tools.bench.bare_log import BareLog
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import CountedStore, finish, on_disk, running, talker, texts, uncollected

ROUNDS = 5


def durable_ratio(batches: int = 8, pairs: int = 15, rounds: int = ROUNDS) -> Figure:
    """One run at a time, from its admission to its outcome; times a bare log that commits as often, as much, as safely.

    The two take turns on the same disk, since a busy machine slows them down alike: the median of a batch of pairs.
    """
    ratio = min(quicker(asyncio.run(beside_a_log(batches, pairs, rounds))))
    note = "the sync is two fifths; then Python: a machine for each run and call, records, and two changes of thread"
    return Figure("durable_ratio", ratio, 3.5, "times", note=note)


def group_commit_gain(executions: int = 64, batches: int = 8, rounds: int = ROUNDS) -> Figure:
    """Barriers a second of 64 runs at once; times those of one run at a time."""
    gain = max(quicker(asyncio.run(_beside_one(executions, batches, rounds))))
    note = "one thread runs Python at a time: two thirds of a grouped barrier are the heart's, a third the store's"
    return Figure("group_commit_gain", gain, 2.8, "times", "at_least", note=note)


def quicker(batches: Sequence[tuple[float, float]]) -> list[float]:
    """The values of the quicker half of batches of (seconds, value): where the disk was not kept busy by others.

    Of these the best counts, as in `paired`: other work can only make Pawl, with its two threads, look slower.
    """
    return [value for _, value in sorted(batches)[: (len(batches) + 1) // 2]]


async def beside_a_log(batches: int, pairs: int, rounds: int) -> list[tuple[float, float]]:
    """For each batch its seconds, and how many times as long as the bare log a run took."""
    agent, made = talker(rounds), count()
    with on_disk() as folder, uncollected():
        log, store = BareLog(folder / "bare.db"), CountedStore(folder / "pawl.db")

        async def pair(runtime: Runtime) -> tuple[float, float]:
            handle = await runtime.create(agent, f"agent {next(made)}")
            store.barriers.clear()
            begin = perf_counter()
            await finish(handle)
            alone = perf_counter() - begin
            bodies = [texts().next() for _ in range(store.barriers.total())]
            begin = perf_counter()
            log.write(handle.id, bodies)
            return alone, perf_counter() - begin

        async with running(store, agent) as runtime:
            for _ in range(_WARM_UP):
                await pair(runtime)
            found = [[await pair(runtime) for _ in range(pairs)] for _ in range(batches)]
        log.close()
    return [(sum(map(sum, batch)), median(alone / bare for alone, bare in batch)) for batch in found]


async def _beside_one(executions: int, batches: int, rounds: int) -> list[tuple[float, float]]:
    """For each batch its seconds, and how many times as many barriers a second many runs passed as one at a time."""
    agent, made = talker(rounds), count()
    with on_disk() as folder, uncollected():
        store = CountedStore(folder / "pawl.db")

        async def timed(work: Awaitable[object]) -> tuple[float, float]:
            store.barriers.clear()
            begin = perf_counter()
            await work
            seconds = perf_counter() - begin
            return seconds, store.barriers.total() / seconds

        async def batch(runtime: Runtime) -> tuple[float, float]:
            handles = [await runtime.create(agent, f"agent {next(made)}") for _ in range(executions + executions // 4)]
            together = await timed(asyncio.gather(*map(finish, handles[:executions])))
            alone = await timed(_one_by_one(handles[executions:]))
            return together[0] + alone[0], together[1] / alone[1]

        async with running(store, agent) as runtime:
            await batch(runtime)
            return [await batch(runtime) for _ in range(batches)]


async def _one_by_one(handles: Sequence[AgentHandle]) -> None:
    for handle in handles:
        await finish(handle)


_WARM_UP = 5
"""Pairs that are run and not counted: the first commits make the files, the first runs the decoders."""
