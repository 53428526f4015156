"""The context of one tool call, by itself."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import Agent, scripted, tool
from pawl.runtime.agent.payloads import ToolEnded
from pawl.runtime.agent.tool_invocation import ToolInvocation
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ErrorInfo, ToolOutcome, ToolRow, ToolStatus


@tool(timeout=5)
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def invocation(name: str = "add", arguments: str = '{"a": 1}', **facts: Any) -> ToolInvocation:
    row = ToolRow("t1", "x", "llm", "c1", 0, name, arguments, None, "ask", "key", ToolStatus.NEW)
    agent = Agent(name="a", model=scripted(["x"]), tools=[add])
    made = ToolInvocation(
        session="s", execution_id="x", agent_id="a", agent=agent, authority=Authority("me", 1), row=row
    )
    return replace(made, **facts)


def test_arguments_are_kept_canonical_with_their_defaults() -> None:
    checked, _ = invocation().validate_arguments(None)
    assert checked.row.arguments == {"a": 1, "b": 2}
    assert checked.body is None


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [("add", "{}", "error: invalid arguments"), ("subtract", "{}", "error: there is no tool 'subtract'")],
)
def test_what_a_model_gets_wrong_has_an_answer_and_its_digest(name: str, arguments: str, said: str) -> None:
    checked, _ = invocation(name, arguments).validate_arguments(None)
    assert checked.body is not None
    assert checked.body.startswith(said)
    assert checked.row.output is not None


def test_an_error_inside_takes_back_an_answer_that_was_given_before_it() -> None:
    answered, _ = invocation("subtract").validate_arguments(None)
    failed, _ = answered.note_internal_error(RuntimeError("inside"))
    assert failed.row.error == ErrorInfo("RuntimeError", "inside")
    assert (failed.row.output, failed.body) == (None, None)  # else a digest without a body would be on record


@pytest.mark.parametrize(
    ("facts", "outcome", "status", "error"),
    [
        ({}, ToolOutcome(result="3"), ToolStatus.COMPLETED, None),
        ({"timed_out": True}, ToolOutcome(result="3"), ToolStatus.COMPLETED, None),
        ({}, ToolOutcome(error=ErrorInfo("E", "no")), ToolStatus.FAILED, "E"),
        ({"timed_out": True}, ToolOutcome(cancelled=True), ToolStatus.FAILED, "TimeoutError"),
        ({}, ToolOutcome(cancelled=True), ToolStatus.CANCELLED, None),
    ],
)
def test_a_call_is_recorded_with_what_its_body_did(
    facts: dict[str, Any], outcome: ToolOutcome, status: ToolStatus, error: str | None
) -> None:
    ended, _ = invocation(**facts).take_outcome(ToolEnded("t1", 1, outcome))
    prepared, _ = ended.prepare_tool_outcome(None)
    assert prepared.barrier is not None
    row = prepared.barrier.command.row
    assert row.status is status
    assert (row.error.type if row.error is not None else None) == error
    assert (row.output is not None) is (status is ToolStatus.COMPLETED)
