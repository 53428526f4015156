"""A thousand runs at once, beside a bare asyncio program that commits as often: time, and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import attrs

from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import on_disk

RUNS, ROUNDS, MODEL, TOOL = 1_000, 5, 0.02, 0.005
"""Runs, their rounds, and the seconds that a model and a tool take."""


@attrs.frozen
class Pair:
    """One measurement of each: seconds, and peak memory in KiB."""

    seconds: float
    bare_seconds: float
    peak: int
    bare_peak: int


def concurrent_time_ratio(runs: int = RUNS, tries: int = 3) -> Figure:
    """1,000 runs of five rounds at once, a model of 20 ms and tools of 5 ms; times the bare program's seconds.

    The best of a few tries of the one and of the other: what else the machine does slows either down.
    """
    pairs = measured(runs, tries)
    ratio = min(pair.seconds for pair in pairs) / min(pair.bare_seconds for pair in pairs)
    note = "Python's one running thread: the loop and the store's thread take turns; a fifth is the garbage collector's"
    return Figure("concurrent_time_ratio", ratio, 6.0, "times", note=note)


def concurrent_memory_ratio(runs: int = RUNS, tries: int = 3) -> Figure:
    """The most memory that the same processes had, interpreter and libraries included; times the bare program's."""
    pairs = measured(runs, tries)
    ratio = min(pair.peak / pair.bare_peak for pair in pairs)
    note = "the library itself, and the conversations that runs hold: 20 KB of text each, which the bare program drops"
    return Figure("concurrent_memory_ratio", ratio, 5.0, "times", note=note)


@cache
def measured(runs: int, tries: int) -> tuple[Pair, ...]:
    """Both programs in turns, each in a process of its own. Raises AssertionError when one did less than the other."""
    return tuple(_pair(runs) for _ in range(tries))


def _pair(runs: int) -> Pair:
    bare, ours = _program("bare_crowd", runs), _program("crowd", runs)
    if bare["barriers"] != ours["barriers"]:
        raise AssertionError(f"{ours['barriers']} barriers were compared with {bare['barriers']} commits")
    return Pair(ours["seconds"], bare["seconds"], ours["peak"], bare["peak"])


def _program(name: str, runs: int) -> dict[str, Any]:
    with on_disk() as folder:
        asked = (folder / "runs.db", runs, ROUNDS, MODEL, TOOL)
        command = [sys.executable, "-m", f"pawl.tools.bench.{name}", *map(str, asked)]
        child = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(child.stdout)
    return found
