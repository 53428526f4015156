"""Random walks of the heart alone: one run, a store in memory, and everything that could happen next, drawn by seed.

No loop, no runtime: messages are made from the effects that the heart asked for, and each is answered in one of the
ways that the world may answer. So a walk reaches, in a millisecond, places where the whole runtime hardly ever comes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs

from execution.walk_answers import AGENT_ID, NAME, STOPS, Answers, Waiting
from execution.walk_cast import BREAKABLE_TOOL, BROKEN, DEEP, FILTERING, PLAIN, TOOLS, near
from pawl import Agent, Decision, ModelAnswer, ToolCall, Usage, Verdict, scripted
from pawl.generated.agent_invocation import State
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.assembly import Assembly
from pawl.runtime.agent.assembly import stored as with_bodies
from pawl.runtime.agent.effects import (
    AtRest,
    Authorize,
    CallModel,
    Closed,
    Ended,
    FilterText,
    LoadContext,
    PrepareRequest,
    ReadAgain,
    ReadBack,
    Reopened,
    RequestSlot,
    RunProbe,
    RunTool,
    StopWork,
    Submit,
    Withdraw,
)
from pawl.runtime.agent.payloads import (
    Decided,
    FilteredText,
    LoadedContext,
    Recovered,
    Resolved,
    Stop,
    StopReason,
    WorkFailed,
)
from pawl.runtime.barriers.admission import Admission
from pawl.runtime.barriers.claim import take_over
from pawl.runtime.barriers.decide import undecided
from pawl.runtime.barriers.hostless import stop_intent
from pawl.runtime.barriers.resolve import subjects
from pawl.runtime.barriers.rest import let_go
from pawl.runtime.execution import heart
from pawl.runtime.execution.heart import (
    AGENT,
    ArmTimer,
    DisarmTimer,
    Live,
    Message,
    begin,
    decide,
)
from pawl.runtime.execution.heart import Decision as HeartDecision
from pawl.runtime.execution.load import messages, recovered
from pawl.runtime.execution.preparation import _whole
from pawl.runtime.fsm.errors import MachineError
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import Message as ChatMessage
from pawl.runtime.records.messages import why_invalid
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import REPLAYS, ErrorInfo, ToolStatus
from pawl.runtime.store.answers import Committed

AGAIN = ("read_failed", "probe_absent", "probe_unknown")
"""Answers to questions that are asked again word for word: what comes twice may answer the second one."""


class Walk(Answers):
    """One walk. `step` does one thing; `calm` brings it to its end without any more trouble."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        choose = self.random.choice
        self.agent = Agent(
            name="a",
            model=scripted(["x"]),
            tools=TOOLS,
            max_iterations=3,
            on_rejection=choose(["end", "continue"]),
            model_recovery=choose(["replay", "ask"]),
            drain_timeout=60,
        )
        self.filters = choose([True, False])
        super().__init__()
        self.now, self.sessions, self.calls = 1000.0, 0, 0
        self.live: Live | None = None
        self.waiting: list[Waiting] = []
        self.timers: dict[tuple[str | None, str], str] = {}
        self.told: list[Message] = []
        self.trace: list[str] = []
        self.resting: str | None = None
        self.closed = self.over = self.tampered = self.troubled = False
        self.ran: Counter[str] = Counter()
        self.prepared = 0
        self.asked: dict[int, ChatMessage] = {}
        self.may_run: Counter[str] = Counter()
        self.trouble = True
        self.quiet = self.random.randrange(30)
        self.broken: list[str] = []
        self._start()

    # sessions ---------------------------------------------------------------------------------------------------

    def context(self, record: ExecutionRecord, authority: Authority) -> AgentInvocation:
        self.sessions += 1
        kind = FILTERING if self.filters else PLAIN
        made: AgentInvocation = kind(
            session=f"s{self.sessions}",
            execution_id=NAME,
            agent_id=AGENT_ID,
            now=self.now,
            agent=self.agent,
            record=record,
            draft=record,
            authority=authority,
        )
        return made

    def _start(self) -> None:
        body = Content.of("go")
        record = ExecutionRecord(
            execution_id=NAME,
            agent_id=AGENT_ID,
            definition="a",
            definition_version=1,
            machine=AGENT.name,
            spec_hash=AGENT.spec_hash,
            start_id="r1",
            input=body.digest,
            context=None,
            created_at=self.now,
            updated_at=self.now,
            status="preparing",
            phase="preparing",
            revision=0,
            token="admission-1",
            on_rejection=self.agent.on_rejection,
        )
        entry = JournalEntry(JournalKind.INPUT_RECEIVED, NAME, self.now, body)
        command = Admission("me", self.now, lambda owner: True, record, body, None, entry)
        context = replace(self.context(record, Authority("me", 0)), input="go")
        self._follow(begin(context, command))

    def _claim(self) -> Recovered:
        """Another process, or this one again: everything that was alive is gone."""
        self.waiting, self.timers, self.told, self.closed, self.queued = [], {}, [], False, {}
        claimed = take_over(NAME, "me", self.now, lambda owner: True)(self.tx)
        self.tx.keep()
        found = recovered(NAME)(self.tx)
        return attrs.evolve(found, authority=claimed.authority)

    def recover(self) -> None:
        """A process is lost, and the next one takes over."""
        if self.record is None or self.record.status in TERMINAL:
            self.over = True
            return
        self.resting = None
        found = self._claim()
        assert found.record is not None
        assert found.authority is not None
        self.trace.append("-- taken over --")
        self._follow(begin(self.context(found.record, found.authority).found(found), found, State.RECOVERING))

    def resume(self, state: State, event: str, make: Callable[[Recovered], object]) -> None:
        """A new session at a wait state, and what is brought to it."""
        self.resting = None
        found = self._claim()
        assert found.record is not None
        assert found.authority is not None
        live = Live(state, self.context(found.record, found.authority).found(found))
        self.live = live
        self.deliver(Message(live.session, event, make(found), self.now))

    # messages ---------------------------------------------------------------------------------------------------

    def deliver(self, message: Message, *, again: bool = False) -> None:
        assert self.live is not None
        self.now += 0.001
        message = message._replace(now=self.now)
        before = self.live
        broken = self.broken or ([self.random.choice(near(before))] if self._troubled(0.04) and not again else [])
        decision, twin = self._decide(before, message, broken), self._decide(before, message, broken)
        self.tampered |= bool(broken)  # what was committed may not have been applied: then the next commit is refused
        assert (decision.moves, decision.live.state) == (twin.moves, twin.live.state), "the heart is not pure"
        self.trace.append(f"{before.state}: {(message.child or '')[-4:]} {message.event}")
        if again:
            assert decision.live.state == before.state, f"{message.event} came twice and moved {before.state}"
            assert decision.live.invocation.record == before.invocation.record
        elif (message.settles is not None or message.child is not None) and message.event not in AGAIN:
            self.told.append(message)
        self._follow(decision)

    @staticmethod
    def _decide(live: Live, message: Message, broken: list[str]) -> Any:
        """As the keeper does: what the tables do not say closes the run."""
        BROKEN[:] = broken
        try:
            return decide(live, message)
        except MachineError:
            if not broken or broken == BROKEN:
                raise
            closed = Closed(RuntimeError("broken"))
            return HeartDecision(replace(live, state=State.RECOVERY_REQUIRED), (closed,))
        finally:
            BROKEN.clear()

    def _troubled(self, chance: float) -> bool:
        """Whether something goes wrong now: later in the walk, and more often where walks seldom come."""
        if not self.trouble or self.quiet > 0:
            return False
        state, _, inside = self.live.state.partition(".") if self.live is not None else ("", "", "")
        seldom = (3 if state in DEEP else 1) * (4 if inside in ("retrying", "reconciling", "rereading") else 1)
        return self.random.random() < min(0.7, chance * seldom)

    def _follow(self, decision: Any) -> None:
        self.live = decision.live
        for move in decision.moves:
            self.trace.append(f"    {(move.child or '')[-4:]} {move.source} -> {move.target}")
        for effect in decision.effects:
            self._perform(effect)
        if not self.over and self.resting is None:
            self._check()

    def _perform(self, effect: object) -> None:
        live = self.live
        assert live is not None
        match effect:
            case Submit(command):
                self._submit(command)
            case ReadBack(command):
                self._read_back(command)
            case CallModel(request, revision):
                record = self.record
                assert record is not None
                assert record.llm_call_id == request.call_id or self._lost(), "a model call before its commit"
                wrong = why_invalid(request.messages)
                assert wrong is None, wrong
                asked = self.asked.setdefault(request.sequence, request.messages[0])
                if not self.tampered:
                    assert request.messages[0] == asked, "a model call that is made again asks something else"
                self._call_model(request.call_id, revision)
            case RunTool(row):
                stored = self.tx.tools.get(row.tool_invocation_id)
                if not self._lost():
                    assert stored is not None
                    assert (stored.status, stored.attempt) == (ToolStatus.PENDING, row.attempt), "before its commit"
                self.ran[row.tool_invocation_id] += 1
                self.queued.pop(row.tool_invocation_id, None)
                self._run_tool(row)
            case RequestSlot(row):
                self._request_slot(row)
            case Withdraw(row):
                self._withdraw(row)
            case StopWork(name) if name in self.queued:
                self._withdraw(self.queued[name])
            case StopWork(name):
                for one in self.waiting:
                    if one.name == name:
                        one.stopped = True
            case Authorize(row):
                self._authorize(row)
            case RunProbe(row):
                self._probe(row)
            case LoadContext():
                said = messages(self.tx.journal.transcript(AGENT_ID, NAME))
                self._expect(
                    "context",
                    ("ready", "context_ready", LoadedContext(said)),
                    ("failed", "context_failed", WorkFailed(ErrorInfo("OSError", "no"))),
                )
            case FilterText(work, which):
                self._expect(
                    work,
                    ("passed", f"{which}_filtered", FilteredText("filtered", work=work)),
                    ("blocked", f"{which}_filtered", FilteredText("", "bad word", work)),
                    ("failed", f"{which}_filter_failed", WorkFailed(ErrorInfo("OSError", "no"), work)),
                )
            case PrepareRequest(work, load):
                self.prepared += 1
                note = ChatMessage("system", f"note {self.prepared}")
                read = _whole(self.tx.journal.transcript(AGENT_ID, NAME), live.invocation)[0] if load else None
                made = LoadedContext(read, with_bodies(Assembly(before=(note,))), None, work)
                self._expect(
                    work,
                    ("ready", "context_ready", made),
                    ("failed", "context_failed", WorkFailed(ErrorInfo("OSError", "no"), work)),
                )
            case ArmTimer(child, state, event, _):
                self.timers[child, state] = event
            case DisarmTimer(child, state):
                self.timers.pop((child, state), None)
            case AtRest():
                self._rest(effect)
            case Ended(rest, _, error):
                self._ended(rest, error)
            case Closed():
                self.closed = True
            case ReadAgain():
                self._reload()
            case Reopened():
                self.closed = False

    # rests ------------------------------------------------------------------------------------------------------

    def _rest(self, effect: AtRest) -> None:
        live = self.live
        assert live is not None
        assert not [one for one in self.waiting if one.physical], "something still runs at a rest"
        if effect.held and not self._lost():
            said = self.commit(let_go(AGENT_ID, live.invocation.authority, NAME, effect.awaiting))
            assert isinstance(said, Committed), said
        self.resting, self.live = effect.awaiting, None
        self.waiting, self.timers, self.told = [], {}, []

    def _ended(self, rest: Any, error: Exception | None) -> None:
        assert not [one for one in self.waiting if one.physical], f"{[one.name for one in self.waiting]} still run"
        self.over = True
        record = self.record
        if rest is None:
            return
        assert record is not None
        assert record.status in TERMINAL
        kinds = [str(entry.kind) for entry in self.tx.journal.read(AGENT_ID)]
        assert sum(kind.startswith("execution_") for kind in kinds) == 1, kinds
        wrong = why_invalid(messages(self.tx.journal.transcript(AGENT_ID)))
        assert wrong is None, wrong
        rows = self.tx.tools.of_execution(NAME)
        if not self.tampered:
            assert not [row for row in rows if row.status is ToolStatus.PENDING], "a call is left pending at the end"
        recorded = Usage()
        for entry in self.tx.journal.read(AGENT_ID):
            if entry.kind is JournalKind.LLM_CALL_RECORDED:
                recorded += Usage(**entry.meta.get("usage", {}))
        assert recorded == record.usage

    def _check(self) -> None:
        live = self.live
        assert live is not None
        commits = [one for one in self.waiting if one.name.startswith(("commit", "admission"))]
        of_children = sum(len(child.invocation.unanswered) for child in live.children.values())
        assert len(commits) <= 1 + of_children, "two commits on one revision"
        for row in self.tx.tools.of_execution(NAME):
            if row.policy != "replay":
                assert self.ran[row.tool_invocation_id] <= 1 + self.may_run[row.tool_invocation_id], (
                    f"{row.tool} ran twice"
                )
            else:
                assert row.attempt <= REPLAYS + self.may_run[row.tool_invocation_id]

    # steps ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One thing happens."""
        self.quiet -= 1
        if self.over:
            return None
        if self.resting is not None:
            return self._at_rest()
        if self.live is None:
            return self.recover()
        if self._troubled(0.08):
            return self._trouble()
        if self.closed and not self.waiting:
            if self.random.random() < 0.5:
                return self._reload()
            return self.recover()
        if self.waiting and (not self.timers or not self.trouble or self.random.random() < 0.85):
            return self._one()
        if self.timers:
            (child, state), event = self.random.choice(sorted(self.timers.items(), key=repr))
            self.timers.pop((child, state))
            return self.deliver(Message(self.live.session, event, None, self.now, child))
        raise AssertionError(f"nothing can happen any more in {self.live.state}")

    def _one(self) -> None:
        waiting = self.random.choice(self.waiting)
        easy = not self._troubled(0.25)
        place = 0 if easy and not waiting.physical else self.random.randrange(len(waiting.ways))
        label, make = waiting.ways[place]
        message = make()
        assert message is not None
        self.trace.append(f"  ({waiting.name[-12:]}: {label})")
        if message.event != "llm_stream_chunk":
            self.waiting.remove(waiting)
        self.deliver(message)

    def _trouble(self) -> None:
        live = self.live
        assert live is not None
        kind = self.random.choice(
            ["crash", "cancel", "deadline", "listener", "error", "lost", "again", "again", "again"]
        )
        match kind:
            case "crash":
                self.recover()
            case "again" if self.told:
                self.deliver(self.random.choice(self.told), again=True)
            case "cancel":
                self.stop("cancel_requested")
            case "deadline":
                self.stop("deadline_exceeded")
            case "listener":
                self.stop("application_callback_failed")
            case "error" if not self.closed:
                self.stop("internal_error")
            case "lost":
                self.stop("ownership_lost")

    def stop(self, event: str) -> None:
        """Ask the session to stop."""
        live = self.live
        assert live is not None
        if event == "cancel_requested" and self.record is not None:
            self.commit(stop_intent(NAME, self.now))
        if event == "ownership_lost":
            self.lose_ownership()
        self.deliver(Message(live.session, event, STOPS[event], self.now))

    def _at_rest(self) -> None:
        what = self.random.random()
        if self.trouble and what < 0.1:
            return self.recover()
        if self.trouble and what < 0.2:
            self.commit(stop_intent(NAME, self.now))
            return self.recover()
        state = State.SUSPENDED if self.resting == "approval" else State.AWAITING_RESOLUTION
        if self.trouble and what < 0.3:
            stops = dict(STOPS)
            if state is State.SUSPENDED:
                stops["approval_expired"] = Stop(StopReason.DEADLINE)
            event = self.random.choice(sorted(stops))
            if event == "ownership_lost":
                self.resume_lost(state)
                return None
            return self.resume(state, event, lambda found: stops[event])
        if state is State.SUSPENDED:
            return self.resume(state, "decided", self._decided)
        return self.resume(state, "resolved", self._resolved)

    def resume_lost(self, state: State) -> None:
        def make(found: Recovered) -> object:
            self.lose_ownership()
            return Stop(StopReason.LOST)

        self.resume(state, "ownership_lost", make)

    def _decided(self, found: Recovered) -> Decided:
        record = found.record
        assert record is not None
        assert record.request is not None
        left = list(undecided(record))
        some = left if not self.trouble else self.random.sample(left, self.random.randint(1, len(left)))
        no = 0.3 if self.trouble else 0.0
        decisions = tuple(
            Decision(name, Verdict.REJECTED if self.random.random() < no else Verdict.APPROVED, "said") for name in some
        )
        return Decided(record.request.id, record.revision, decisions)

    def _resolved(self, found: Recovered) -> Resolved:
        record = found.record
        assert record is not None
        rows = [stored.row for stored in found.tools]
        asked = subjects(record, rows)
        assert asked, "it waits for a resolution of nothing"
        subject = self.random.choice(asked)
        outcome: Any = self.random.choice(["succeeded", "failed", "not_performed"])
        if outcome == "not_performed" and subject != "model":
            row = next(row for row in rows if row.tool_call_id == subject)
            self.may_run[row.tool_invocation_id] += 1
        calls = (ToolCall("c0", "free", '{"text":"x"}'),) if self.random.random() < 0.5 else ()
        said = ModelAnswer("said", calls, Usage(1, 1))
        answer = said if subject == "model" and outcome == "succeeded" else None
        error = ErrorInfo("E", "no") if outcome == "failed" else None
        return Resolved(subject, record.revision, outcome, "by hand" if outcome == "succeeded" else None, answer, error)

    def calm(self) -> None:
        """No more trouble: it has to come to its end."""
        self.trouble = False
        BROKEN.clear()
        for _ in range(400):
            if self.over:
                return
            self.step()
        raise AssertionError("it does not come to an end")


def walked(seed: int, steps: int = 60) -> Walk:
    """A whole walk. Raises AssertionError with the way that was taken."""
    patched: Any = heart
    made, patched.ToolInvocation = patched.ToolInvocation, BREAKABLE_TOOL
    walk = Walk(seed)
    try:
        for _ in range(steps):
            walk.step()
        walk.calm()
    except AssertionError as error:
        way = "\n".join(walk.trace[-80:])
        raise AssertionError(f"seed {seed}: {error}\n{way}") from error
    finally:
        patched.ToolInvocation = made
    return walk
