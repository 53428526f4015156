"""The environment of one simulated process: virtual time, counted ids, blocking work run inline when its turn comes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from pawl.runtime.execution.lease import Lease
from pawl.runtime.execution.watch import Watch
from pawl.runtime.loop.environment import Cancellable
from pawl.runtime.loop.pool import JobSkipped, PoolState
from pawl.runtime.records.agents import Owner
from pawl.runtime.records.errors import Backpressure, RuntimeClosed
from pawl.runtime.simulation.clock import EPOCH, Left, VirtualLoop
from pawl.runtime.simulation.faults import ProcessLost

T = TypeVar("T")
Done = Callable[[T | None, BaseException | None], None]

_LONGEST_DELAY = 3
"""Turns of the loop by which a result may come later than it could, where the order is shuffled."""


class Held(Exception):
    """Raised by a body before it does anything: it wants to begin later. `parked` gets what makes it begin."""

    def __init__(self, parked: Callable[[Callable[[], None]], None]) -> None:
        self.parked = parked
        super().__init__("held")


class SimulatedEnvironment:
    """What a Runtime needs of the world, on a VirtualLoop.

    `shuffle`, where given, delays results by some turns of the loop, so that they arrive in another order. `full`
    makes the offload pool refuse with Backpressure; `crowded` is asked whether it does for the next one. `leaps`:
    renewals of the lease and looks at the store are kept apart as `upkeep`, which happens when time has passed, and
    for which time does not stop.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        name: str,
        pid: int,
        is_dead: Callable[[Owner], bool],
        shuffle: random.Random | None = None,
        crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._loop, self._name, self._pid, self._is_dead, self._shuffle = loop, name, pid, is_dead, shuffle
        self._crowded = crowded
        self._ids = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._takes = 0.0
        self._random = random.Random(name)
        self.full = False
        self.closed = False
        self.leaps = False
        self.upkeep: list[Upkeep] = []

    def now(self) -> float:
        """Unix seconds of the virtual clock."""
        return EPOCH + self._loop.time()

    def elapsed(self) -> float:
        """Seconds of the virtual clock."""
        return self._loop.time()

    def new_id(self) -> str:
        """The process's name and a number."""
        self._ids += 1
        return f"{self._name}{self._ids:06d}"

    def random(self) -> float:
        """The same numbers in every run of the simulation, others in every process of it."""
        return self._random.random()

    def lease(self, owner_id: str, expires_at: float) -> Owner:
        """Of this simulated process."""
        return Owner(owner_id, "simulation", self._pid, 0.0, expires_at)

    def is_dead(self, owner: Owner) -> bool:
        """As far as the world says."""
        return self._is_dead(owner)

    def wake(self, callback: Callable[[], None]) -> None:
        """Run it in a later turn."""
        self._loop.call_soon(callback)

    def later(self, seconds: float, callback: Callable[[], None]) -> Cancellable:
        """On the virtual clock."""
        if self.leaps and isinstance(getattr(callback, "__self__", None), Lease | Watch):
            return Upkeep(self.upkeep, self._loop.time() + seconds, callback)
        return self._loop.call_later(seconds, callback)

    def keep_up(self) -> bool:
        """Let the upkeep happen that is due by now. False when none is."""
        due = [one for one in self.upkeep if one.due <= self._loop.time()]
        for one in due:
            one.cancel()
            self._loop.call_soon(one.callback)
        return bool(due)

    def offload(self, body: Callable[[], T], done: Done[T]) -> SimulatedJob[T]:
        """Run `body` on the loop when its turn comes. Raises Backpressure, RuntimeClosed."""
        if not self.closed and (self._crowded() or self.full):
            raise Backpressure("the simulated pool is full; nothing was started, try again later")
        return self.read(body, done)

    def read(self, body: Callable[[], T], done: Done[T]) -> SimulatedJob[T]:
        """The same, also where the pool is full. Raises RuntimeClosed."""
        if self.closed:
            raise RuntimeClosed("the runtime is closed; nothing more is started")
        job = SimulatedJob(self, body, done)
        self.soon(job.run)
        return job

    def offloaded(self) -> PoolState:
        """There are no threads here, and nothing waits for one."""
        return PoolState()

    def takes(self, seconds: float) -> None:
        """Called by a blocking body: it ends that much later than it returns."""
        self._takes = seconds

    def taken(self) -> float:
        """What the body that has just returned takes, in seconds."""
        seconds, self._takes = self._takes, 0.0
        return seconds

    def soon(self, callback: Callable[[], None]) -> None:
        """Run it in the next turn, or some turns later where the order is shuffled."""
        turns = self._shuffle.randrange(_LONGEST_DELAY) if self._shuffle is not None else 0

        def hop(left: int) -> None:
            if left:
                self._loop.call_soon(hop, left - 1)
            else:
                callback()

        self._loop.call_soon(hop, turns)

    def spawn(self, work: Coroutine[Any, Any, T], done: Done[T]) -> asyncio.Task[T]:
        """As a task of the virtual loop."""
        task = self._loop.task(work, outcome=True)
        self._tasks.add(task)

        def ended(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                done(None, asyncio.CancelledError())
            elif isinstance(error := task.exception(), Left):
                done(None, error.said)
            else:
                done(None if error is not None else task.result(), error)

        task.add_done_callback(ended)
        return task

    def future(self) -> asyncio.Future[Any]:
        """A future of the virtual loop."""
        return self._loop.create_future()

    async def close(self) -> None:
        """As in production: tasks are cancelled, blocking bodies are not waited for."""
        self.closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)


class Upkeep:
    """Something that is to happen at a time or later."""

    def __init__(self, kept: list[Upkeep], due: float, callback: Callable[[], None]) -> None:
        self._kept, self.due, self.callback = kept, due, callback
        kept.append(self)

    def cancel(self) -> None:
        """Call it off."""
        if self in self._kept:
            self._kept.remove(self)


class SimulatedJob(Generic[T]):
    """One blocking body: waiting for its turn, held, or begun."""

    def __init__(self, environment: SimulatedEnvironment, body: Callable[[], T], done: Done[T]) -> None:
        self._environment, self._body, self._done = environment, body, done
        self._begun = self._cancelled = False

    def cancel(self) -> bool:
        """Skip it if it has not begun. False when it has."""
        if self._begun or self._cancelled:
            return False
        self._cancelled = True
        self._environment.soon(self.run)
        return True

    def run(self) -> None:
        """Run the body now; its end is reported later."""
        if self._begun:
            return
        self._begun = True
        if self._cancelled:
            self._environment.soon(lambda: self._done(None, JobSkipped()))
            return
        try:
            value = self._body()
        except Held as held:
            self._begun = False
            held.parked(lambda: self._environment.soon(self.run))
        except ProcessLost:
            raise
        except (Exception, SystemExit) as error:  # an outcome like any other, as in production
            self._end(None, error)
        else:
            self._end(value, None)

    def _end(self, value: T | None, error: BaseException | None) -> None:
        seconds = self._environment.taken()
        if seconds > 0:
            self._environment.later(seconds, lambda: self._done(value, error))
        else:
            self._environment.soon(lambda: self._done(value, error))
