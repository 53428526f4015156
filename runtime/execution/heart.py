"""The heart: `decide(live, message)` is the new live value and what is to be done. It awaits nothing, reads no clock.

Authority is settled here, at one door, before any table is read: a message of another session, another revision,
or another call, token or attempt changes nothing. Inside, parent and children are two tables that send each other
events; those are delivered before the next message from outside.

What lives for one decision only is a NamedTuple: a frozen attrs value, of which each step needs several, takes twice as
long to make.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs

from pawl.generated import agent_invocation, tool_invocation
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.effects import Lost, Notify, Reopened, Spawn, Tell
from pawl.runtime.agent.payloads import Stop, StopReason
from pawl.runtime.agent.tool_invocation import ToolInvocation
from pawl.runtime.fsm.errors import UnhandledEvent
from pawl.runtime.fsm.step import Arm, Disarm, Step, advance, enter
from pawl.runtime.fsm.table import Kind, Row, Taken
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ErrorInfo, ToolRow, ToolStatus

AGENT = agent_invocation.MACHINE
TOOL = tool_invocation.MACHINE
AgentState = agent_invocation.State
ToolState = tool_invocation.State

_WAITS = {
    ToolStatus.AWAITING_APPROVAL: ToolState.AWAITING_APPROVAL,
    ToolStatus.AUTHORIZED: ToolState.AUTHORIZED,
    ToolStatus.PENDING: ToolState.AUTHORIZED,
}
"""Where a stored call waits for its parent: one whose outcome was lost, to be dispatched again."""

_MOVED, _STALE = Taken.MOVED, Taken.STALE  # as in `fsm.step`: found once

_ENDED = frozenset(info.name for info in TOOL.states if info.kind in (Kind.FINAL, Kind.HALT))


class Child(NamedTuple):
    """One live child session."""

    state: ToolState
    invocation: ToolInvocation


@attrs.frozen(slots=False)
class Live:
    """One execution that this process runs: an immutable value, replaced by `decide` only."""

    state: AgentState
    invocation: AgentInvocation
    children: Mapping[str, Child] = attrs.Factory(dict)

    @property
    def session(self) -> str:
        """This incarnation's identity."""
        return self.invocation.session

    @property
    def execution_id(self) -> str:
        """The execution's id."""
        return self.invocation.execution_id


class Message(NamedTuple):
    """Something that happened, for one session. `child` names a tool invocation; `settles` the operation it ends."""

    session: str
    event: str
    payload: object
    now: float
    child: str | None = None
    settles: str | None = None


class ArmTimer(NamedTuple):
    """Post `event` to the same session after `seconds`."""

    child: str | None
    state: str
    event: str
    seconds: float


class DisarmTimer(NamedTuple):
    """Forget the timer of that state."""

    child: str | None
    state: str


@attrs.frozen
class Move:
    """One row taken, for traces: which machine (None the agent's, else the tool invocation), from, event, to."""

    child: str | None
    source: str
    event: str | None
    target: str | None


Taking = tuple[str | None, tuple[Row[Any, Any], ...]]
"""The rows that one machine took: None the agent's, else that of a tool invocation."""


class Decision(NamedTuple):
    """What one message did. `taken` are the rows, by machine; `dropped` names an event whose authority had ended, or
    that was stale here.
    """

    live: Live
    effects: tuple[object, ...] = ()
    taken: tuple[Taking, ...] = ()
    dropped: str | None = None
    refused: UnhandledEvent | None = None

    @property
    def moves(self) -> tuple[Move, ...]:
        """The rows taken, in order."""
        return tuple(Move(child, row.source, row.event, row.target) for child, rows in self.taken for row in rows)


def begin(invocation: AgentInvocation, payload: object, state: AgentState | None = None) -> Decision:
    """Start a session: at the initial state, or at `state` (recovery)."""
    work = _Work(Live(state or AGENT.initial, invocation), invocation.now)
    work.enter(state or AGENT.initial, payload)
    work.run()
    return work.decision()


