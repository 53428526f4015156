"""Agent definitions."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import tool
from pawl.runtime.llm.scripted import scripted
from pawl.runtime.records.errors import InvalidArguments


@tool
def refund(order_id: str) -> str:
    """Refund an order."""
    return order_id


def look(name: str) -> str:
    """Look it up."""
    return name


def test_an_agent_has_defaults() -> None:
    agent = Agent(name="support", model="openai:gpt-5")
    assert (agent.version, agent.instructions, agent.tools, agent.specs) == (1, "", (), ())
    assert (agent.max_iterations, agent.on_rejection, agent.model_recovery) == (10, "end", "replay")
    assert (agent.compatible_with, agent.drain_timeout) == ((), 600.0)
    assert repr(agent) == "<agent support version 1>"


def test_functions_become_tools_and_tools_are_found_by_name() -> None:
    agent = Agent(name="support", model=scripted([]), tools=[refund, look])
    assert agent.tool("refund") is refund
    found = agent.tool("look")
    assert found is not None
    assert found("x") == "x"
    assert agent.tool("Look") is None
    assert [spec.description for spec in agent.specs] == ["Refund an order.", "Look it up."]
    assert agent.specs is agent.specs


def test_an_agent_cannot_be_changed() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Agent(name="a", model="openai:x").version = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "no spaces"}, "'no spaces' cannot be the name of an agent"),
        ({"name": ""}, "'' cannot be the name of an agent"),
        ({"name": None}, "None cannot be the name of an agent"),
        ({"model": "opnai:gpt-5"}, "agent a: no model provider 'opnai' in 'opnai:gpt-5'; did you mean 'openai:gpt-5'?"),
        ({"model": None}, "agent a: model=a NoneType is not a model"),
        ({"version": 0}, "agent a: version=0 must be a whole number from 1"),
        ({"version": "2"}, "agent a: version='2' must be"),
        ({"version": True}, "agent a: version=True must be"),
        ({"max_iterations": 0}, "agent a: max_iterations=0 must be"),
        ({"compatible_with": [1, "x"]}, "agent a: compatible_with='x' must be a whole number from 1"),
        ({"compatible_with": 1}, "compatible_with=1 must be a list of versions"),
        ({"instructions": None}, "agent a: instructions are a NoneType, and must be text"),
        ({"instructions": "\ud800"}, "agent a: instructions are not Unicode text"),
        ({"on_rejection": "stop"}, "agent a: on_rejection='stop' is unknown; it is 'end' or 'continue'"),
        ({"model_recovery": "retry"}, "agent a: model_recovery='retry' is unknown; it is 'replay' or 'ask'"),
        ({"drain_timeout": 0}, "agent a: drain_timeout=0 must be a number of seconds above 0"),
        ({"drain_timeout": float("inf")}, "agent a: drain_timeout=inf must be"),
        ({"tools": refund}, "must be a list of tools or functions"),
        ({"tools": "refund"}, "must be a list of tools or functions"),
        ({"tools": [refund, 5]}, "a int cannot be a tool"),
        ({"tools": [refund, tool(look, name="refund")]}, "agent a has two tools named 'refund'; rename one with @tool"),
        ({"tools": [lambda: 1]}, "'<lambda>' cannot be the name of a tool"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(changes: dict[str, Any], says: str) -> None:
    options: dict[str, Any] = {"name": "a", "model": "openai:x"}
    with pytest.raises(InvalidArguments) as caught:
        Agent(**(options | changes))
    assert says in str(caught.value)
