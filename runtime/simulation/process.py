"""One simulated process: a Runtime on a loop of its own, which can be paused, and lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pawl.runtime.agent.definition import Agent
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.execution.mail import Mail
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.events import Event
from pawl.runtime.simulation.clock import Clock, VirtualLoop
from pawl.runtime.simulation.environment import SimulatedEnvironment
from pawl.runtime.simulation.store import SimulatedStore
from pawl.runtime.store.port import Store

if TYPE_CHECKING:
    from pawl.runtime.simulation.world import World

T = TypeVar("T")


class CallLost(Exception):
    """The process that was asked is gone: what became of the call is on record, or is not."""


class SeenRuntime(Runtime):
    """A Runtime that lets its process see every message that comes through its inbox."""

    seen: Callable[[Keeper], None]

    @property
    def _keeper(self) -> Keeper:  # Runtime sets it when it is entered
        keeper: Keeper = self.__dict__["kept"]
        return keeper

    @_keeper.setter
    def _keeper(self, keeper: Keeper) -> None:
        self.__dict__["kept"] = keeper
        self.seen(keeper)


class Process:
    """Made by `World.open`. `runtime` is its Runtime; its coroutines are run with `do`, or `begin` and `World.wait`."""

    def __init__(
        self,
        world: World,
        store: Store,
        clock: Clock,
        name: str,
        pid: int,
        agents: Iterable[Agent[Any]],
        shuffle: random.Random | None,
        options: dict[str, Any],
    ) -> None:
        self._world = world
        self.name, self.pid = name, pid
        self.alive, self.paused, self.restless = True, False, True
        self.loop = VirtualLoop(clock)
        self.environment = SimulatedEnvironment(self.loop, name, pid, world.is_dead, shuffle, world.crowded)
        self.events: list[Event] = []
        self._listener: Callable[[Event], None] | None = options.pop("on_event", None)
        self.store = SimulatedStore(store, name, self.environment, world)
        self.runtime = SeenRuntime(
            self.store,
            agents,
            environment=self.environment,
            on_event=self._told,
            trace=lambda execution_id, move: world.moved(name, execution_id, move),
            **options,
        )
        self.runtime.seen = self._watch

    def _watch(self, keeper: Keeper) -> None:
        """Look at each message before and after it is handled."""
        handle = keeper.inbox._handle  # noqa: SLF001 - the kit looks where applications need not

        def handled(mail: Mail | Callable[[], None]) -> None:
            if not isinstance(mail, Mail):
                return handle(mail)
            before, known = keeper.live(mail.execution_id), dict(keeper.counters.dropped)
            moves = len(self._world.moves)
            handle(mail)
            after, now = keeper.live(mail.execution_id), keeper.counters.dropped
            dropped = [event for event in now if now[event] != known.get(event)]
            taken = [move for _, execution, move in self._world.moves[moves:] if execution == mail.execution_id]
            return self._world.handled(self, mail, before, after, dropped, taken)

        keeper.inbox._handle = handled  # noqa: SLF001
        broken = keeper.observer.broken

        def broke(live: Live, what: str, error: Exception) -> None:
            broken(live, what, error)
            self._world.broke(self, live, what, error)

        keeper.observer.broken = broke  # type: ignore[method-assign]  # the kit looks in

    def redeliver(self, mail: Mail) -> bool:
        """Post a message once more where it came from. False when nothing takes it any more."""
        self.restless = True
        return self.alive and self.keeper.inbox.post(mail)

    @property
    def keeper(self) -> Keeper:
        """The keeper of its runtime."""
        return self.runtime._keeper  # noqa: SLF001 - the kit looks where applications need not

    @property
    def owner(self) -> str:
        """The id under which this process owns agents."""
        return self.runtime._host.owner  # noqa: SLF001 - the kit looks where applications need not

    @property
    def dropped(self) -> Mapping[str, int]:
        """Events that were refused because their authority had ended, by name."""
        return self.runtime.stats().dropped

    @property
    def refused(self) -> Mapping[str, PawlError]:
        """Open executions that are not gone on with here, and why."""
        return self.runtime._watch.refused  # noqa: SLF001 - the kit looks where applications need not

    @property
    def closed(self) -> bool:
        """Whether its runtime was closed."""
        return self.runtime._state == "closed"  # noqa: SLF001

    @property
    def executing(self) -> list[tuple[str, str]]:
        """Executions that are on their way here, with the state each of them is in."""
        keeper = self.keeper
        return [
            (live.execution_id, str(live.state)) for live in keeper.executing if not keeper.closed(live.execution_id)
        ]

    @property
    def children(self) -> list[tuple[str, str]]:
        """The calls of executions that are on their way here, with the state each of them is in."""
        return [(name, str(child.state)) for live in self.keeper.executing for name, child in live.children.items()]

    def begin(self, work: Awaitable[T]) -> asyncio.Task[T]:
        """Start a call; it goes on whenever the world does."""
        if not self.alive:
            raise CallLost(f"process {self.name} is gone")
        self.restless = True
        return self.loop.task(work)

    def do(self, work: Awaitable[T], *, within: float = 3600.0) -> T:
        """Run a call to its end, letting virtual time pass. Raises what it raises, CallLost, Stuck."""
        return self._world.wait(self.begin(work), within=within)

    def close(self) -> None:
        """Close the runtime gracefully, and the process with it."""
        self.do(self.runtime.close())
        self._world.end(self)

    def _told(self, event: Event) -> None:
        self.events.append(event)
        self._world.told(self, event)
        if self._listener is not None:
            self._listener(event)

    def __repr__(self) -> str:
        return f"<process {self.name}{'' if self.alive else ', lost'}>"