def decide(live: Live, message: Message) -> Decision:
    """Deliver `message`. Pure: the same two values give the same decision, always."""
    if message.session != live.session:  # I6
        return Decision(live, dropped=message.event)
    work = _Work(live, message.now)
    if message.settles is not None:
        work.settle(message.settles, message.child)
    try:
        taken = work.deliver(message.child, message.event, message.payload, outside=True)
    except UnhandledEvent as refused:
        return work.decision()._replace(refused=refused)
    if message.settles is not None and taken is not _MOVED:
        work.inside.append((None, "operation_settled", None))
    work.run()
    return work.decision()


def ended(live: Live, message: Message) -> Live:
    """`live` without the operation that `message` is the end of, whatever its news means."""
    work = _Work(live, message.now)
    if message.settles is not None:
        work.settle(message.settles, message.child)
    return work.live()


class _Work:
    """One decision in the making: mutable, and seen by nobody until it is done."""

    def __init__(self, live: Live, now: float) -> None:
        self._live, self.now = live, now
        self.state, self.invocation, self.children = live.state, live.invocation, live.children
        self.effects: list[object] = []
        self.taken: list[Taking] = []
        self.inside: deque[tuple[str | None, str, object]] = deque()
        self.dropped: str | None = None

    def live(self) -> Live:
        """As it stands now; the very same value where nothing has changed."""
        before = self._live
        if self.invocation is before.invocation and self.children is before.children and self.state is before.state:
            return before
        return Live(self.state, self.invocation, self.children)

    def decision(self) -> Decision:
        return Decision(self.live(), tuple(self.effects), tuple(self.taken), self.dropped)

    def run(self) -> None:
        """Deliver what parent and children have to say to each other."""
        while self.inside:
            self.deliver(*self.inside.popleft())

    def settle(self, operation: str, name: str | None) -> None:
        """A physical operation or a submission has ended, whatever its result means."""
        over = {operation}
        child = self.children.get(name) if name is not None else None
        if child is not None and name is not None and operation in child.invocation.unanswered:
            rest = replace(child.invocation, now=self.now, unanswered=child.invocation.unanswered - over)
            self.children = {**self.children, name: Child(child.state, rest)}
        operations, unanswered = self.invocation.operations, self.invocation.unanswered
        if operation in operations or operation in unanswered:
            self.invocation = replace(
                self.invocation, now=self.now, operations=operations - over, unanswered=unanswered - over
            )

    def enter(self, state: AgentState, payload: object) -> None:
        self._agent_stepped(enter(AGENT, state, self.invocation, payload))

    def deliver(self, child: str | None, event: str, payload: object, outside: bool = False) -> Taken:
        if child is not None:
            return self._to_child(child, event, payload, outside)
        invocation = self.invocation
        if outside and not _current_for_agent(invocation, event, payload):
            return self._drop(event)
        if invocation.now != self.now:
            invocation = replace(invocation, now=self.now)
        step = advance(AGENT, self.state, invocation, event, payload)
        self._agent_stepped(step)
        return step.taken if step.taken is not _STALE else self._drop(event)

    def _to_child(self, name: str, event: str, payload: object, outside: bool) -> Taken:
        child = self.children.get(name)
        if child is None and not outside:
            child = _restored(self.invocation, name)
        if child is None or (outside and not _current_for_child(child, event, payload)):
            return self._drop(event)
        invocation = child.invocation
        if invocation.now != self.now:
            invocation = replace(invocation, now=self.now)
        step = advance(TOOL, child.state, invocation, event, payload)
        self._child_stepped(name, step)
        return step.taken if step.taken is not _STALE else self._drop(event)

    def _drop(self, event: str) -> Taken:
        self.dropped = event
        return _STALE

    def _agent_stepped(self, step: Step[AgentState, AgentInvocation]) -> None:
        self.state, self.invocation = step.state, step.context
        self.taken.append((None, step.rows))
        self._carry_out(None, step.effects)

    def _child_stepped(self, name: str, step: Step[ToolState, ToolInvocation]) -> None:
        self.children = {**self.children, name: Child(step.state, step.context)}
        self.taken.append((name, step.rows))
        self._carry_out(name, step.effects)

    def _carry_out(self, name: str | None, effects: Sequence[object]) -> None:
        """Do what is done inside of the heart; the rest is the keeper's. `name`: of the child that asks."""
        for effect in effects:
            within = _WITHIN.get(type(effect))
            if within is None:
                self.effects.append(effect)
            else:
                within(self, name, effect)

    def tell(self, _: str | None, effect: Tell) -> None:
        self.inside.append((effect.tool_invocation_id, effect.event, effect.payload))

    def notify(self, _: str | None, effect: Notify) -> None:
        self.inside.append((None, effect.event, effect.payload))

    def lost(self, _: str | None, effect: Lost) -> None:
        stop = Stop(StopReason.LOST, ErrorInfo("Superseded", effect.owner or ""))
        self.inside.append((None, "ownership_lost", stop))

    def reopened(self, _: str | None, effect: Reopened) -> None:
        self.children = {}
        self.effects.append(effect)

    def arm(self, name: str | None, effect: Arm) -> None:
        self.effects.append(ArmTimer(name, effect.state, effect.event, effect.seconds))

    def disarm(self, name: str | None, effect: Disarm) -> None:
        self.effects.append(DisarmTimer(name, effect.state))

    def spawn(self, _: str | None, effect: Spawn) -> None:
        """A new child; those of the batch before it are over."""
        row = effect.row
        self.children = {name: child for name, child in self.children.items() if child.state not in _ENDED}
        step = enter(TOOL, TOOL.initial, _child_context(self.invocation, row, None, effect.given), None)
        self._child_stepped(row.tool_invocation_id, step)


