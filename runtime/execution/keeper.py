"""The keeper of the live executions: takes one message at a time, lets the heart decide, carries out what it asks.

Nothing else replaces live state. Persist, then release: an effect that reaches outside the process is only ever
asked for by the enter action behind a committed barrier, so carrying effects out in order is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pawl.generated.admission import Event as Admission
from pawl.generated.agent_invocation import MACHINE, State
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.effects import (
    Announce,
    AtRest,
    Authorize,
    Begun,
    CallModel,
    Closed,
    Emit,
    Ended,
    FilterText,
    LoadContext,
    PrepareRequest,
    ReadAgain,
    ReadBack,
    Reopened,
    RequestSlot,
    RetryPlanned,
    RunProbe,
    RunTool,
    StopWork,
    Submit,
    Withdraw,
)
from pawl.runtime.agent.facts import error_info
from pawl.runtime.agent.payloads import LoadedContext, WorkFailed
from pawl.runtime.barriers.rest import let_go
from pawl.runtime.execution.act import Permit
from pawl.runtime.execution.audience import Audience
from pawl.runtime.execution.deadlines import Deadlines, nearer
from pawl.runtime.execution.heart import ArmTimer, Decision, DisarmTimer, Live, Message, Move, begin, decide, ended
from pawl.runtime.execution.insisting import Insistence
from pawl.runtime.execution.lease import Lease
from pawl.runtime.execution.listeners import Listeners
from pawl.runtime.execution.load import transcript
from pawl.runtime.execution.mail import Mail, Poster
from pawl.runtime.execution.observed import Observer
from pawl.runtime.execution.permit import Leave
from pawl.runtime.execution.preparation import Preparation
from pawl.runtime.execution.registry import Registry
from pawl.runtime.execution.stats import Counters, count
from pawl.runtime.execution.streams import Streams
from pawl.runtime.execution.submitting import Submissions, not_read_back, not_submitted
from pawl.runtime.execution.timers import Timers
from pawl.runtime.execution.waiting import Waiting
from pawl.runtime.execution.work import Post, Workshop
from pawl.runtime.fsm.step import explain
from pawl.runtime.fsm.table import Kind
from pawl.runtime.llm.port import Provider
from pawl.runtime.loop.environment import Environment
from pawl.runtime.loop.inbox import Inbox
from pawl.runtime.loop.outbox import Outbox
from pawl.runtime.records.errors import OutcomeUnknown
from pawl.runtime.records.frozen import replace
from pawl.runtime.store.port import Store

Trace = Callable[[str, Move], None]


class Keeper:
    """Live executions by id, and everything that is done for them. All methods run on the loop."""

    def __init__(
        self,
        environment: Environment,
        store: Store,
        lease: Lease,
        listeners: Listeners,
        provider: Callable[[Agent[Any]], Provider],
        deps: object,
        trace: Trace | None = None,
    ) -> None:
        self.environment, self.store, self.lease, self.listeners = environment, store, lease, listeners
        self.registry, self.streams = Registry(), Streams()
        self._audience = Audience(listeners, self.streams)
        self.waiting = Waiting(environment)
        self.outbox = Outbox(store, environment.wake, lambda: self.inbox.draining)
        self.inbox: Inbox[Mail | Callable[[], None]] = Inbox(environment, self._handle, self.outbox.flush)
        self.insist = Insistence(environment, self.outbox, self.inbox.post)
        """Has an operation committed that may be repeated, however long the store takes."""
        self.read_again: Callable[[str], None] = _nobody
        self.counters = Counters()
        self.counters.gauges |= {"streams": lambda: len(self.streams), "stream_dropped": lambda: self.streams.dropped}
        self.observer = Observer(self.counters)
        self._submissions = Submissions(environment, self.outbox, self.observer)
        self._provider, self._trace = provider, trace
        self._lives: dict[str, Live] = {}
        self._leaves: dict[str, Leave] = {}
        self._posters: dict[str, Post] = {}
        self._timers = Timers(environment)
        self._deadlines = Deadlines(environment, self._poster)
        self._workshop = Workshop(environment, deps)
        self.counters.gauges["tools_queued"] = lambda: self._workshop.queued
        self._preparation = Preparation(environment, store, deps)

    def live(self, execution_id: str) -> Live | None:
        """The live value of an execution, None when it is not run here."""
        return self._lives.get(execution_id)

    def closed(self, execution_id: str) -> bool:
        """Whether the execution was closed here: nothing of it moves until it is reloaded."""
        live = self._lives.get(execution_id)
        return live is not None and _halted(live)

    def can(self, live: Live, event: str) -> bool:
        """Whether the tables have a row for `event` that would change something now."""
        row = explain(MACHINE, live.state, live.invocation, event).row
        return row is not None and (row.target is not None or bool(row.do))

    @property
    def executing(self) -> tuple[Live, ...]:
        """Everything that is run here now."""
        return tuple(self._lives.values())

    @property
    def moving(self) -> int:
        """How many of them are on their way to a rest."""
        return sum(not _halted(live) for live in self._lives.values())

    @property
    def busy(self) -> bool:
        """Whether any application code runs here."""
        return len(self._workshop) > 0

    # sessions -----------------------------------------------------------------------------------------------

    def begin(self, invocation: AgentInvocation, payload: object = None, state: State | None = None) -> None:
        """Start a session for an execution whose slot was taken."""
        self._install(Live(state or State.IDLE, invocation))
        self._follow(invocation.execution_id, begin(invocation, payload, state))

    def resume(self, invocation: AgentInvocation, state: State, event: str, payload: object) -> None:
        """A new session at the wait state where the last one ended, and what was brought to it."""
        self._install(Live(state, invocation))
        self.deliver(invocation.execution_id, event, payload)

    def _install(self, live: Live) -> None:
        self._lives[live.execution_id] = live
        poster = self._posters[live.session] = self._poster(live)
        self._leaves[live.session] = Leave(self.lease, self.insist, live.invocation.agent_id, poster)
        self.streams.sync(live.execution_id, live.invocation.position)

    def abandon(self, invocation: AgentInvocation) -> None:
        """What was claimed turned out not to be wanted: let it go as it was found."""

        self.insist(
            let_go(invocation.agent_id, invocation.authority),
            lambda _: self.registry.move(invocation.agent_id, Admission.REST),
        )

    def deliver(self, execution_id: str, event: str, payload: object) -> bool:
        """Bring an event to an execution as it stands now, from the loop itself.

        False when it is not run here, or when its table refuses the event: nothing has changed then.
        """
        live = self._lives.get(execution_id)
        if live is None:
            return False
        decision = self._decide(live, Message(live.session, event, payload, self.environment.now()))
        self._follow(execution_id, decision)
        return decision.refused is None

    def _handle(self, mail: Mail | Callable[[], None]) -> None:
        if not isinstance(mail, Mail):
            return mail()
        live = self._lives.get(mail.execution_id)
        if live is None or live.session != mail.message.session:
            return self._count(mail.message.event)
        return self._follow(mail.execution_id, self._decide(live, mail.message))

    def _decide(self, live: Live, message: Message) -> Decision:
        try:
            return decide(live, message)
        except Exception as error:
            self.observer.broken(live, f"the tables do not say what '{message.event}' means here", error)
            closed = OutcomeUnknown(
                f"execution {live.execution_id} is closed in this process, where an error inside was met: {error}; "
                "`reload` reads the store again, and so does a new process"
            )
            return Decision(replace(ended(live, message), state=State.RECOVERY_REQUIRED), (Closed(closed),))

    def _follow(self, execution_id: str, decision: Decision) -> None:
        """Replace the live value, then carry out what was asked, in order."""
        self._lives[execution_id] = decision.live  # I8
        self._deadlines.follow(decision.live)
        if decision.dropped is not None:
            self._count(decision.dropped)
        if self._trace is not None:
            self._show(execution_id, decision.moves, self._trace)
        for effect in decision.effects:
            try:
                self._perform(decision.live, effect)
            except Exception as error:
                self._not_performed(decision.live, effect, error)

    def _show(self, execution_id: str, moves: Sequence[Move], trace: Trace) -> None:
        try:
            for move in moves:
                trace(execution_id, move)
        except Exception as error:
            self.observer.raised("the trace, which is not called any more,", error)
            self._trace = None

    def _count(self, event: str) -> None:
        count(self.counters.dropped, event)

    # effects ------------------------------------------------------------------------------------------------

    def _perform(self, live: Live, effect: object) -> None:
        invocation = live.invocation
        match effect:  # those that come several times a round stand first: cases are tried one after the other
            case Submit(command):
                self._submissions.submit(live, command, self._poster(live))
            case DisarmTimer():
                self._timers.disarm(live.session, effect)
            case Announce(position, journal):
                self._audience.announce(live, position, journal)
            case ArmTimer():
                self._timers.arm(live.session, effect, self._due(live, effect.event))
            case CallModel():
                provider = partial(self._provider, invocation.agent)
                streaming = self.streams.wants_tokens(live.execution_id)
                self._workshop.call_model(
                    effect, invocation.agent, provider, self._poster(live), self._permit(live), streaming
                )
            case RunTool(row, deadline):
                deadline = nearer(deadline, invocation.record.deadline)
                self._workshop.run_tool(row, deadline, invocation, self._poster(live), self._permit(live))
            case ReadBack(command):
                self._submissions.read_back(command, self._poster(live))
            case RequestSlot(row):
                self._workshop.request_slot(row, invocation, self._poster(live))
            case Withdraw(row):
                self._workshop.withdraw(row, self._poster(live))
            case Authorize(row):
                self._workshop.authorize(row, invocation, self._poster(live))
            case RunProbe(row):
                self._workshop.probe(row, invocation, self._poster(live))
            case StopWork(name):
                self._workshop.stop(name)
                self._preparation.stop(name)
            case LoadContext():
                self._load_context(live)
            case FilterText():
                self._preparation.filter(effect, invocation, self._poster(live))
            case PrepareRequest():
                self._preparation.request(effect, invocation, self._poster(live))
            case Emit(event):
                self.observer.told(live, event)
                self._audience.tell(event)
            case RetryPlanned():
                self.observer.retrying(live, effect)
            case Begun():
                self.observer.admitted(live)
                self.registry.move(invocation.agent_id, Admission.ADMITTED)
                self.waiting.begun(live.execution_id)
            case AtRest():
                self._rest(live, effect)
            case Ended(rest, event, error):
                self._forget(live)
                self.observer.ended(live, rest, error)
                self.registry.move(invocation.agent_id, Admission.RELEASE)
                self._audience.tell(event)
                self.waiting.settle(live.execution_id, rest, error)
            case ReadAgain():
                self.read_again(live.execution_id)
            case Reopened():
                self.registry.move(invocation.agent_id, Admission.ADOPT)
                self.registry.move(invocation.agent_id, Admission.ADMITTED)
                self.streams.sync(live.execution_id, invocation.position)
            case Closed(error):
                self.observer.closed(live)
                self.registry.move(invocation.agent_id, Admission.CLOSE)
                self.waiting.settle(live.execution_id, None, error)
                self.streams.moved(live.execution_id)
            case _:
                raise AssertionError(f"nobody carries out {effect!r}")

    def _not_performed(self, live: Live, effect: object, error: Exception) -> None:
        """What cannot be carried out is an error inside of whoever asked for it; where nobody is left, of who waits."""
        self.observer.broken(live, f"the effect {type(effect).__name__} could not be carried out", error)
        post = self._poster(live)
        match effect:
            case _ if live.execution_id not in self._lives:
                closed = OutcomeUnknown(f"execution {live.execution_id} cannot be followed here any more: {error}")
                self.waiting.settle(live.execution_id, None, closed)
            case Submit(command):
                not_submitted(command, error, post)
            case ReadBack(command):
                not_read_back(command, error, post)
            case Authorize(row) | RunTool(row) | RequestSlot(row):
                post("internal_error", error, row.tool_invocation_id, row.tool_invocation_id)
            case _:
                post("internal_error", error, None, None)

    def _permit(self, live: Live) -> Permit:
        """Leave to act: of the session, under the authority that it has now."""
        return self._leaves[live.session].under(live.invocation.authority)

    def _poster(self, live: Live) -> Post:
        """The sink of this one incarnation, kept while it is installed."""
        kept = self._posters.get(live.session)
        return kept or Poster(live.execution_id, live.session, self.environment.now, self.inbox.post)

    def _due(self, live: Live, event: str) -> Post:
        """Who hears of a timer: the session; of one for its callbacks, through what knows whether they have begun."""
        post = self._poster(live)
        if event != "preparation_expired":
            return post
        return lambda *_: self._preparation.late(live.invocation, post)

    def _load_context(self, live: Live) -> None:
        post, invocation = self._poster(live), live.invocation

        def loaded(messages: Any, error: BaseException | None) -> None:
            if error is None:
                return post("context_ready", LoadedContext(messages), None, None)
            return post("context_failed", WorkFailed(error_info(error)), None, None)

        operation = transcript(invocation.agent_id, invocation.execution_id)
        self.environment.read(lambda: self.store.read(operation), loaded)

    # rest ---------------------------------------------------------------------------------------------------

    def _rest(self, live: Live, effect: AtRest) -> None:
        """Ownership is released, then the event is delivered, then the handle settles. Nothing lives on."""
        invocation = live.invocation
        self._forget(live)
        self.observer.at_rest(live, effect)

        def settled(_: object = None) -> None:  # I10
            self.registry.move(invocation.agent_id, Admission.REST)
            self._audience.rest(live, effect.event)
            self.waiting.settle(live.execution_id, effect.rest, None, effect.refusal)

        if not effect.held:
            return settled()
        now = self.environment.now()
        operation = let_go(invocation.agent_id, invocation.authority, live.execution_id, effect.awaiting, now)
        return self.insist(operation, settled)

    def _forget(self, live: Live) -> None:
        self._lives.pop(live.execution_id, None)
        self._leaves.pop(live.session, None)
        self._posters.pop(live.session, None)
        self._deadlines.forget(live.session)
        self._timers.forget(live.session)
        self.streams.moved(live.execution_id)


def _halted(live: Live) -> bool:
    return MACHINE.state[live.state].kind is Kind.HALT


def _nobody(_: str) -> None:
    """Whom a keeper tells before it has a host."""
