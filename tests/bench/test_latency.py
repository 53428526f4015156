"""The figures of a barrier's time, at a tiny scale: what they measure, never how long it took."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pawl.tools.bench import latency
from pawl.tools.bench.latency import Latency, TimedStore
from pawl.tools.bench.rounds import finish, running, talker


def test_every_barrier_of_a_run_is_measured_and_nothing_else(tmp_path: Path) -> None:
    store = TimedStore(tmp_path / "pawl.db", "NORMAL")

    async def run() -> None:
        async with running(store, talker(2)) as runtime:
            await finish(await runtime.create(talker(2), "agent"))

    asyncio.run(run())
    assert len(store.took) == store.barriers.total() == 1 + 3 + 2 + 2 + 1
    assert min(store.took) > 0


def test_a_limit_is_that_of_the_disk_that_it_was_measured_on() -> None:
    seen = Latency(p50=3.0, p99=30.0, bare_p50=2.0, bare_p99=4.0)
    usual, worst = latency._figure("barrier_full_p50_ms", seen), latency._figure("barrier_full_p99_ms", seen)
    assert (usual.value, usual.limit, usual.holds) == (3.0, 9.0, True)
    assert (worst.value, worst.limit, worst.holds) == (30.0, 26.0, False)


def test_both_kinds_of_store_are_measured_beside_a_log_that_is_as_safe(tmp_path: Path) -> None:
    for kind, level in (("FULL", 2), ("NORMAL", 1)):
        log = latency.LOGS[kind](tmp_path / kind)  # type: ignore[index]
        assert log._connection.execute("PRAGMA synchronous").fetchone() == (level,)
        log.close()
    seen = latency.latency("NORMAL", runs=1, batches=1)
    assert 0 < seen.p50 <= seen.p99
    assert 0 < seen.bare_p50 <= seen.bare_p99


def test_the_bodies_are_at_work_while_the_barriers_beside_them_are_measured() -> None:
    figure = latency.barrier_beside_bodies_ratio(bodies=2, runs=1, batches=1)
    assert (figure.name, figure.limit, figure.direction) == ("barrier_beside_bodies_ratio", 1.5, "at_most")
    assert figure.value > 0
