"""A world: processes over one durable store, on one virtual clock, with faults where they were planned.

    with World(agent, faults=[Fault("tool_outcome#2", "crash_before_commit")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go", id="r1"))

Everything happens on the calling thread, in an order that the seed decides. Leaving the block checks the invariants.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from pawl.runtime.agent.definition import Agent
from pawl.runtime.records.agents import Owner
from pawl.runtime.simulation.bodies import watched
from pawl.runtime.simulation.faults import Fault, ProcessLost
from pawl.runtime.simulation.hearing import Hearing
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Store

T = TypeVar("T")

_MOST_TURNS = 1_000_000
"""Turns without the passing of time, after which a world is given up."""


class Stuck(AssertionError):
    """Nothing can move any more, or nothing comes of it in the time that was given."""


class World(Hearing):
    """See the module.

    `agents` are registered in every process, watched. `store` is inline and new: `MemoryStore(inline=True)` by
    default, or `SqliteStore(path, inline=True)`. `shuffle`: results arrive in an order drawn from `seed`; else in the
    order in which they were asked for. `leap`: while one process lives alone, its renewals and looks do not make time
    stop, so that days pass at once. Other keywords go to every Runtime.
    """

    def __init__(
        self,
        *agents: Agent[Any],
        faults: Iterable[Fault] = (),
        store: Store | None = None,
        seed: int = 0,
        shuffle: bool = False,
        leap: bool = False,
        **options: Any,
    ) -> None:
        self.agents, self._options, self._leap = agents, options, leap
        super().__init__(store if store is not None else MemoryStore(inline=True), faults)
        self.unavailable = 0
        self.group = False
        """Whether what is submitted in one turn of a process is committed together."""
        self.processes: list[Process] = []
        self._random = random.Random(seed)
        self._shuffle = self._random if shuffle else None
        self._parked: dict[str, list[tuple[Process, Callable[[], None]]]] = {}
        self._dead: set[int] = set()

    # processes ----------------------------------------------------------------------------------------------

    def open(self, *agents: Agent[Any], watch: bool = True, **options: Any) -> Process:
        """A new process, with other definitions or options than the world's where they are given.

        `watch` false registers the definitions as they are: their tools and models are not counted then.
        """
        process = self._process(agents or self.agents, watch, {**self._options, **options})
        return self.opened(process, process.begin(process.runtime.__aenter__()))

    def begin_open(self, *agents: Agent[Any], **options: Any) -> tuple[Process, asyncio.Task[Any]]:
        """The same, without waiting until it is open: see `opened`."""
        process = self._process(agents or self.agents, True, {**self._options, **options})
        return process, process.begin(process.runtime.__aenter__())

    def opened(self, process: Process, opening: asyncio.Task[Any]) -> Process:
        """Wait until a process is open. Raises what its Runtime raises on entering, CallLost."""
        try:
            self.wait(opening)
        except Exception:
            self.lose(process)
            raise
        return process

    def _process(self, agents: Iterable[Agent[Any]], watch: bool, options: dict[str, Any]) -> Process:
        pid = len(self.processes) + 1
        known = tuple(watched(agent, self) if watch else agent for agent in agents)
        process = Process(self, self.store, self.clock, f"p{pid}-", pid, known, self._shuffle, options)
        process.environment.leaps = self._leap
        self.processes.append(process)
        return process

    def ready(self) -> Process:
        """The first process that lives; a new one when none does."""
        return (
            next((process for process in self.processes if process.alive and not process.paused), None) or self.open()
        )

    def lose(self, process: Process, *, host: bool = False) -> None:
        """Lose a process: nothing of it runs any more. `host`: with its machine, so that nobody can tell it is dead."""
        process.alive = False
        if not host:
            self._dead.add(process.pid)
        for parked in self._parked.values():
            parked[:] = [(of, go) for of, go in parked if of is not process]

    def end(self, process: Process) -> None:
        """A process that has closed its runtime ends."""
        self.lose(process)

    def pause(self, process: Process) -> None:
        """Stop a process, as a machine that sleeps: no renewals, no messages, until `unpause`."""
        process.paused = True

    def unpause(self, process: Process) -> None:
        """Let it go on: everything that was due comes at once."""
        process.paused, process.restless = False, True

    def is_dead(self, owner: Owner) -> bool:
        """Whether the process behind a lease is known to be gone."""
        return owner.host == "simulation" and owner.pid in self._dead

    @property
    def turning(self) -> bool:
        """Whether code of a process runs right now."""
        return self._turning is not None

    # time and turns -----------------------------------------------------------------------------------------

    def wait(self, call: asyncio.Task[T], *, within: float = 3600.0) -> T:
        """Let the world go on until `call` is done, passing at most `within` virtual seconds. Its result.

        Raises what the call raised, CallLost when its process is gone, Stuck, Violated.
        """
        process = next(process for process in self.processes if process.loop is call.get_loop())
        until = self.clock.time + within
        while not call.done():
            if not process.alive:
                raise CallLost(f"process {process.name} was lost during the call")
            if not self.turn() and not self.pass_time(until):
                raise Stuck(f"process {process.name}: the call does not end within {within} virtual seconds: {call}")
        error = call.exception()
        if isinstance(error, ProcessLost):
            raise CallLost(f"process {process.name} was lost during the call")
        return call.result()

    def settle(self) -> None:
        """Let the world go on until nothing moves without the passing of time."""
        for _ in range(_MOST_TURNS):
            if not self.turn():
                return
        raise Stuck("something goes on and on without the passing of time")

    def advance(self, seconds: float) -> None:
        """Let virtual time pass, and everything happen that is due in it."""
        until = self.clock.time + seconds
        self.settle()
        while self.pass_time(until, upkeep=len(self._living()) > 1):
            self.settle()
        self._arrive(until)
        self.settle()

    def turn(self) -> bool:
        """Run what is ready in one process. False when nothing is, anywhere."""
        restless = [process for process in self.processes if process.restless and process.alive and not process.paused]
        while restless:
            process = restless[self._random.randrange(len(restless))] if self._shuffle else restless[0]
            self._turning = process
            try:
                process.restless = process.loop.turn()
            except ProcessLost:
                self.lose(process)
                return True
            finally:
                self._turning = None
            if self.invariants.violations:
                raise self.invariants.violations[0]
            if process.restless:
                return True
            restless.remove(process)
        return False

    def pass_time(self, until: float, *, upkeep: bool = True) -> bool:
        """Go to the next timer of any process. False when there is none before `until`.

        Upkeep (see SimulatedEnvironment) counts when processes live beside each other, and when nothing else is left.
        """
        living = self._living()
        due = [process.loop.due for process in living]
        kept = [one.due for process in living for one in process.environment.upkeep]
        if upkeep and (len(living) > 1 or all(time is None for time in due)):
            due += kept
        times = [time for time in due if time is not None and time <= until]
        if not times:
            return False
        self._arrive(min(times))
        return True

    def takes(self, seconds: float) -> None:
        """Called by the body of a blocking tool: it ends that much later than it returns."""
        assert self._turning is not None
        self._turning.environment.takes(seconds)

    def _arrive(self, time: float) -> None:
        self.clock.time = max(self.clock.time, time)
        for process in self._living():
            process.environment.keep_up()
        self._wake()

    def _living(self) -> list[Process]:
        return [process for process in self.processes if process.alive and not process.paused]

    def _wake(self) -> None:
        for process in self.processes:
            process.restless = True

    # faults -------------------------------------------------------------------------------------------------

    def fault(self, at: str, do: Any, **more: Any) -> None:
        """Plan a fault, counted from the beginning of the world."""
        self.faults.add(Fault(at, do, **more))

    def park(self, address: str, go: Callable[[], None]) -> None:
        """Keep what was held."""
        assert self._turning is not None
        self._parked.setdefault(address, []).append((self._turning, go))

    def parked(self, process: Process) -> bool:
        """Whether anything of a process is held."""
        return any(of is process for parked in self._parked.values() for of, _ in parked)

    def held(self, at: str) -> bool:
        """Whether something waits there."""
        return bool(self._parked.get(at if "#" in at else f"{at}#1"))

    def release(self, at: str) -> None:
        """Let go of what was held there."""
        waiting = self._parked.pop(at if "#" in at else f"{at}#1", [])
        assert waiting, f"nothing is held at {at}; held are: {', '.join(sorted(self._parked)) or 'none'}"
        for process, go in waiting:
            process.loop.call_soon(go)
            process.restless = True

    # the end ------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.invariants.check()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of everything."""
        for process in self.processes:
            process.alive = False
            process.store.close()
            process.loop.abandon()
        self.store.close()
