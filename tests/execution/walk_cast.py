"""Who walks: tools of every kind, a context with filters that take their time, and methods that break when told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pawl import Found, tool
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.tool_invocation import ToolInvocation
from pawl.runtime.execution.heart import (
    AGENT,
    TOOL,
    Live,
)
from pawl.runtime.fsm.table import Kind, Machine


@tool
def free(text: str) -> str:
    """Asked about."""
    return text


@tool(approval=True, recovery="replay")
def paid(text: str) -> str:
    """Approved and repeated."""
    return text


@tool(recovery="probe", probe=lambda key: Found("x"), timeout=5)
def probed(text: str) -> str:
    """Probed."""
    return text


@tool(approval=lambda query: "allow", on_error="fail")
def strict(text: str) -> str:
    """By policy, and its failure is the run's."""
    return text


@tool(max_concurrent=1, timeout=5)
def scarce(text: str) -> str:
    """Waits for its turn, and is asked about."""
    return text


TOOLS = (free, paid, probed, strict, scarce)


class Filtering(AgentInvocation):
    """The context of an agent with filters and hooks, whatever its definition says."""

    def start_input_filter(self, payload: object) -> Any:
        return self._filter("input", self.input)

    def start_output_filter(self, payload: object) -> Any:
        return self._filter("output", self.answer.text if self.answer is not None else "")

    def start_context(self, payload: object) -> Any:
        return self._prepare()

    def input_timeout(self) -> float:
        return 60.0

    output_timeout = context_timeout = input_timeout


BROKEN: list[str] = []
"""The guard, action or delay that raises when it is called next."""

DEEP = ("suspending", "deciding", "dispatching_tools", "probing", "resolving", "settling", "draining")
"""States that walks come to seldom, so that more happens in them."""


def methods(machine: Machine[Any, Any]) -> list[str]:
    """Every guard, action and delay that a machine names."""
    names: set[str] = set()
    for row in machine.rows:
        names |= {*row.when, *row.unless, *row.do}
    for state in machine.states:
        names |= set(state.enter)
        if state.after is not None:
            names.add(state.after.delay)
    return sorted(names)


def breakable(kind: type[Any], machine: Machine[Any, Any]) -> type[Any]:
    """The same context, whose methods raise when they are told to."""

    def wrapped(name: str) -> Callable[..., Any]:
        works = getattr(kind, name)

        def method(self: Any, *payload: Any) -> Any:
            if name in BROKEN:
                BROKEN.remove(name)
                raise RuntimeError(f"{name} is broken")
            return works(self, *payload)

        return method

    return type(kind.__name__, (kind,), {name: wrapped(name) for name in methods(machine)})


PLAIN, FILTERING = breakable(AgentInvocation, AGENT), breakable(Filtering, AGENT)
BREAKABLE_TOOL = breakable(ToolInvocation, TOOL)


def near(live: Live) -> list[str]:
    """Methods that may be called by what comes next, in the session or in its children, also those that it makes."""
    names: set[str] = set()
    for machine, states in (
        (AGENT, {live.state}),
        (TOOL, {TOOL.initial, *(one.state for one in live.children.values())}),
    ):
        seen: set[str] = set()
        left = list(states)
        while left:
            state = left.pop()
            for row in machine.rows:
                if row.source != state or (state in seen):
                    continue
                names |= {*row.when, *row.unless, *row.do}
                if row.target is not None:
                    names |= set(machine.state[row.target].enter)
                    if machine.state[row.target].kind is Kind.AUTO:
                        left.append(row.target)
            seen.add(state)
    return sorted(names)
