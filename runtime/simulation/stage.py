"""The stage of a scenario: its world, with processes, logical agents and runs by the names that the scenario has."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.app.execution import Execution
from pawl.runtime.execution.output import current_rest
from pawl.runtime.records.errors import (
    AgentBusy,
    AgentNotFound,
    CodecError,
    InvalidArguments,
    OutcomeUnknown,
    PawlError,
    RuntimeClosed,
    Superseded,
)
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.rests import NeedsResolution, Rest, Suspended
from pawl.runtime.simulation.cast import Cast
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.hearing import RESTS
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.scenario import AgentDef, FaultDef, Scenario
from pawl.runtime.simulation.script import Script
from pawl.runtime.simulation.steps import FIRST, Start
from pawl.runtime.simulation.world import World
from pawl.runtime.store.port import Store

_REOPENINGS: Final = 20
"""Processes that are opened in a row before a store that loses each of them is given up."""

_FINE: Final = 120
"""Virtual seconds in which leases and polls are kept to the second; beyond them time leaps from event to event."""


@attrs.define(eq=False)
class Run:
    """One run, as its caller knows it: what starting it raised, and what awaiting it did."""

    name: str
    agent: str
    start_id: str
    execution_id: str | None = None
    refused: Exception | None = None
    trouble: Exception | None = None


class Stage:
    """See the module. `seed`: results arrive in an order drawn from it; without one in the order of asking."""

    def __init__(
        self, scenario: Scenario, store: Store | None = None, seed: int | None = None, faults: Iterable[Fault] = ()
    ) -> None:
        self.scenario = scenario
        starts = {step.name: start_id(step) for step in _starts(scenario.steps)}
        self.script = Script(scenario.model)
        self.world = World(
            faults=(*(fault_of(fault, starts) for fault in scenario.faults), *faults),
            store=store,
            seed=seed or 0,
            shuffle=seed is not None,
            leap=True,
        )
        self.world.group, self.world.strict = scenario.group, True
        self.cast = Cast(self.script, self.world.takes)
        self.definitions: dict[str, AgentDef] = dict(scenario.agents)
        self.agents: dict[str, Agent[Any]] = {}
        self.logical: dict[str, str] = {}
        self.runs: dict[str, Run] = {}
        self.processes: dict[str, Process] = {}
        self.names: dict[str, str] = {}
        """What a trace calls each process: its name, with the number of its incarnation from the second on."""
        self.lost: list[str] = []
        """Names of processes that a fault has ended, and that nobody has reopened yet."""
        self.dead_letters: Counter[str] = Counter()
        """Events that were delivered again to a sink that is dead."""
        self.requests: dict[str, list[str]] = {}
        """The approval requests of each execution, oldest first."""
        self.told: list[Event] = []
        """Every event that any process was told, in order."""
        self.narrate: Callable[[str], None] = _to_nobody
        """Called with each step that is taken: see `Trace`."""
        self._ended: list[Process] = []

    # processes ----------------------------------------------------------------------------------------------

    def process(self, name: str | None) -> Process:
        """A process by its name; the first without one. Raises CallLost when it is gone, RuntimeClosed."""
        process = self.processes[name or FIRST]
        if process.closed:
            raise RuntimeClosed(f"process {name or FIRST} was closed; `reopen` it first")
        if not process.alive:
            raise CallLost(f"process {name or FIRST} is gone; `reopen` it first")
        return process

    def open(self, name: str) -> None:
        """A new process of that name, over whatever goes wrong while it opens. Raises what its Runtime raises."""
        for _ in range(_REOPENINGS):
            try:
                self._open(name)
            except CallLost:
                continue
            return
        raise CallLost(f"process {name} is lost whenever it is opened")

    def _open(self, name: str) -> None:
        self.agents = {agent: self.cast.agent(agent, made) for agent, made in self.definitions.items()}
        fails = any(made.on_listener_error == "fail" for made in self.definitions.values())
        process, opening = self.world.begin_open(
            *self.agents.values(), on_listener_error="fail" if fails else "report", on_event=self._hear
        )
        incarnation = sum(known.partition("/")[0] == name for known in self.names.values()) + 1
        self.names[process.name] = name if incarnation == 1 else f"{name}/{incarnation}"
        for agent, made in self.definitions.items():
            if made.listener is not None:
                process.runtime.add_listener(self._listener(agent, made, process, quietly=fails))
        self.world.opened(process, opening)
        self.processes[name] = process
        self.lost = [lost for lost in self.lost if lost != name]

    def _hear(self, event: Event) -> None:
        self.told.append(event)
        if event.kind in (EventKind.APPROVAL_REQUIRED, EventKind.RECOVERY_RESOLUTION_REQUIRED):
            self._compare_event(event)
        if event.kind is EventKind.APPROVAL_REQUIRED:
            requests = self.requests.setdefault(event.execution_id, [])
            if event.data["request"]["id"] not in requests:
                requests.append(event.data["request"]["id"])

    def _listener(self, agent: str, made: AgentDef, process: Process, *, quietly: bool) -> Callable[[Event], None]:
        """One that raises as scripted; one whose errors are only reported just leaves where others fail their runs."""
        listener = made.listener
        assert listener is not None

        def told(event: Event) -> None:
            if event.kind == listener.raises_on and self.logical.get(event.agent_id, event.agent_id) == agent:
                if quietly and made.on_listener_error == "report":
                    return process.runtime.remove_listener(told)
                raise RuntimeError(f"scripted to raise at {event.kind}")
            return None

        return told

    def name_of(self, owner: str | None) -> str:
        """The name of the process that has an owner id."""
        if owner is None:
            return "none"
        return next((name for name, process in self.processes.items() if process.owner == owner), "elsewhere")

    # time ---------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything happen that can without the passing of time, and notice which processes a fault has ended."""
        self.world.settle()
        for name, process in self.processes.items():
            if not process.alive and process not in self._ended:
                self._ended.append(process)
                self.lost.append(name)

    @property
    def ready(self) -> str | None:
        """The name of a process that a client can speak to, None where it is the first or there is none."""
        names = [name for name, one in self.processes.items() if one.alive and not one.paused and not one.closed]
        return next((name for name in names if name != FIRST), None) if FIRST not in names else None

    @property
    def backing_off(self) -> frozenset[str]:
        """The states of barriers that wait before they try the store again."""
        return frozenset(
            str(state)
            for process in self.world.processes
            if process.alive and not process.paused and not process.closed
            for _, state in (*process.executing, *process.children)
            if state.endswith((".retrying", ".rereading"))
        )

    def end(self, name: str | None, *, host: bool = False) -> None:
        """Lose a process, as the scenario says; nobody is surprised."""
        process = self.process(name)
        self._ended.append(process)
        self.world.lose(process, host=host)

    def close(self, name: str | None) -> None:
        """Shut a process down; one that a fault ends meanwhile is down as well."""
        process = self.process(name)
        self._ended.append(process)
        with suppress(CallLost):
            process.close()

    def advance(self, seconds: float) -> bool:
        """Let time pass. False when a process was lost on the way: nothing more passes then."""
        until = self.world.clock.time + seconds
        fine = min(until, self.world.clock.time + _FINE)
        while self.world.clock.time < until:
            left = until - self.world.clock.time
            self.world.advance(min(1.0, left) if self.world.clock.time < fine else left)
            self.settle()
            if self.lost:
                return False
        return True

    def execution_of(self, run: Run) -> str | None:
        """The execution that a run's start has made, as far as it has been submitted."""
        if run.execution_id is not None:
            return run.execution_id
        made = [execution_id for execution_id, start in self.world.starts.items() if start == run.start_id]
        records = [record for record in self.world.records() if record.execution_id in made]
        return next((record.execution_id for record in records if record.agent_id == run.agent), None)

    # agents and runs ----------------------------------------------------------------------------------------

    async def begin(self, process: Process, run: Run, step: Start) -> None:
        """Start a run, and follow it to its rest in the background. Raises what starting raises."""
        agent = self.agents[self.logical[run.agent]]
        context = step.durable_context
        if step.mode == "stream":
            stream = process.runtime.stream(
                agent, step.input, agent_id=run.agent, id=run.start_id, durable_context=context
            )
            await stream.__aenter__()  # it is left when it has been read to its end
            process.loop.task(_drain(stream))
            return self._begun(process, run, stream.execution)
        execution = await process.runtime.start(
            agent, step.input, agent_id=run.agent, id=run.start_id, durable_context=context
        )
        return self._begun(process, run, execution)

    def _begun(self, process: Process, run: Run, execution: Execution[Any]) -> None:
        run.execution_id, run.refused = execution.id, None
        process.loop.task(self.follow(process, run, execution))

    async def follow(self, process: Process, run: Run, execution: Execution[Any]) -> None:
        """Await the rest of a run, and remember what came instead; where it is run here, its event comes before."""
        here = process.keeper.live(execution.id) is not None
        try:
            rest = await execution
            self.compare(rest)
            run.trouble = None
            told = [event for event in process.events if event.execution_id == execution.id and event.kind in RESTS]
            late = f"the handle of {execution.id} settled before any event of a rest was told"
            self.world.invariants.notice("I10", bool(told) or not here, late)
        except (OutcomeUnknown, Superseded) as error:
            run.trouble = error
            closed = isinstance(error, Superseded) or process.keeper.closed(execution.id)
            self.world.invariants.notice(
                "I10", closed, f"a client was told of {execution.id}, which is not closed: {error}"
            )
        except (RuntimeClosed, asyncio.CancelledError):
            return

    def compare(self, rest: Rest[Any]) -> None:
        """What a client was told is what is on record, unless the run has moved on since. Raises Violated."""
        found = self.world.store.read(current_rest(rest.execution_id, {}))
        same = found is None or found.revision != rest.revision or self._certain(found) == self._certain(rest)
        self.world.invariants.notice("I10", same, f"a client was told {rest}, and on record is {found}")

    def _certain(self, rest: Rest[Any]) -> Rest[Any]:
        """Without the calls that have a probe: what it said last is on no record."""
        if not isinstance(rest, NeedsResolution):
            return rest
        probed = self._probed(rest.execution_id)
        return attrs.evolve(rest, unresolved=tuple(one for one in rest.unresolved if one.subject not in probed))

    def _probed(self, execution_id: str) -> set[str]:
        return {row.tool_call_id for row in self.world.rows(execution_id) if row.policy == "probe"}

    def _compare_event(self, event: Event) -> None:
        """What listeners are told to decide or to resolve is what is on record. Raises Violated."""
        found = self.world.store.read(current_rest(event.execution_id, {}))
        told = [*event.data.get("undecided", ()), *(one["subject"] for one in event.data.get("subjects", ()))]
        asked: list[str] = []
        if isinstance(found, Suspended):
            asked = list(found.undecided)
        elif isinstance(found, NeedsResolution):
            unsaid = self._probed(event.execution_id).difference(told)
            asked = [one.subject for one in found.unresolved if one.subject not in unsaid]
        what = f"listeners were told of {told}, and on record is {found}"
        less = found is None or set(asked) < set(told)
        late = less and any(
            fault.do == "slow" for fault in self.world.faults.fired
        )  # others did not wait for its answer
        self.world.invariants.notice("I10", found is None or asked == told or late, what)


def _to_nobody(told: str) -> None:
    """Nobody listens."""


async def _drain(stream: Any) -> None:
    with suppress(PawlError):  # who awaits the run hears of it
        async for _ in stream:
            pass


def start_id(step: Start) -> str:
    """The id that makes a start idempotent: the run's name where the scenario names none."""
    return step.id if step.id is not None else step.name


def _starts(steps: Iterable[Any]) -> Iterable[Start]:
    for step in steps:
        inner = getattr(step, "step", step)
        if isinstance(inner, Start):
            yield inner


def fault_of(made: FaultDef, starts: dict[str, str]) -> Fault:
    """A scenario's fault as the world plans it."""
    error = _REFUSED[made.do.refusal]() if made.do.refusal is not None else None
    run = starts.get(made.run) if made.run is not None else None
    return Fault(made.at, made.do.kind, made.do.times, error, run)


_REFUSED: Final[dict[str, Callable[[], PawlError]]] = {
    "serialization": lambda: CodecError("a fault refuses this: it cannot be written as a record"),
    "not_found": lambda: AgentNotFound("a fault refuses this: it is not there"),
    "too_large": lambda: InvalidArguments("a fault refuses this: it is too large"),
    "agent_busy": lambda: AgentBusy("another", "active"),
}
