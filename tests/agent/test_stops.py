"""Which reason to stop wins, and how a run ends for it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pawl import Agent, Message, scripted
from pawl.generated.agent_invocation import MACHINE, State
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.payloads import Stop, StopReason
from pawl.runtime.agent.transcript import Transcript
from pawl.runtime.fsm.step import enter
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ErrorInfo

RECORD = ExecutionRecord("x", "a", "a", 1, "m", "h", "s", "sha256:0", None, 0.0, 0.0, "active", "calling_llm", 1, "t")
WHY = ErrorInfo("E", "because")


def context(**facts: Any) -> AgentInvocation:
    made = AgentInvocation(
        session="s",
        execution_id="x",
        agent_id="a",
        agent=Agent(name="a", model=scripted(["x"])),
        record=RECORD,
        draft=RECORD,
        authority=Authority("me", 1),
    )
    return replace(made, **facts)


def stopped(*reasons: str) -> Stop:
    """The reason that stands after these have come, in this order."""
    told = context()
    for reason in reasons:
        told, effects = told.note_stop(Stop(StopReason(reason), ErrorInfo("E", reason)))
        assert effects == ()
    assert told.stop is not None
    return told.stop


def test_the_first_of_two_equals_wins() -> None:
    for first, second in itertools.permutations(["cancel", "deadline"], 2):
        assert stopped(first, second).reason == first


@pytest.mark.parametrize("strong", ["cancel", "deadline"])
@pytest.mark.parametrize("weak", ["listener", "error"])
def test_a_cancel_or_a_deadline_overrides_a_failure_of_ours(strong: str, weak: str) -> None:
    assert stopped(weak, strong).reason == strong
    assert stopped(strong, weak).reason == strong


@pytest.mark.parametrize("other", ["cancel", "deadline", "listener", "error"])
def test_a_loss_of_ownership_overrides_everything_and_is_never_overridden(other: str) -> None:
    assert stopped(other, "lost").reason == "lost"
    assert stopped("lost", other).reason == "lost"


def test_an_exception_is_a_reason_with_its_name_and_text() -> None:
    told, _ = context().note_stop(ValueError("no \ud800"))
    assert told.stop == Stop(StopReason.ERROR, ErrorInfo("ValueError", "no \\ud800"))


def ended(**facts: Any) -> AgentInvocation:
    """A run that begins to end, knowing this."""
    return enter(MACHINE, State.QUIESCING, context(**facts)).context


@pytest.mark.parametrize(
    ("facts", "status", "error"),
    [
        ({"stop": Stop(StopReason.CANCEL), "failure": WHY, "output": "x"}, "cancelled", None),
        ({"stop": Stop(StopReason.DEADLINE), "rejection": "no"}, "failed", "DeadlineExceeded"),
        ({"stop": Stop(StopReason.LISTENER, WHY)}, "failed", "E"),
        ({"refusal": ValueError("no"), "failure": WHY}, "failed", "ValueError"),
        ({"failure": WHY, "blocked": ErrorInfo("FilterBlocked", "b")}, "failed", "E"),
        ({"blocked": ErrorInfo("FilterBlocked", "b"), "rejection": "no"}, "blocked", "FilterBlocked"),
        ({"rejection": "no", "output": "x"}, "rejected", "Rejected"),
        ({"output": "x"}, "completed", None),
        ({"output": ""}, "completed", None),
    ],
)
def test_how_a_run_ends_is_the_first_of_the_reasons_that_are_so(
    facts: dict[str, Any], status: str, error: str | None
) -> None:
    told = ended(**facts)
    assert told.ending is not None
    assert told.ending.status == status
    assert (told.ending.error.type if told.ending.error is not None else None) == error


def test_a_run_that_begins_to_end_for_no_reason_is_closed() -> None:
    step = enter(MACHINE, State.QUIESCING, context())
    assert (step.state, step.context.ending) == (State.RECOVERY_REQUIRED, None)


def test_a_run_that_belongs_to_somebody_else_gets_no_ending_here() -> None:
    step = enter(MACHINE, State.QUIESCING, context(stop=Stop(StopReason.LOST), output="x"))
    assert (step.state, step.context.ending) == (State.SUPERSEDED, None)


def test_no_way_leads_back_to_where_an_ending_is_frozen_but_through_the_record() -> None:
    reached, fresh = {State.QUIESCING}, [State.QUIESCING]
    while fresh:
        here = fresh.pop()
        targets = {row.target for row in MACHINE.rows if row.source is here and row.target is not None}
        assert State.QUIESCING not in targets, here
        fresh += targets - reached - {State.RECOVERING}
        reached |= targets


def test_a_rejected_run_says_what_its_model_said_last() -> None:
    said = Transcript([Message("user", "go"), Message("assistant", "first"), Message("tool", "3", tool_call_id="c1")])
    told = ended(rejection="no", transcript=said)
    assert told.ending is not None
    assert told.ending.output == "first"
    told = ended(rejection="no")
    assert told.ending is not None
    assert told.ending.output == ""
