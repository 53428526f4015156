"""Which reason to stop wins, and how a run ends for it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pawl import Agent, Message, scripted
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.payloads import Stop
from pawl.runtime.agent.transcript import Transcript
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
        told, effects = told.note_stop(Stop(reason, ErrorInfo("E", reason)))  # type: ignore[arg-type]
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
    assert told.stop == Stop("error", ErrorInfo("ValueError", "no \\ud800"))


@pytest.mark.parametrize(
    ("facts", "status", "error"),
    [
        ({"stop": Stop("cancel"), "failure": WHY, "output": "x"}, "cancelled", None),
        ({"stop": Stop("deadline"), "rejection": "no"}, "failed", "DeadlineExceeded"),
        ({"stop": Stop("listener", WHY)}, "failed", "E"),
        ({"refusal": ValueError("no"), "failure": WHY}, "failed", "ValueError"),
        ({"failure": WHY, "blocked": ErrorInfo("FilterBlocked", "b")}, "failed", "E"),
        ({"blocked": ErrorInfo("FilterBlocked", "b"), "rejection": "no"}, "blocked", "FilterBlocked"),
        ({"rejection": "no", "output": "x"}, "rejected", "Rejected"),
        ({"output": "x"}, "completed", None),
        ({}, "completed", None),
    ],
)
def test_how_a_run_ends_is_frozen_when_it_begins_to_end(facts: dict[str, Any], status: str, error: str | None) -> None:
    told, _ = context(**facts).stop_work(None)
    assert told.ending is not None
    assert told.ending.status == status
    assert (told.ending.error.type if told.ending.error is not None else None) == error
    again, _ = replace(told, failure=WHY, stop=Stop("cancel")).stop_work(None)
    assert again.ending == told.ending


def test_a_rejected_run_says_what_its_model_said_last() -> None:
    said = Transcript([Message("user", "go"), Message("assistant", "first"), Message("tool", "3", tool_call_id="c1")])
    told, _ = context(rejection="no", transcript=said).stop_work(None)
    assert told.ending is not None
    assert told.ending.output == "first"
    told, _ = context(rejection="no").stop_work(None)
    assert told.ending is not None
    assert told.ending.output == ""
