"""A world: processes over one durable store, on one virtual clock, with faults where they were planned.

    with World(agent, faults=[Fault("tool_outcome#2", "crash_before_commit")]) as world:
        process = world.open()
        execution = process.do(process.runtime.start(agent, "go", id="r1"))

Everything happens on the calling thread, in an order that the seed decides. Leaving the block checks the invariants.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import Tool
from pawl.runtime.barriers.admission import Admission
from pawl.runtime.execution.heart import Live, Move
from pawl.runtime.execution.mail import Mail
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.agents import Owner
from pawl.runtime.records.errors import Backpressure, RuntimeClosed
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.beyond import SECRET
from pawl.runtime.simulation.bodies import watched
from pawl.runtime.simulation.clock import EPOCH, Clock
from pawl.runtime.simulation.disk import Disk
from pawl.runtime.simulation.faults import Fault, Faults, ProcessLost
from pawl.runtime.simulation.invariants import Invariants, Violated
from pawl.runtime.simulation.late import is_late
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.store import about, command_of
from pawl.runtime.simulation.witness import Witness
from pawl.runtime.store.answers import Answer, Committed
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Operation, Store

T = TypeVar("T")

RESTS = {
    EventKind.DONE,
    EventKind.ERROR,
    EventKind.TIMEOUT,
    EventKind.CANCELLED,
    EventKind.APPROVAL_REQUIRED,
    EventKind.RECOVERY_RESOLUTION_REQUIRED,
}


_MOST_TURNS = 1_000_000
"""Turns without the passing of time, after which a world is given up."""


class Stuck(AssertionError):
    """Nothing can move any more, or nothing comes of it in the time that was given."""


class World(Disk):
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
        self.clock = Clock()
        self.store: Store = store if store is not None else MemoryStore(inline=True)
        self.store.open()
        self.faults = Faults(faults)
        self.unavailable = 0
        self.witness = Witness()
        self.invariants = Invariants(self.store, self.witness)
        self.group = False
        """Whether what is submitted in one turn of a process is committed together."""
        self.strict = False
        """Whether an error inside of a runtime is a violation; else it is the test's own."""
        self.processes: list[Process] = []
        self.moves: list[tuple[str, str, Move]] = []
        self.starts: dict[str, str] = {}
        """The start id of every execution whose admission was submitted."""
        self.mail: dict[tuple[str, str], tuple[Process, Mail]] = {}
        """The most recent message of each event of each execution, with the process that handled it."""
        self.trace: Callable[[str, str, str], None] | None = None
        """Called with a process, an execution or agent, and what happened: see `Trace`."""
        self._random = random.Random(seed)
        self._shuffle = self._random if shuffle else None
        self._parked: dict[str, list[tuple[Process, Callable[[], None]]]] = {}
        self._dead: set[int] = set()
        self._turning: Process | None = None

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

    @property
    def now(self) -> float:
        """Unix seconds."""
        return EPOCH + self.clock.time

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

    # what is told to the world --------------------------------------------------------------------------------

    def met(self, name: str, execution_id: str | None, what: str) -> Fault | None:
        """Count one more place where a fault can be."""
        fault = self.faults.met(name, self.starts.get(execution_id or ""), what)
        if fault is not None and self.trace is not None and self._turning is not None:
            self.trace(self._turning.name, execution_id or "", f"{fault.do} at {self.faults.fired_at[-1].address}")
        return fault

    def broke(self, process: Process, live: Live, what: str, error: Exception) -> None:
        """Something inside of a runtime raised, which closes its run there: healing would hide it."""
        if not isinstance(error, Backpressure | RuntimeClosed):
            self._inside(f"{live.execution_id} in {process.name}: {what}: {type(error).__name__}: {error}")

    def moved(self, process: str, execution_id: str, move: Move) -> None:
        """A row was taken."""
        self.moves.append((process, execution_id, move))
        if move.event == "internal_error" and not any(fault.do == "full" for fault in self.faults.fired):
            self._inside(f"{execution_id} in {process}: an error inside led from {move.source} to {move.target}")

    def _inside(self, what: str) -> None:
        if self.strict:
            self.invariants.violations.append(Violated(f"internal: {what}"))

    def crowded(self) -> bool:
        """Whether the pool has no room for what is offered now."""
        return self.met("pool", None, "") is not None

    def submitting(self, name: str, operation: Operation[Any]) -> Fault | None:
        """An operation is about to be submitted."""
        execution_id, what = about(operation)
        command = command_of(operation)
        if isinstance(command, Admission):
            self.starts[command.record.execution_id] = command.record.start_id
        return self.met(name, execution_id, what)

    def replied(self, process: str, name: str, operation: Operation[Any], answer: Answer[Any]) -> None:
        """A process is told what became of an operation."""
        execution_id, _ = about(operation)
        if self.trace is not None and execution_id is not None:
            self.trace(process, execution_id, f"{name}: {type(answer).__name__.lower()}")

    def handled(
        self,
        process: Process,
        mail: Mail,
        before: Live | None,
        after: Live | None,
        dropped: Sequence[str],
        taken: Sequence[Move],
    ) -> None:
        """A message was handled, rows were `taken`, and events dropped on the way: what was dropped, or is late
        whatever the tables say, has moved nothing.
        """
        event = mail.message.event
        self.mail[mail.execution_id, event] = (process, mail)
        if self.trace is not None:
            for name in dropped:
                self.trace(process.name, mail.execution_id, f"dropped: {name}")
        if event in dropped:
            moved = f"{event} was dropped, and moved {mail.execution_id} nevertheless"
            ends = mail.message.settles is not None  # what is late still ends what it is the end of
            self.invariants.notice("I6", ends or _states(before) == _states(after), moved)
        if any((move.child, move.event) == (mail.message.child, event) for move in taken):
            late = f"{event} came too late to mean anything, and moved {mail.execution_id}"
            self.invariants.notice("I6", not is_late(mail.message, before), late)

    def takes(self, seconds: float) -> None:
        """Called by the body of a blocking tool: it ends that much later than it returns."""
        assert self._turning is not None
        self._turning.environment.takes(seconds)

    def submitted(self, process: str, operation: Operation[Any]) -> None:
        """An operation was submitted."""
        self.invariants.submitted(process, operation)

    def answered(self, process: str, operation: Operation[Any]) -> None:
        """Its answer goes out."""
        self.invariants.answered(process, operation)

    def committed(self, name: str, operation: Operation[Any], answer: Answer[Any]) -> None:
        """It has been run."""
        if name == "foreign":
            self.invariants.tampered = True
        if name in ("decide", "resolve") and isinstance(answer, Committed):
            self.invariants.answered_elsewhere()
        self.invariants.committed(operation, answer)

    def told(self, process: Process, event: Event) -> None:
        """A listener of a process got an event: at a rest, ownership has been released before."""
        self.invariants.notice("I26", str(SECRET) not in repr(event), f"{event.kind} tells what is secret")
        if event.kind in RESTS:
            told = f"{event.kind} was told while {process.name} still owned {event.agent_id}"
            self.invariants.notice("I10", self.root(event.agent_id).owner != process.owner, told)
            slot = process.keeper.registry.slot(event.agent_id)
            kept = f"{event.kind} was told while {process.name} still kept the slot of {event.agent_id}"
            self.invariants.notice("I10", slot is None or slot.execution_id != event.execution_id, kept)

    def entered(self, tool: Tool[..., Any], context: ToolContext) -> None:
        """A body is entered: its call is on record as pending, under this key and attempt."""
        process = self._turning
        assert process is not None
        self.witness.entered(tool, context, process.name, self.now)
        rows = [row for row in self.rows(context.execution_id) if row.idempotency_key == context.idempotency_key]
        on_record = [(row.status, row.attempt) for row in rows]
        holds = on_record == [(ToolStatus.PENDING, context.attempt)] or not self._owned(process, context.execution_id)
        what = f"{tool.name} was entered as attempt {context.attempt}, on record: {on_record}"
        self.invariants.notice("I1", holds, what)

    def performed(self, context: ToolContext, result: str | None, error: Exception | None) -> None:
        """A body has ended."""
        self.witness.performed(context, result, error)

    def probed(self, key: str, answer: object) -> None:
        """A probe has answered."""
        if answer == "absent":
            self.witness.absent[key] += 1

    def called(self, agent: Agent[Any], request: ModelRequest) -> None:
        """A model call starts: it is on record, and what it is asked can be asked."""
        process = self._turning
        assert process is not None
        self.witness.called(agent.name, request)
        record = self.record(request.execution_id)
        holds = record.llm_call_id == request.call_id or not self._owned(process, request.execution_id)
        self.invariants.notice("I1", holds, f"the model call {request.call_id} is not on record")
        wrong = why_invalid(request.messages)
        self.invariants.notice("I17", wrong is None, f"the request {request.call_id}: {wrong}")
        before = self.witness.asked(request)
        again = before is None or _asks(before) == _asks(request)
        self.invariants.notice("I24", again, f"the request {request.call_id} is not what {request.sequence} was before")

    def _owned(self, process: Process, execution_id: str) -> bool:
        return self.root(self.record(execution_id).agent_id).owner == process.owner

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


def _asks(request: ModelRequest) -> object:
    """What a model is told."""
    return request.instructions, tuple(request.messages), request.tools, request.output


def _states(live: Live | None) -> tuple[str, ...]:
    """Where an execution and its calls stand, where it is run at all."""
    if live is None:
        return ()
    return (str(live.state), *(f"{name}: {child.state}" for name, child in live.children.items()))
