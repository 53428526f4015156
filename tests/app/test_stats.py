"""Counters of a runtime: what happened is counted once, times are the environment's, and anybody may export them."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.programs import clerk
from pawl import (
    Agent,
    Completed,
    ModelError,
    Retries,
    Runtime,
    RuntimeClosed,
    Stats,
    Suspended,
    call,
    calls,
    hang,
    scripted,
    sync,
    tool,
)
from pawl.runtime.execution.stats import BOUNDS, Batches, Latency, Meter
from pawl.runtime.loop.pool import PoolState
from pawl.runtime.simulation.clock import EPOCH
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.world import World
from pawl.runtime.store.ownership import LEASE

AGENT = Agent(name="a", model=scripted(["done"] * 9, record=False))


def test_a_new_runtime_has_counted_nothing() -> None:
    with World(AGENT) as world:
        stats = world.open().runtime.stats()
        assert stats == Stats(
            executing=0, moving=0, started=0, adopted=0, rested={}, ended={}, closed=0, dropped={}, model_retries=0,
            barrier_retries={}, barriers={}, batches=stats.batches, inbox=0, inbox_deepest=0, store_waiting=0,
            pool=PoolState(), listener_failures=0, listener_slow=0, listener_longest=0.0,
            lease=stats.lease, gauges=stats.gauges,
        )  # fmt: skip
        assert stats.lease.expires_at == EPOCH + LEASE
        assert stats.lease.lapses == 0


def test_runs_are_counted_by_what_becomes_of_them() -> None:
    agent = clerk()
    with World(agent) as world:
        process = world.open()
        rest = process.do(process.runtime.run(agent, "go"))
        assert isinstance(rest, Suspended)
        stats = process.runtime.stats()
        assert (stats.started, stats.executing, stats.moving, stats.rested) == (1, 0, 0, {"approval": 1})
        deciding = process.begin(process.runtime.decide(rest.request.id, approve=True))
        world.settle()
        stats = process.runtime.stats()
        assert (stats.executing, stats.moving) == (1, 1)
        world.wait(deciding)
        stats = process.runtime.stats()
        assert (stats.executing, stats.ended, stats.adopted) == (0, {"completed": 1}, 0)


def test_a_run_that_is_taken_over_is_counted_where_it_goes_on() -> None:
    agent = clerk()
    with World(agent, faults=[Fault("provider_dispatch#1", "crash_before_commit")]) as world:
        first = world.open()
        first.begin(first.runtime.start(agent, "go"))
        world.settle()
        second = world.open()
        world.advance(1)
        assert (second.runtime.stats().adopted, second.runtime.stats().started) == (1, 0)


def test_every_barrier_is_timed_from_submission_to_answer() -> None:
    with World(AGENT, faults=[Fault("provider_dispatch#1", "hold_reply")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(AGENT, "go"))
        world.advance(3)
        assert process.runtime.stats().store_waiting == 1
        world.release("provider_dispatch#1")
        process.do(execution)
        stats = process.runtime.stats()
        assert set(stats.barriers) == {"admission", "provider_dispatch", "outcome"}
        assert stats.barriers["provider_dispatch"] == Latency(count=1, total=3.0, longest=3.0, p50=3.0, p99=3.0)
        assert stats.barriers["outcome"] == Latency(count=1)
        assert stats.store_waiting == 0


def test_what_had_to_be_asked_again_is_counted() -> None:
    faults = [Fault("provider_dispatch#1", "unavailable", times=3), Fault("outcome#1", "lose_reply_committed")]
    with World(AGENT, faults=faults) as world:
        process = world.open(poll_interval=0)
        assert isinstance(process.do(process.runtime.run(AGENT, "go")), Completed)
        stats = process.runtime.stats()
        assert stats.barrier_retries == {"provider_dispatch": 3, "outcome": 1}
        assert stats.barriers["provider_dispatch"].count == 4


def test_retries_of_models_are_counted() -> None:
    busy = ModelError("busy", retry_safe=True)
    agent = Agent(name="a", model=scripted([busy, busy, "done"], record=False), retries=Retries(attempts=4))
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        assert process.runtime.stats().model_retries == 2


def test_what_came_too_late_is_counted_by_its_name() -> None:
    agent = Agent(name="a", model=scripted([hang()], record=False), run_timeout=5)
    with World(agent) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go"))
        world.settle()
        live = process.runtime._keeper.live(execution.id)
        assert live is not None
        process.do(execution)
        process.runtime._keeper._poster(live)("deadline_exceeded", None, None, None)
        world.settle()
        assert process.runtime.stats().dropped == {"deadline_exceeded": 1}


def test_operations_that_go_to_the_store_together_are_a_batch() -> None:
    @tool
    def one(n: int) -> str:
        """One."""
        return str(n)

    agent = Agent(
        name="a", model=scripted([calls(*(call("one", n=n) for n in range(4))), "done"], record=False), tools=[one]
    )
    with World(agent) as world:
        process = world.open()
        process.do(process.runtime.run(agent, "go"))
        assert process.runtime.stats().batches == Batches(count=6, operations=9, largest=4)


def test_a_value_is_frozen_and_what_happens_later_does_not_change_it() -> None:
    with World(AGENT) as world:
        process = world.open()
        before = process.runtime.stats()
        process.do(process.runtime.run(AGENT, "go"))
        assert (before.started, before.ended, before.barriers) == (0, {}, {})
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            before.started = 5  # type: ignore[misc]


def test_metrics_exporters_get_plain_json() -> None:
    with World(AGENT) as world:
        process = world.open()
        process.do(process.runtime.run(AGENT, "go"))
        data = process.runtime.stats().to_dict()
        assert json.loads(json.dumps(data)) == data
        assert data["barriers"]["outcome"]["count"] == 1
        assert data["lease"]["lapses"] == 0


def test_other_parts_of_a_runtime_can_add_what_they_count() -> None:
    with World(AGENT) as world:
        process = world.open()
        process.runtime._keeper.counters.gauges["slots_waiting"] = lambda: 7
        assert process.runtime.stats().gauges["slots_waiting"] == 7


def test_counters_can_be_read_after_closing_and_not_before_opening() -> None:
    async def main() -> Stats:
        runtime = Runtime("memory://", [AGENT])
        with pytest.raises(RuntimeClosed, match="has not been opened"):
            runtime.stats()
        async with runtime:
            await runtime.run(AGENT, "go")
        return runtime.stats()

    assert asyncio.run(main()).ended == {"completed": 1}


def test_a_real_runtime_tells_of_its_threads(tmp_path: Path) -> None:
    entered, release = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        """Block."""
        entered.set()
        release.wait(10)
        return "done"

    agent = Agent(name="a", model=scripted([call("block"), "done"]), tools=[block])

    async def main() -> tuple[Stats, Stats]:
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as runtime:
            execution = await runtime.start(agent, "go")
            await asyncio.to_thread(entered.wait, 10)
            during = runtime.stats()
            release.set()
            await execution
            return during, runtime.stats()

    during, after = asyncio.run(main())
    assert during.pool.threads - during.pool.idle >= 1
    assert (during.executing, during.pool.waiting) == (1, 0)
    assert after.barriers["tool_outcome"].count == 1
    assert 0 < after.barriers["tool_outcome"].longest < 10
    assert after.store_waiting == 0


def test_the_blocking_runtime_answers_from_any_thread() -> None:
    with sync.Runtime("memory://", [AGENT]) as runtime:
        runtime.run(AGENT, "go")
        found: list[Stats] = []
        threads = [threading.Thread(target=lambda: found.append(runtime.stats())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [stats.ended for stats in found] == [{"completed": 1}] * 4
    with pytest.raises(RuntimeClosed):
        runtime.stats()


# the histogram --------------------------------------------------------------------------------------------------------


def metered(*times: float) -> Latency:
    meter = Meter()
    for one in times:
        meter.add(one)
    return meter.read()


def test_without_any_time_there_is_none() -> None:
    assert metered() == Latency()


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=200))
def test_an_estimate_is_no_less_than_the_true_value_and_at_most_twice_of_it(times: list[float]) -> None:
    latency = metered(*times)
    ordered = sorted(times)
    assert latency.longest == ordered[-1]
    assert latency.total == pytest.approx(sum(times))
    for share, estimate in ((0.5, latency.p50), (0.99, latency.p99)):
        true = ordered[math.ceil(len(ordered) * share) - 1]
        assert true <= estimate <= latency.longest
        assert estimate <= max(2 * true, BOUNDS[0]) or true > BOUNDS[-1]


@pytest.mark.parametrize("odd", [-5.0, 0.0])
def test_a_clock_that_was_set_back_is_no_time_at_all(odd: float) -> None:
    assert metered(odd) == Latency(count=1)


def test_a_meter_keeps_its_size() -> None:
    meter = Meter()
    for one in range(10_000):
        meter.add(one / 7)
    assert len(meter._cells) == len(BOUNDS) + 1