_WITHIN: Final[dict[type, Callable[[_Work, str | None, Any], None]]] = {
    Tell: _Work.tell,
    Notify: _Work.notify,
    Lost: _Work.lost,
    Reopened: _Work.reopened,
    Arm: _Work.arm,
    Disarm: _Work.disarm,
    Spawn: _Work.spawn,
}
"""The effects that stay inside of the heart, by type: they are looked up, several a decision, where a `match` would
try one class after the other.
"""


def _child_context(parent: AgentInvocation, row: ToolRow, body: str | None, given: str = "") -> ToolInvocation:
    return ToolInvocation(
        session=f"{parent.session}.{row.index}.{row.tool_invocation_id[-6:]}",
        execution_id=parent.execution_id,
        agent_id=parent.agent_id,
        now=parent.now,
        agent=parent.agent,
        authority=parent.authority,
        row=row,
        given=given,
        body=body,
    )


def _restored(parent: AgentInvocation, name: str) -> Child | None:
    """The child that a stored row is: at the wait state where its last incarnation ended. Nothing runs or is told."""
    fact = parent.batch.find(name) if parent.batch is not None else None
    state = _WAITS.get(fact.row.status) if fact is not None else None
    if fact is None or state is None:
        return None
    return Child(state, _child_context(parent, fact.row, None))


def _current_for_agent(invocation: AgentInvocation, event: str, payload: Any) -> bool:
    """Whether what the event was about is still what this session is about."""
    info = AGENT.event.get(event)
    if info is None:
        return True
    if "revision" in info.authority and payload.revision != invocation.record.revision:
        return False
    match info.correlate:
        case "llm_call_id":
            return bool(payload.llm_call_id == invocation.call)
        case "tool_invocation_id":
            return invocation.batch is not None and invocation.batch.find(payload.tool_invocation_id) is not None
        case "work":
            return bool(payload.work == invocation.preparing)
        case "token":
            return _awaits(invocation, payload)
        case _:
            return True


def _current_for_child(child: Child, event: str, payload: Any) -> bool:
    info = TOOL.event.get(event)
    match info.correlate if info is not None else None:
        case "tool_invocation_id":
            row = child.invocation.row
            return payload.tool_invocation_id == row.tool_invocation_id and (
                getattr(payload, "attempt", row.attempt) == row.attempt
            )
        case "token":
            return _awaits(child.invocation, payload)
        case _:
            return True


def _awaits(context: AgentInvocation | ToolInvocation, payload: Any) -> bool:
    """Answers are correlated by commit token and kind: a late commit answer is no read-back."""
    barrier = context.barrier
    return barrier is not None and barrier.command.token == payload.token and barrier.reading == payload.reading
