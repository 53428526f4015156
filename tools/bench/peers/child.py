"""One measurement in a process of its own: `python -m pawl.tools.bench.peers.child WORK CONTESTANT AMOUNT`.

The last line on stdout is a JSON object of numbers. Runs in the environment of the peers.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from pawl.tools.bench.lifecycle import DAY
from pawl.tools.bench.peers.machines import CONTESTANTS
from pawl.tools.bench.peers.ours import ALL_ALONE, ALL_TOGETHER
from pawl.tools.bench.rounds import on_disk

ROUNDS = 5
MODEL_SECONDS, TOOL_SECONDS = 0.020, 0.005
_WARM_UP = 3


def steps(name: str, seconds: float) -> dict[str, float]:
    """Events a second, microseconds and bytes of one instance. Raises AssertionError when it does something else."""
    contestant = CONTESTANTS[name][1]()
    instance = contestant.new()
    entered = contestant.seen(instance)[1]
    contestant.day(instance)
    state, after = contestant.seen(instance)
    assert (state, after - entered) == ("idle", len(DAY)), f"{name} ended in {state} after {after - entered} entries"
    gc.collect()
    gc.disable()
    days, begin = 0, perf_counter()
    while perf_counter() < begin + seconds:
        contestant.day(instance)
        days += 1
    rate = days * len(DAY) / (perf_counter() - begin)
    gc.enable()
    count = 1000
    begin = perf_counter()
    kept = [contestant.new() for _ in range(count)]
    construct = (perf_counter() - begin) / count
    kept.clear()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept += [contestant.new() for _ in range(count)]
    size = (tracemalloc.get_traced_memory()[0] - before) / count
    return {"events_per_s": rate, "construct_us": construct * 1e6, "bytes": size}


def alone(name: str, executions: int) -> dict[str, float]:
    """One run after the other: seconds, processor and bytes of each."""
    with on_disk() as folder:
        contestant = ALL_ALONE[name][1](folder, (0.0, 0.0))
        found = _driven(contestant, lambda run: _one_by_one(run, executions))
        stored = sum(path.stat().st_size for path in folder.iterdir())
    return {
        "ms": found["seconds"] / executions * 1e3,
        "cpu_ms": found["cpu"] / executions * 1e3,
        "written_kb": found["written"] / executions / 1024,
        "stored_kb": stored / (executions + _WARM_UP) / 1024,
    }


def together(name: str, executions: int) -> dict[str, float]:
    """Many runs at once: seconds, processor and peak memory of all."""
    with on_disk() as folder:
        contestant = ALL_TOGETHER[name][1](folder, (MODEL_SECONDS, TOOL_SECONDS))
        found = _driven(contestant, lambda run: _at_once(run, executions))
    return {"seconds": found["seconds"], "cpu_s": found["cpu"], "peak_mb": found["peak"], "grown_mb": found["grown"]}


Run = Callable[[str], Any]


async def _one_by_one(run: Run, executions: int) -> None:
    for number in range(executions):
        await run(f"run-{number}")


async def _at_once(run: Run, executions: int) -> None:
    await asyncio.gather(*(run(f"run-{number}") for number in range(executions)))


def _driven(contestant: Any, work: Callable[[Run], Any]) -> dict[str, float]:
    """Warm up, then the work between two looks at the clocks."""

    async def asynchronous() -> dict[str, float]:
        async def run(name: str) -> None:
            await contestant.run(name, ROUNDS)

        for number in range(_WARM_UP):
            await run(f"warm-{number}")
        before = _looked()
        await work(run)
        found = _between(before, _looked())
        await contestant.close()
        return found

    if contestant.is_async:
        return asyncio.run(asynchronous())

    async def run(name: str) -> None:
        contestant.run(name, ROUNDS)

    for number in range(_WARM_UP):
        contestant.run(f"warm-{number}", ROUNDS)
    before = _looked()
    _without_a_loop(work(run))
    found = _between(before, _looked())
    contestant.close()
    return found


def _without_a_loop(coroutine: Any) -> None:
    """Run a coroutine that never waits: a library without coroutines must not find a loop running."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited for something")


def _looked() -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": perf_counter(), "cpu": process_time(), "written": _written(), "peak": peak}


def _between(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    found = {name: after[name] - before[name] for name in ("seconds", "cpu", "written")}
    return {**found, "peak": after["peak"], "grown": after["peak"] - before["peak"]}


def _written() -> float:
    """Bytes that this process has caused to be written to the disk; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return float(next((line.split()[1] for line in lines if line.startswith("write_bytes")), 0))


def first(name: str, folder: str) -> dict[str, float]:
    """End this process at once when the first run has ended: whoever started it knows how long that took."""
    contestant = ALL_ALONE[name][1](Path(folder), (0.0, 0.0))

    async def run() -> None:
        await contestant.run("first", 1)
        _leave({})

    if contestant.is_async:
        asyncio.run(run())
    else:
        contestant.run("first", 1)
    return {}


def _leave(found: dict[str, float]) -> None:
    """Say it, and go without waiting for anybody's threads."""
    print(json.dumps(found), flush=True)
    os._exit(0)


def main(work: str, name: str, amount: str) -> None:
    """`amount` is seconds of steps, a number of runs, or the folder of a first run."""
    match work:
        case "steps":
            _leave(steps(name, float(amount)))
        case "alone":
            _leave(alone(name, int(amount)))
        case "together":
            _leave(together(name, int(amount)))
        case "first":
            _leave(first(name, amount))
        case _:
            sys.exit(f"no such work: {work}")


if __name__ == "__main__":
    main(*sys.argv[1:])
