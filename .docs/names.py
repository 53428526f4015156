"""What the reference is about: the public names by page, and the types that their signatures mention."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

import pawl

PUBLIC = tuple(name for name in pawl.__all__ if name != "sync")

_PAGES = {
    "Agents and tools": ("pawl.runtime.agent",),
    "The runtime": ("pawl.runtime.app",),
    "Rests": ("pawl.runtime.records.rests", "pawl.runtime.records.tools"),
    "Approvals": ("pawl.runtime.records.approvals",),
    "Events and records": ("pawl.runtime.records.events", "pawl.runtime.records.executions"),
    "Models": ("pawl.runtime.llm", "pawl.runtime.records.messages"),
    "Machines": ("pawl.runtime.fsm.session", "pawl.runtime.fsm.snapshot"),
}
"""Title of a part of the reference to the modules that its names come from. What fits nowhere is on the last one."""

_OTHERS = (
    "pawl.runtime.agent.approval.Approval",
    "pawl.runtime.agent.arguments.Parameters",
    "pawl.runtime.agent.context.Cancellation",
    "pawl.runtime.agent.context_policy.SelectsContext",
    "pawl.runtime.agent.callback.Callback",
    "pawl.runtime.agent.filters.Block",
    "pawl.runtime.agent.filters.FilterQuery",
    "pawl.runtime.agent.filters.Stage",
    "pawl.runtime.agent.hooks.HookQuery",
    "pawl.runtime.agent.hooks.RequestPatch",
    "pawl.runtime.agent.knowledge.InstructionQuery",
    "pawl.runtime.agent.ledger.Ledger",
    "pawl.runtime.agent.rate.Limit",
    "pawl.runtime.app.events.EventStream",
    "pawl.runtime.execution.heart.Move",
    "pawl.runtime.execution.stats.Batches",
    "pawl.runtime.execution.stats.Latency",
    "pawl.runtime.execution.stats.LeaseState",
    "pawl.runtime.execution.stats.PoolState",
    "pawl.runtime.fsm.session.Sink",
    "pawl.runtime.fsm.snapshot.Deadline",
    "pawl.runtime.fsm.snapshot.SavedDeadline",
    "pawl.runtime.fsm.step.Explanation",
    "pawl.runtime.fsm.step.Step",
    "pawl.runtime.fsm.table.Machine",
    "pawl.runtime.llm.scripted.Hang",
    "pawl.runtime.llm.scripted.ScriptedCall",
    "pawl.runtime.llm.scripted.ScriptedCalls",
    "pawl.runtime.llm.scripted.ScriptedProvider",
    "pawl.runtime.llm.scripted.Streamed",
    "pawl.runtime.loop.environment.Environment",
    "pawl.runtime.records.executions.Manifest",
    "pawl.runtime.records.executions.StoredAnswer",
    "pawl.runtime.store.port.Store",
    "pawl.runtime.testing.world.Happened",
)
"""Types that signatures of public names mention without being public. "Target not found": add it, or export it."""

_FIRST = ("Agent", "tool", "Runtime", "Rest", "ApprovalRequest", "Event", "scripted", "Session")
"""What each part begins with."""

OTHERS = tuple(full for full in _OTHERS if full.rpartition(".")[2] not in PUBLIC)

MADE_FOR_YOU = ("AgentHandle", "ContextUnits", "EventStream", "Execution")
"""Classes whose objects come from a runtime: how they are made is nobody's business."""


def module_of(name: str) -> str:
    """Where a public name is defined."""
    return str(pawl._EXPORTS[name])


def is_error(name: str) -> bool:
    """Whether it is the name of an error."""
    value = getattr(pawl, name)
    return inspect.isclass(value) and issubclass(value, BaseException)


def parts() -> Iterator[tuple[str, list[str]]]:
    """Each part of the reference with its names, errors left out."""
    left = [name for name in PUBLIC if not is_error(name)]
    for title, modules in _PAGES.items():
        names = [name for name in left if module_of(name).startswith(modules)]
        left = [name for name in left if name not in names]
        yield title, sorted(names, key=lambda name: (name not in _FIRST, _place(name)))
    yield "More", left


def errors() -> list[str]:
    """The names of all errors, bases first, those of machines last."""
    found = [name for name in PUBLIC if is_error(name)]
    return sorted(found, key=lambda name: (not issubclass(getattr(pawl, name), pawl.PawlError), _place(name)))


def _place(name: str) -> tuple[str, int]:
    """In the order in which the source tells of them."""
    value = getattr(pawl, name)
    module = module_of(name)
    try:
        line = inspect.getsourcelines(value)[1]
    except (TypeError, OSError):
        line = _line_of(module, name)
    return module, line


def _line_of(module: str, name: str) -> int:
    lines = inspect.getsource(import_module(module)).splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.startswith((f"{name}:", f"{name} ="))), 0)
