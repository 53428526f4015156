"""How long a barrier takes, at its usual and at its worst, and whether it waits for application code of others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Final, TypeVar

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import tool
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.llm.scripted import call, calls, scripted
from pawl.runtime.loop.environment import AsyncioEnvironment
from pawl.runtime.store.answers import Answer
from pawl.runtime.store.port import Operation
from pawl.runtime.store.sqlite_connect import Synchronous
from pawl.tools.bench.bare_log import BareLog
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import CountedStore, finish, on_disk, running, talker, texts, uncollected

T = TypeVar("T")

RUNS: Final = 30
ROUNDS: Final = 5
BATCHES: Final = 3
THREADS: Final = 32
"""Of the pool for application code."""


class TimedStore(CountedStore):
    """A store that measures how long each barrier takes, from its submission to its answer, in seconds."""

    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        super().__init__(path, synchronous)
        self.took: list[float] = []

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:
        """Measure it where it is a barrier."""
        if getattr(getattr(operation, "__self__", None), "barrier", None) is None:
            return super().submit(operation, answer)
        begin = perf_counter()

        def answered(said: Answer[T]) -> None:
            self.took.append(perf_counter() - begin)
            answer(said)

        return super().submit(operation, answered)


class QuickLog(BareLog):
    """The bare log as a store that is `NORMAL` commits: the disk has it a little later."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._connection.execute("PRAGMA synchronous = NORMAL")


LOGS: Final[dict[Synchronous, type[BareLog]]] = {"FULL": BareLog, "NORMAL": QuickLog}


@attrs.frozen
class Latency:
    """Milliseconds of a barrier, and of a commit of a bare log on the same disk at the same time."""

    p50: float
    p99: float
    bare_p50: float
    bare_p99: float


def barrier_full_p50_ms() -> Figure:
    """Half of all barriers of runs that are alone take at most so long; a commit is on disk when it is answered."""
    return _figure("barrier_full_p50_ms", latency("FULL"))


def barrier_full_p99_ms() -> Figure:
    """And all but one in a hundred."""
    return _figure("barrier_full_p99_ms", latency("FULL"))


def barrier_normal_p50_ms() -> Figure:
    """The same where a commit is on disk a little after it is answered: a loss of power may undo the last ones."""
    return _figure("barrier_normal_p50_ms", latency("NORMAL"))


def barrier_normal_p99_ms() -> Figure:
    """And all but one in a hundred."""
    return _figure("barrier_normal_p99_ms", latency("NORMAL"))


def _figure(name: str, seen: Latency) -> Figure:
    """Beside the disk that it was measured on: the limit is four commits of a bare log that is as safe, and a
    millisecond for Python; at the worst ten, for whatever else the machine does in between.
    """
    usual = "p50" in name
    value, bare = (seen.p50, seen.bare_p50) if usual else (seen.p99, seen.bare_p99)
    limit = round(4 * bare + (1 if usual else 10), 3)
    note = f"a bare log's commit takes {bare:.3g} ms here; the limit is 4 of these and {'1 ms' if usual else '10 ms'}"
    return Figure(name, value, limit, "ms", note=note)


@cache
def latency(synchronous: Synchronous, runs: int = RUNS, batches: int = BATCHES) -> Latency:
    """Of the quietest of a few batches."""
    return min((asyncio.run(_batch(synchronous, runs)) for _ in range(batches)), key=lambda seen: seen.p99)


async def _batch(synchronous: Synchronous, runs: int) -> Latency:
    """Runs one after the other, and after each of them as many commits of a bare log as it had barriers."""
    agent = talker(ROUNDS)
    bare: list[float] = []
    with on_disk() as folder, uncollected():
        log, store = LOGS[synchronous](folder / "bare.db"), TimedStore(folder / "pawl.db", synchronous)
        async with running(store, agent) as runtime:
            await finish(await runtime.create(agent, "warm"))
            store.took.clear()
            for number in range(runs):
                handle = await runtime.create(agent, f"agent {number}")
                before = len(store.took)
                await finish(handle)
                for _ in store.took[before:]:
                    begin = perf_counter()
                    log.write(f"{handle.id} {len(bare)}", [texts().next()])
                    bare.append(perf_counter() - begin)
        log.close()
    return Latency(*_ms(store.took), *_ms(bare))


def _ms(seconds: list[float]) -> tuple[float, float]:
    """The middle, and what one in a hundred is above, in milliseconds."""
    return median(seconds) * 1000, quantiles(seconds, n=100)[98] * 1000


# beside application code ---------------------------------------------------------------------------------------------


def barrier_beside_bodies_ratio(bodies: int = 64, runs: int = 10, batches: int = 6) -> Figure:
    """Time of a barrier while tool bodies of other agents hold every thread and more wait; times that without them.

    Medians of two turns in the same process, the better of a few batches. The bodies end when the runs have.
    """
    ratio = min(asyncio.run(_beside(bodies, runs)) for _ in range(batches))
    note = "what is written and read has threads of its own"
    return Figure("barrier_beside_bodies_ratio", ratio, 1.5, "times", note=note)


async def _beside(bodies: int, runs: int) -> float:
    release, entered = threading.Event(), threading.Semaphore(0)

    @tool
    def hold() -> str:
        """Until it is released."""
        entered.release()
        release.wait()
        return "held"

    holder = Agent(name="holder", model=scripted([calls(call("hold")), "done"], record=False), tools=[hold])
    quick = talker(ROUNDS)
    with on_disk() as folder, uncollected():
        store = TimedStore(folder / "pawl.db", "NORMAL")

        async def turn(name: str) -> float:
            store.took.clear()
            for number in range(runs):
                await finish(await runtime.create(quick, f"{name} {number}"))
            return median(store.took)

        environment = AsyncioEnvironment(workers=THREADS)
        async with Runtime(store, [quick, holder], environment=environment, poll_interval=0) as runtime:
            try:
                await turn("warm")
                before = await turn("alone")
                held = [await runtime.start(holder, "Hold.", agent_id=f"holder {number}") for number in range(bodies)]
                for _ in range(min(bodies, THREADS)):
                    await asyncio.to_thread(entered.acquire)
                beside = await turn("beside")
            finally:
                release.set()
            for execution in held:
                await execution
            after = await turn("alone again")
    return beside / ((before + after) / 2)
