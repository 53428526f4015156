"""What a runtime counts: mutable while it works, a frozen value for whoever reads it.

The loop writes these, but for what is marked: a store's thread writes the times of its own answers. Everything is
counted from the opening of the runtime, in this process.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from pawl.runtime.loop.pool import PoolState

BOUNDS: Final = tuple(0.0001 * 2**power for power in range(20))
"""Upper bounds of the histogram's cells, in seconds: from 0.1 ms to 52 s, each twice the one before."""


@attrs.frozen(kw_only=True)
class Latency:
    """How long something took, in seconds. `p50` and `p99` are estimates from a histogram whose cells double: at most
    twice the true value, and never above `longest`.
    """

    count: int = 0
    total: float = 0.0
    longest: float = 0.0
    p50: float = 0.0
    p99: float = 0.0


@attrs.frozen(kw_only=True)
class Batches:
    """Operations that were handed to the store together, and that it commits in one group: how often, and how many."""

    count: int = 0
    operations: int = 0
    largest: int = 0


@attrs.frozen(kw_only=True)
class LeaseState:
    """This process's lease: its owner id, until when it holds (unix seconds), and how often it was renewed too late."""

    owner: str
    expires_at: float
    lapses: int = 0


@attrs.frozen(kw_only=True)
class Stats:
    """Counters of one runtime, from its opening to now.

    `executing` runs are here now, `moving` of them on their way to a rest. `started` were admitted here, `adopted`
    taken over from the record; `rested` counts rests by what was waited for ("approval", "resolution"), `ended`
    outcomes by status, `closed` the runs that were closed because what was written was not known.

    `dropped` counts, by event, what came too late to mean anything. `model_retries` are further attempts of model
    calls; `barrier_retries`, by barrier, answers of the store after which it was asked again. `barriers` is the time
    from submission to answer, by barrier.

    `inbox` messages wait for the loop, `inbox_deepest` is the most that it found at once; `store_waiting` barriers
    and read-backs have no answer yet. `listener_failures` counts listeners that raised; `listener_slow` calls that
    held the loop for more than a tenth of a second, `listener_longest` how long the longest did (seconds). `gauges`
    are what other parts count, by name.
    """

    executing: int
    moving: int
    started: int
    adopted: int
    rested: Mapping[str, int]
    ended: Mapping[str, int]
    closed: int
    dropped: Mapping[str, int]
    model_retries: int
    barrier_retries: Mapping[str, int]
    barriers: Mapping[str, Latency]
    batches: Batches
    inbox: int
    inbox_deepest: int
    store_waiting: int
    pool: PoolState
    listener_failures: int
    listener_slow: int
    listener_longest: float
    lease: LeaseState
    gauges: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON data, for whoever exports metrics."""
        return attrs.asdict(self)


class Meter:
    """A histogram with a fixed number of cells. One thread adds, any reads."""

    __slots__ = ("_cells", "longest", "total")

    def __init__(self) -> None:
        self._cells = [0] * (len(BOUNDS) + 1)
        self.total = self.longest = 0.0

    def add(self, seconds: float) -> None:
        """One more. A clock that was set back counts as no time at all."""
        if seconds < 0:
            seconds = 0.0
        self._cells[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)

    def read(self) -> Latency:
        """What was added so far."""
        cells = tuple(self._cells)
        return Latency(
            count=sum(cells),
            total=self.total,
            longest=self.longest,
            p50=self._below(cells, 0.5),
            p99=self._below(cells, 0.99),
        )

    def _below(self, cells: tuple[int, ...], share: float) -> float:
        """A time that this share of all did not exceed."""
        wanted, seen = share * sum(cells), 0
        for place, number in enumerate(cells):
            seen += number
            if number and seen >= wanted:
                return min(BOUNDS[place], self.longest) if place < len(BOUNDS) else self.longest
        return 0.0


class Counters:
    """What the parts of a runtime count into."""

    def __init__(self) -> None:
        self.started = self.adopted = self.closed = self.model_retries = 0
        self.submitted = 0
        self.rested: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.dropped: dict[str, int] = {}
        self.gauges: dict[str, Callable[[], float]] = {}
        # Written by the store's thread:
        self.answered = 0
        self.barriers: dict[str, Meter] = {}
        self.barrier_retries: dict[str, int] = {}

    def took(self, barrier: str, seconds: float, *, again: bool) -> None:
        """A barrier's submission was answered; `again` when it has to be asked about, or submitted, once more."""
        meter = self.barriers.get(barrier)
        if meter is None:
            meter = self.barriers[barrier] = Meter()
        meter.add(seconds)
        if again:
            count(self.barrier_retries, barrier)


def count(counts: dict[str, int], name: str) -> None:
    """One more of that name."""
    counts[name] = counts.get(name, 0) + 1
