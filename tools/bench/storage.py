"""What a long run costs on disk, and whether its last barriers cost more than its first ones."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time

import attrs

from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import BODY, CountedStore, finish, on_disk, running, talker, texts

ROUNDS = 1_000
LONG = 10_000

_WINDOW = 10
"""How many rounds the cost of a barrier is taken from."""

_TOLD = 1_000
"""Rounds between two words on progress."""


@attrs.frozen
class Grown:
    """One run: bytes of the file and of the texts in it, and the processor seconds from each barrier to the next."""

    rounds: int
    file: int
    payload: int
    costs: tuple[float, ...]

    def cost(self, around: int) -> float:
        """Median seconds of a barrier in the twenty rounds around one of them (-1: the last twenty)."""
        a_round = len(self.costs) // self.rounds
        end = len(self.costs) if around < 0 else (around + _WINDOW) * a_round
        return median(self.costs[max(0, end - 2 * _WINDOW * a_round) : end])


def storage_ratio(rounds: int = ROUNDS) -> Figure:
    """Bytes on disk for each byte of text, after a run of 1,000 rounds of two messages of 2 KB."""
    run = grown(rounds)
    note = "two texts of 2 KB leave room in a page of 8 KiB; a digest, four journal rows and a tool row a round"
    return Figure("storage_ratio", run.file / run.payload, 2.5, "times", note=note)


def storage_growth(rounds: int = LONG, before: int = ROUNDS) -> Figure:
    """Bytes on disk after 10,000 rounds; times those after 1,000. Linear storage grows tenfold."""
    growth = grown(rounds).file / grown(before).file
    return Figure("storage_growth", growth, 10.5, "times", note="everything that grows is appended")


def last_barrier_ratio(rounds: int = ROUNDS, runs: int = 3) -> Figure:
    """Processor time of a barrier at the end of a run of 1,000 rounds; times that around its tenth round.

    Both are taken from the quietest of a few runs: twenty rounds are over in a moment, and other work can fill it.
    """
    measured = [grown(rounds, turn) for turn in range(runs)]
    last, tenth = min(run.cost(-1) for run in measured), min(run.cost(_WINDOW) for run in measured)
    return Figure("last_barrier_ratio", last / tenth, 1.2, "times", note="deeper trees; nothing is read again")


@cache
def grown(rounds: int, turn: int = 0) -> Grown:  # noqa: ARG001 - tells the measurements apart
    """Measure one run. Without a sync of each commit: that changes nothing of what is written."""
    with on_disk() as folder:
        asyncio.run(_moments(CountedStore(folder / "warm.db", "NORMAL"), 2 * _WINDOW))
        before = texts().given
        moments = asyncio.run(_moments(CountedStore(folder / "pawl.db", "NORMAL"), rounds))
        payload = (texts().given - before) * BODY
        return Grown(rounds, _size(folder / "pawl.db"), payload, tuple(b - a for a, b in pairwise(moments)))


async def _moments(store: CountedStore, rounds: int) -> list[float]:
    """Run it. The moment of every barrier, in seconds of processor time."""
    agent, moments = talker(rounds), []

    def each() -> None:
        moments.append(process_time())
        done, begun = divmod(len(moments), 3)
        if not begun and not done % _TOLD and sys.stderr.isatty():
            print(f"  {done} of {rounds} rounds", file=sys.stderr)  # noqa: T201 - on a terminal only

    store.each = each
    async with running(store, agent) as runtime:
        await finish(await runtime.create(agent, "agent"))
    return moments


def _size(path: Path) -> int:
    """Bytes of the file when all of its log has been moved into it."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.close()
    return path.stat().st_size
