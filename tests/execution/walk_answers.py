"""What the world may answer to what the heart asks for: each way has a name, and the walk draws one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs

from pawl import ModelAnswer, ToolCall, Usage
from pawl.runtime.agent.payloads import (
    Authorized,
    LlmChunk,
    LlmCompleted,
    LlmFailed,
    ProbeAnswer,
    Recovered,
    SlotGranted,
    Stop,
    StopReason,
    ToolEnded,
)
from pawl.runtime.barriers.admission import Admission
from pawl.runtime.barriers.answers import BarrierAnswer, answered, operation_id, read
from pawl.runtime.barriers.claim import take_over
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.execution.heart import (
    Live,
    Message,
)
from pawl.runtime.execution.load import recovered
from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.errors import PawlError, StoreError, StoreUnavailable
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ErrorInfo, ToolOutcome
from pawl.runtime.simulation.store import foreign_write
from pawl.runtime.store.answers import Answer, Committed, Refused, Unavailable, Uncertain
from pawl.runtime.store.classify import of_error
from pawl.runtime.store.memory_tables import MemoryTransaction

NAME, AGENT_ID = "x1", "a"

STOPS: dict[str, object] = {
    "cancel_requested": Stop(StopReason.CANCEL),
    "deadline_exceeded": Stop(StopReason.DEADLINE),
    "application_callback_failed": Stop(StopReason.LISTENER, ErrorInfo("E", "deaf")),
    "internal_error": RuntimeError("inside"),
    "ownership_lost": Stop(StopReason.LOST),
}


@attrs.define(eq=False)
class Waiting:
    """Something that will be answered: each way is a weight and what makes the message."""

    name: str
    ways: list[tuple[str, Callable[[], Message | None]]]
    physical: bool = False
    stopped: bool = False
    lasts: bool = False


class Answers:
    """The store of a walk, and everything that waits for an answer."""

    live: Live | None
    random: random.Random
    waiting: list[Waiting]
    may_run: Counter[str]
    queued: dict[str, Any]
    now: float
    tampered: bool
    trouble: bool

    def __init__(self) -> None:
        self.queued = {}
        self.tx = MemoryTransaction()
        self.tx.agents.insert(AgentRoot(AGENT_ID, "a", 1, 0.0))
        self.tx.keep()

    # the store ------------------------------------------------------------------------------------------------

    def commit(self, operation: Any) -> Answer[Any]:
        try:
            value = operation(self.tx)
        except BaseException as error:
            self.tx.undo()
            return of_error(error)
        self.tx.keep()
        return Committed(value)

    @property
    def record(self) -> ExecutionRecord | None:
        return self.tx.executions.get(NAME)

    def lose_ownership(self) -> None:
        root = self.tx.agents.get(AGENT_ID)
        assert root is not None
        self.tx.agents.save(replace(root, owner="other", fence=root.fence + 1))
        self.tx.keep()

    def _lost(self) -> bool:
        root = self.tx.agents.get(AGENT_ID)
        return root is None or root.owner != "me"

    def _expect(self, name: str, *ways: tuple[str, str, object], **more: Any) -> None:
        live = self.live
        assert live is not None

        def way(event: str, payload: object) -> Callable[[], Message]:
            return lambda: Message(live.session, event, payload, self.now, more.get("child"), more.get("settles"))

        made: list[tuple[str, Callable[[], Message | None]]] = [
            (label, way(event, said)) for label, event, said in ways
        ]
        self.waiting.append(Waiting(name, made, physical=more.get("physical", False)))

    # what is answered, and how --------------------------------------------------------------------------------------

    def _answer(self, command: Any, answer: Answer[Any], reading: bool) -> Message:
        assert self.live is not None
        event, payload = (read if reading else answered)(answer, command.token)
        child = command.row.tool_invocation_id if isinstance(command, ToolCommit) else None
        return Message(self.live.session, event, payload, self.now, child, operation_id(command.token, reading))

    def _submit(self, command: Any) -> None:
        assert self.live is not None
        if self.live.invocation.ownership_is_lost(None):
            child = command.row.tool_invocation_id if isinstance(command, ToolCommit) else None
            said = BarrierAnswer(command.token, False)
            lost = Message(self.live.session, "superseded", said, self.now, child, said.operation)
            self.waiting.append(Waiting(command.token, [("known lost", lambda: lost)]))
            return

        def commits() -> Message:
            answer = self.commit(command.run)
            if isinstance(answer, Refused) and not self.tampered:
                raise AssertionError(f"{command.barrier} was refused: {answer.error!r}") from answer.error
            return self._answer(command, answer, False)

        def loses(landed: bool) -> Message:
            if landed:
                commits()
            return self._answer(command, Uncertain(StoreError("lost")), False)

        def taken() -> Message:
            self.lose_ownership()
            return commits()

        def foreign() -> Message:
            if not isinstance(command, Admission):
                self.tampered = True
                self.commit(foreign_write(command.run))
            return loses(False)

        refused = PawlError("refused"), ValueError("refused")
        self.waiting.append(
            Waiting(
                command.token,
                [
                    ("commits", commits),
                    ("unavailable", lambda: self._answer(command, Unavailable(StoreUnavailable("away")), False)),
                    ("lost, landed", lambda: loses(True)),
                    ("lost, not landed", lambda: loses(False)),
                    ("refused", lambda: self._answer(command, Refused(self.random.choice(refused)), False)),
                    ("taken over", taken),
                    ("foreign", foreign),
                ],
            )
        )

    def _read_back(self, command: Any) -> None:
        def reads() -> Message:
            return self._answer(command, self.commit(command.read_back), True)

        def taken() -> Message:
            self.lose_ownership()
            return reads()

        self.waiting.append(
            Waiting(
                f"read {command.token}",
                [
                    ("reads", reads),
                    ("cannot read", lambda: self._answer(command, Unavailable(StoreUnavailable("away")), True)),
                    ("taken over", taken),
                ],
            )
        )

    def _call_model(self, name: str, revision: int) -> None:
        live = self.live
        assert live is not None

        def says(event: str, payload: object, settles: str | None = name) -> Callable[[], Message]:
            return lambda: Message(live.session, event, payload, self.now, None, settles)

        def calls() -> Message:
            picked = self.random.sample(
                ["free", "paid", "probed", "strict", "scarce", "nothing"], self.random.randint(1, 3)
            )
            made = tuple(
                ToolCall(f"c{n}", name_, '{"text":"x"}' if self.random.random() < 0.9 else "{")
                for n, name_ in enumerate(picked)
            )
            return says("llm_completed", LlmCompleted(name, revision, ModelAnswer("", made, Usage(2, 1))))()

        self.waiting.append(
            Waiting(
                name,
                [
                    (
                        "text",
                        says("llm_completed", LlmCompleted(name, revision, ModelAnswer("hello", usage=Usage(1, 1)))),
                    ),
                    ("calls", calls),
                    ("calls again", calls),
                    ("fails safely", says("llm_failed", LlmFailed(name, revision, ErrorInfo("M", "busy"), True))),
                    ("fails", says("llm_failed", LlmFailed(name, revision, ErrorInfo("M", "no")))),
                    ("chunk", says("llm_stream_chunk", LlmChunk(name, revision, "he"), None)),
                ],
                physical=True,
            )
        )

    def _run_tool(self, row: Any) -> None:
        name, attempt = row.tool_invocation_id, row.attempt
        outcomes = (ToolOutcome(result="r"), ToolOutcome(error=ErrorInfo("E", "no")), ToolOutcome(cancelled=True))
        self._expect(
            name,
            *((str(n), "execution_completed", ToolEnded(name, attempt, said)) for n, said in enumerate(outcomes)),
            child=name,
            settles=name,
            physical=True,
        )

    def _request_slot(self, row: Any) -> None:
        name = row.tool_invocation_id
        granted = SlotGranted(name, row.attempt)
        self._expect(f"slot {name}", ("granted", "slot_granted", granted), child=name)
        self.queued[name] = row

    def _withdraw(self, row: Any) -> None:
        """It never began; the slot may have been granted all the same, and that comes late."""
        name = row.tool_invocation_id
        self.queued.pop(name, None)
        if self.random.random() < 0.5:
            self.waiting = [one for one in self.waiting if one.name != f"slot {name}"]
        ended = ToolEnded(name, row.attempt, ToolOutcome(cancelled=True))
        self._expect(name, ("withdrawn", "execution_completed", ended), child=name, settles=name, physical=True)

    def _authorize(self, row: Any) -> None:
        name = row.tool_invocation_id
        words = ("allow", "ask", "reject", "failed", "cancelled")
        self._expect(
            f"policy {name}",
            *((said, "authorization_completed", Authorized(name, said, "why")) for said in words),  # type: ignore[arg-type]
            child=name,
        )

    def _probe(self, row: Any) -> None:
        name = row.tool_invocation_id

        def absent() -> Message:
            assert self.live is not None
            self.may_run[name] += 1
            return Message(self.live.session, "probe_absent", ProbeAnswer(name), self.now, None, f"probe-{name}")

        self._expect(
            f"probe-{name}",
            ("found", "probe_found", ProbeAnswer(name, "found")),
            ("unknown", "probe_unknown", ProbeAnswer(name)),
            settles=f"probe-{name}",
            physical=True,
        )
        self.waiting[-1].ways.append(("absent", absent))

    def _reload(self) -> None:
        """As the host does: claim, read, bring; where somebody else owns it, say so."""
        live = self.live
        assert live is not None
        if self._lost() and self.random.random() < 0.5 and self.trouble:
            self.waiting.append(
                Waiting(
                    "reload",
                    [("lost", lambda: Message(live.session, "ownership_lost", Stop(StopReason.LOST), self.now))],
                )
            )
            return

        def reload() -> Message:
            if self.record is None:
                return Message(live.session, "reload", Recovered(None), self.now)
            claimed = take_over(NAME, "me", self.now, lambda owner: True)(self.tx)
            self.tx.keep()
            found = attrs.evolve(recovered(NAME)(self.tx), authority=claimed.authority or live.invocation.authority)
            return Message(live.session, "reload", found, self.now)

        self.waiting.append(Waiting("reload", [("reload", reload)]))
