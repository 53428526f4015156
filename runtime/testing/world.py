"""`World`: a runtime for tests, on a virtual clock and a store of its own, which can be crashed."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar, get_args

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.app import sync
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.approvals import ApprovalRequest
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.events import Event
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.simulation import world as simulation
from pawl.runtime.simulation.faults import BARRIERS, AtBarrier, AtBody, Do
from pawl.runtime.simulation.process import Process
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.testing.blocking import SyncRuntime
from pawl.runtime.testing.bridge import Bridge, Pump, lost
from pawl.runtime.testing.cast import Cast, Models, Tools
from pawl.runtime.testing.leaks import leaks
from pawl.runtime.testing.seen import ToolRun, tool_runs
from pawl.runtime.testing.time import MONTH, Wait

T = TypeVar("T")

When = Literal["before", "during", "after"]


class World:
    """Runs agents as a Runtime does, on virtual time: retries of minutes and approvals of days take no time at all.

    Arguments:
      agents: the definitions under test.
      model: what the models say instead of what the agents name: a list as `pawl.scripted` takes it or a provider, for
        all agents, or by the agent's name. An agent whose own model is a provider object needs none.
      tools: functions to run instead of the tools of these names. Their parameters and policies stay.
      store: "memory", "sqlite" (a file that goes with the world), the path of a file, or an inline Store.
      seed: let results arrive in an order that is drawn from this number; by default in the order of asking.
      within: virtual seconds after which a call that does not end raises Stuck.
      Further keywords are those of Runtime: `deps`, `on_event`, `poll_interval`, and so on.

    Everything runs on the thread of the test: blocking tools too, so debuggers, mocks and coverage see them. Code
    that waits for a thread or a socket cannot run here; give such a tool a stand-in.

    As a context manager it ends with `close`. Raises InvalidArguments for a model that would ask a real provider.
    """

    def __init__(
        self,
        *agents: Agent[Any],
        model: Models = None,
        tools: Tools | None = None,
        store: Literal["memory", "sqlite"] | Path | Store = "memory",
        seed: int | None = None,
        within: float = MONTH,
        **options: Any,
    ) -> None:
        self._cast = Cast(model, tools or {})
        self._agents = self._cast.ready(agents)
        self._within, self._told = within, options.pop("on_event", None)
        self.events: list[Event] = []
        """Every event that any process of this world was told, in order."""
        self._clean_up = ExitStack()
        self._world = simulation.World(
            *self._agents,
            store=self._open(store),
            seed=seed or 0,
            shuffle=seed is not None,
            leap=True,
            on_event=self._hear,
            **options,
        )
        self._pump = Pump(self._world, within)
        self._process: Process | None = None
        self._runtime: Runtime | None = None
        self._closed = False

    def _open(self, store: Literal["memory", "sqlite"] | Path | Store) -> Store:
        if store == "memory":
            return MemoryStore(inline=True)
        if store == "sqlite":
            folder = self._clean_up.enter_context(TemporaryDirectory(prefix="pawl-test-", ignore_cleanup_errors=True))
            return SqliteStore(Path(folder) / "runs.db", inline=True)
        if isinstance(store, Path):
            return SqliteStore(store, inline=True)
        if isinstance(store, str):
            raise InvalidArguments(f"store={store!r} is 'memory', 'sqlite', a pathlib.Path or an inline Store")
        return store

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        if self._told is not None:
            self._told(event)

    # the runtime --------------------------------------------------------------------------------------------

    @property
    def runtime(self) -> Runtime:
        """The runtime of the process that lives now, for `await` on any event loop; a new process when none lives."""
        process = self._living()
        if self._runtime is None:
            self._runtime = Bridge(self._pump, process).show(process.runtime)
        return self._runtime

    @property
    def sync(self) -> sync.Runtime:
        """The same, blocking, for tests that are no coroutines."""
        return SyncRuntime(self._living(), self._wait)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of yours in the process, to its end: there, `asyncio.sleep` and timeouts are virtual too.

        Raises what it raises, Stuck, CallLost.
        """
        return self._wait(self._living(), work)

    def _living(self) -> Process:
        if self._closed:
            raise InvalidArguments("this world is closed; make another one")
        process = self._process
        if process is None or not process.alive or process.closed:
            if self._world.turning:
                raise RuntimeError("a process cannot be started by code that runs in one")
            if process is not None and process.alive:
                self._world.end(process)
            self._process, self._runtime = self._world.open(*self._agents), None
            self._world.settle()  # what waits is announced behind the opening, and keeps nobody waiting then
        assert self._process is not None
        return self._process

    def _wait(self, process: Process, work: Coroutine[Any, Any, T]) -> T:
        if self._world.turning:
            work.close()
            raise RuntimeError("the world stands still while your tool, hook or listener runs; `await` inside of it")
        if not process.alive:
            work.close()
            raise lost(process)
        task = process.begin(work)
        wait = Wait(self._world, process, self._within)
        try:
            while not task.done():
                if not process.alive:
                    raise lost(process)
                wait.step()
        except BaseException:
            task.cancel()
            raise
        return self._world.wait(task)

    # time ---------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Unix seconds of the virtual clock."""
        return self._world.now

    def advance(self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0) -> Happened:
        """Let virtual time pass, and all happen that is due in it. It is done when this returns; `await` is optional.

        Raises InvalidArguments for a time that is not 0 or more.
        """
        length = seconds + 60.0 * minutes + 3600.0 * hours + 86400.0 * days
        if not length >= 0:
            raise InvalidArguments(f"time goes forward only, not by {length!r} seconds")
        self._still()
        self._living()
        self._world.advance(length)
        return Happened()

    def settle(self) -> Happened:
        """Let all happen that needs no time to pass, in a new process where none lives. It is done when this returns;
        `await` is optional.
        """
        self._still()
        self._living()
        self._world.settle()
        return Happened()

    def _still(self) -> None:
        if self._world.turning:
            raise RuntimeError("time cannot be moved by code that runs in it")

    # what goes wrong ----------------------------------------------------------------------------------------

    def crash(self) -> Happened:
        """Lose the process, as `kill -9` would, at this instant: nothing of it runs any more.

        `runtime` and `sync` then give those of a new process, which goes on with what is on record; calls of the old
        ones raise CallLost.
        """
        self._still()
        if self._process is not None and self._process.alive:
            self._world.lose(self._process)
        return Happened()

    def crash_at(self, place: str, when: When = "before") -> None:
        """Crash at the next start of a tool (by its name), of a model call ("model") or of a barrier (by its name).

        "before" the body is entered, "during": it has been entered, "after": it has done its work, and nothing of that
        is on record. A barrier is lost "before" or "after" its commit. The call that is waiting raises CallLost.

        Raises InvalidArguments for a place that there is not.
        """
        tools = [tool.name for agent in self._agents for tool in agent.tools]
        if when not in get_args(When):
            raise InvalidArguments(f"when={when!r} is one of {', '.join(map(repr, get_args(When)))}")
        if place in BARRIERS:
            if when == "during":
                raise InvalidArguments(f"the barrier {place} is one commit: it is lost 'before' or 'after'")
            at: AtBarrier = "crash_before_commit" if when == "before" else "crash_after_commit"
            return self.fault(place, at)
        if place not in ("model", *tools):
            known = ", ".join(["model", *tools, *BARRIERS])
            raise InvalidArguments(f"there is no {place!r} to crash at; there are: {known}")
        effects: dict[When, AtBody] = {
            "before": "crash_before_effect",
            "during": "crash_during_effect",
            "after": "crash_after_effect",
        }
        return self.fault("model" if place == "model" else f"tool:{place}", effects[when])

    def fault(self, at: str, do: Do, *, times: int = 1, error: Exception | None = None) -> None:
        """Plan any fault of the simulation, for the next time that `at` is met: a lost reply, a store that cannot be
        written, another process that takes over. See `pawl.testing.Fault` for `at`, which has no number here, and `do`.

        Raises InvalidArguments for a place or a fault that there is not.
        """
        self._check_place(at, do)
        number = self._world.faults.counts[at] + 1
        self._world.fault(f"{at}#{number}", do, times=times, error=error)

    def _check_place(self, at: str, do: Do) -> None:
        tools = [tool.name for agent in self._agents for tool in agent.tools]
        if "#" in at:
            raise InvalidArguments(f"a fault is planned for the next time; leave the number of {at!r} out")
        if at in tools and at not in BARRIERS:
            raise InvalidArguments(f"{at!r} is a tool; for its body write 'tool:{at}'")
        if at.startswith("tool:") and at.removeprefix("tool:") not in tools:
            raise InvalidArguments(f"there is no tool for {at!r}; there are: {', '.join(tools) or 'none'}")
        elsewhere, here = (AtBarrier, AtBody) if self._is_body(at) else (AtBody, AtBarrier)
        if do in get_args(elsewhere) and do not in get_args(here):
            raise InvalidArguments(f"{do} cannot happen at {at}; there it is one of {', '.join(get_args(here))}")

    @staticmethod
    def _is_body(at: str) -> bool:
        return at == "model" or at.startswith("tool:")

    def _check_faults(self) -> None:
        """Raise AssertionError for a fault at something that never was: its name is misspelt."""
        counts = self._world.faults.counts
        names = [fault.address.partition("#")[0] for fault in self._world.faults.unmet]
        for name in names:
            if name not in BARRIERS and not self._is_body(name) and not counts[name]:
                known = ", ".join(sorted(set(BARRIERS) | set(counts)))
                raise AssertionError(f"a fault was planned at {name!r}, which never was; there is: {known}")

    def restart(self, *agents: Agent[Any], **options: Any) -> Runtime:
        """Close the process in an orderly way if it lives, and start another; with other definitions where given.

        The scripts and stand-ins of the world are used for them too. Raises what `Runtime.close` raises, and what
        entering a Runtime raises.
        """
        self._still()
        if self._process is not None and self._process.alive:
            self._close(self._process)
        if agents:
            self._agents = self._cast.ready(agents)
        self._process, self._runtime = self._world.open(*self._agents, **options), None
        self._world.settle()
        return self.runtime

    def _close(self, process: Process) -> None:
        self._wait(process, process.runtime.close())
        self._world.end(process)

    # what happened ------------------------------------------------------------------------------------------

    @property
    def model_calls(self) -> Sequence[ModelRequest]:
        """Every request that a model got, in order, over all processes."""
        return tuple(self._world.witness.requests)

    @property
    def tool_calls(self) -> Sequence[ToolRun]:
        """Every entry into a tool's body, in order, over all processes."""
        return tool_runs(self._world)

    @property
    def approvals(self) -> Sequence[ApprovalRequest]:
        """The requests that wait for a decision now."""
        return tuple(record.request for record in self.executions if record.request is not None and _waits(record))

    @property
    def executions(self) -> Sequence[ExecutionRecord]:
        """What is on record, in order of creation."""
        return tuple(self._world.records())

    def assert_nothing_left(self) -> None:
        """Raise AssertionError, naming it, where something is still going on: a run that is not at rest, a task that
        a tool has started and left behind.
        """
        self._still()
        self._world.settle()
        found = [what for process in self._world.processes if process.alive for what in leaks(process)]
        if found:
            raise AssertionError("something is still going on at the end: " + "; ".join(found))

    # the end ------------------------------------------------------------------------------------------------

    def close(self, *, check: bool = True) -> None:
        """End the world. With `check`, nothing may be left (`assert_nothing_left`), and what was written must be in
        order (the numbered invariants of Pawl). Idempotent. Raises AssertionError.
        """
        if self._closed:
            return
        self._closed = True
        with self._clean_up:
            try:
                if check:
                    self.assert_nothing_left()
                    self._world.invariants.check()
                    self._check_faults()
                    if self._process is not None and self._process.alive and not self._process.closed:
                        self._close(self._process)
            finally:
                self._world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(check=error is None)

    def __repr__(self) -> str:
        return f"<world of {', '.join(agent.name for agent in self._agents) or 'no agents'}>"


def _waits(record: ExecutionRecord) -> bool:
    return record.status == "suspended"


@attrs.frozen
class Happened:
    """What it is returned by has happened already: `await` gives None at once."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


class MakeWorld(Protocol):
    """What the fixture `pawl_world` is: call it with what World takes. Raises what World raises."""

    def __call__(
        self,
        *agents: Agent[Any],
        model: Models = None,
        tools: Tools | None = None,
        store: Literal["memory", "sqlite"] | Path | Store = "memory",
        seed: int | None = None,
        within: float = MONTH,
        **options: Any,
    ) -> World:
        """Make one."""
        ...
