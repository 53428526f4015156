"""What a world is told by its processes, and what must hold whenever it is told: the faults that are met, every write,
message, body, model call and event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import Tool
from pawl.runtime.barriers.admission import Admission
from pawl.runtime.execution.heart import Live, Move
from pawl.runtime.execution.mail import Mail
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.errors import Backpressure, RuntimeClosed
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.records.tools import ToolStatus
from pawl.runtime.simulation.beyond import SECRET
from pawl.runtime.simulation.clock import EPOCH, Clock
from pawl.runtime.simulation.disk import Disk
from pawl.runtime.simulation.faults import Fault, Faults
from pawl.runtime.simulation.invariants import Invariants, Violated
from pawl.runtime.simulation.late import is_late
from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.store import about, command_of
from pawl.runtime.simulation.witness import Witness
from pawl.runtime.store.answers import Answer, Committed
from pawl.runtime.store.port import Operation, Store

RESTS: Final = {
    EventKind.DONE,
    EventKind.ERROR,
    EventKind.TIMEOUT,
    EventKind.CANCELLED,
    EventKind.APPROVAL_REQUIRED,
    EventKind.RECOVERY_RESOLUTION_REQUIRED,
}
"""The events of rests, and of ends."""


class Hearing(Disk):
    """Over an inline store that is opened here; `faults` are those that are planned."""

    def __init__(self, store: Store, faults: Iterable[Fault]) -> None:
        self.store = store
        self.store.open()
        self.clock = Clock()
        self.faults = Faults(faults)
        self.witness = Witness()
        self.invariants = Invariants(self.store, self.witness)
        self.strict = False
        """Whether an error inside of a runtime is a violation; else it is the test's own."""
        self.moves: list[tuple[str, str, Move]] = []
        self.starts: dict[str, str] = {}
        """The start id of every execution whose admission was submitted."""
        self.mail: dict[tuple[str, str], tuple[Process, Mail]] = {}
        """The most recent message of each event of each execution, with the process that handled it."""
        self.trace: Callable[[str, str, str], None] | None = None
        """Called with a process, an execution or agent, and what happened: see `Trace`."""
        self._turning: Process | None = None
        """The process whose code runs right now."""

    @property
    def now(self) -> float:
        """Unix seconds."""
        return EPOCH + self.clock.time

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


def _asks(request: ModelRequest) -> object:
    """What a model is told."""
    return request.instructions, tuple(request.messages), request.tools, request.output


def _states(live: Live | None) -> tuple[str, ...]:
    """Where an execution and its calls stand, where it is run at all."""
    if live is None:
        return ()
    return (str(live.state), *(f"{name}: {child.state}" for name, child in live.children.items()))
