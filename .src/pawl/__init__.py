"""Pawl: explicit state machines for AI agents that must not lose their place, repeat an action or act unasked.

Importing this imports nothing else: each public name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pawl import sync
    from pawl.runtime.agent.approval import ApprovalQuery, Authorization
    from pawl.runtime.agent.context import ToolContext
    from pawl.runtime.agent.definition import Agent
    from pawl.runtime.agent.probe import Found
    from pawl.runtime.agent.tool import Tool, tool
    from pawl.runtime.app.agents import AgentHandle
    from pawl.runtime.app.execution import Execution
    from pawl.runtime.app.runtime import Runtime
    from pawl.runtime.fsm.errors import MachineError, SnapshotMismatch, StepFailed, UnhandledEvent
    from pawl.runtime.fsm.session import Session
    from pawl.runtime.fsm.snapshot import Snapshot
    from pawl.runtime.llm.port import ModelRequest, Provider, ToolSpec
    from pawl.runtime.llm.scripted import (
        call,
        calls,
        hang,
        scripted,
    )
    from pawl.runtime.records.approvals import (
        ApprovalItem,
        ApprovalRequest,
        Decision,
        Receipt,
        Verdict,
    )
    from pawl.runtime.records.errors import (
        AgentBusy,
        AgentClosed,
        AgentExists,
        AgentNotFound,
        AlreadyDecided,
        Backpressure,
        CodecError,
        DeadlineExceeded,
        DefinitionChanged,
        ExecutionNotFound,
        FilterBlocked,
        IdConflict,
        InvalidArguments,
        IterationsExhausted,
        MalformedModelAnswer,
        ModelError,
        NotSuspended,
        OutcomeUnknown,
        PawlError,
        RuntimeClosed,
        SchemaTooNew,
        SpecMismatch,
        StaleRequest,
        StaleRevision,
        StoreCorrupt,
        StoreError,
        StoreReadOnly,
        StoreUnavailable,
        Superseded,
        ToolError,
        UnknownSubject,
        WrongAgent,
    )
    from pawl.runtime.records.events import Event, EventKind
    from pawl.runtime.records.executions import ExecutionRecord
    from pawl.runtime.records.messages import (
        Message,
        ModelAnswer,
        ToolCall,
        Usage,
    )
    from pawl.runtime.records.rests import (
        Blocked,
        Cancelled,
        Completed,
        Failed,
        NeedsResolution,
        Outcome,
        Rejected,
        Rest,
        Suspended,
        Unresolved,
    )

__all__ = [
    "Agent",
    "AgentBusy",
    "AgentClosed",
    "AgentExists",
    "AgentHandle",
    "AgentNotFound",
    "AlreadyDecided",
    "ApprovalItem",
    "ApprovalQuery",
    "ApprovalRequest",
    "Authorization",
    "Backpressure",
    "Blocked",
    "Cancelled",
    "CodecError",
    "Completed",
    "DeadlineExceeded",
    "Decision",
    "DefinitionChanged",
    "Event",
    "EventKind",
    "Execution",
    "ExecutionNotFound",
    "ExecutionRecord",
    "Failed",
    "FilterBlocked",
    "Found",
    "IdConflict",
    "InvalidArguments",
    "IterationsExhausted",
    "MachineError",
    "MalformedModelAnswer",
    "Message",
    "ModelAnswer",
    "ModelError",
    "ModelRequest",
    "NeedsResolution",
    "NotSuspended",
    "Outcome",
    "OutcomeUnknown",
    "PawlError",
    "Provider",
    "Receipt",
    "Rejected",
    "Rest",
    "Runtime",
    "RuntimeClosed",
    "SchemaTooNew",
    "Session",
    "Snapshot",
    "SnapshotMismatch",
    "SpecMismatch",
    "StaleRequest",
    "StaleRevision",
    "StepFailed",
    "StoreCorrupt",
    "StoreError",
    "StoreReadOnly",
    "StoreUnavailable",
    "Superseded",
    "Suspended",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolSpec",
    "UnhandledEvent",
    "UnknownSubject",
    "Unresolved",
    "Usage",
    "Verdict",
    "WrongAgent",
    "call",
    "calls",
    "hang",
    "scripted",
    "sync",
    "tool",
]

_EXPORTS = {
    "ApprovalQuery": "pawl.runtime.agent.approval",
    "Authorization": "pawl.runtime.agent.approval",
    "ToolContext": "pawl.runtime.agent.context",
    "Agent": "pawl.runtime.agent.definition",
    "Found": "pawl.runtime.agent.probe",
    "Tool": "pawl.runtime.agent.tool",
    "tool": "pawl.runtime.agent.tool",
    "AgentHandle": "pawl.runtime.app.agents",
    "Execution": "pawl.runtime.app.execution",
    "Runtime": "pawl.runtime.app.runtime",
    "MachineError": "pawl.runtime.fsm.errors",
    "SnapshotMismatch": "pawl.runtime.fsm.errors",
    "StepFailed": "pawl.runtime.fsm.errors",
    "UnhandledEvent": "pawl.runtime.fsm.errors",
    "Session": "pawl.runtime.fsm.session",
    "Snapshot": "pawl.runtime.fsm.snapshot",
    "ModelRequest": "pawl.runtime.llm.port",
    "Provider": "pawl.runtime.llm.port",
    "ToolSpec": "pawl.runtime.llm.port",
    "call": "pawl.runtime.llm.scripted",
    "calls": "pawl.runtime.llm.scripted",
    "hang": "pawl.runtime.llm.scripted",
    "scripted": "pawl.runtime.llm.scripted",
    "ApprovalItem": "pawl.runtime.records.approvals",
    "ApprovalRequest": "pawl.runtime.records.approvals",
    "Decision": "pawl.runtime.records.approvals",
    "Receipt": "pawl.runtime.records.approvals",
    "Verdict": "pawl.runtime.records.approvals",
    "AgentBusy": "pawl.runtime.records.errors",
    "AgentClosed": "pawl.runtime.records.errors",
    "AgentExists": "pawl.runtime.records.errors",
    "AgentNotFound": "pawl.runtime.records.errors",
    "AlreadyDecided": "pawl.runtime.records.errors",
    "Backpressure": "pawl.runtime.records.errors",
    "CodecError": "pawl.runtime.records.errors",
    "DeadlineExceeded": "pawl.runtime.records.errors",
    "DefinitionChanged": "pawl.runtime.records.errors",
    "ExecutionNotFound": "pawl.runtime.records.errors",
    "FilterBlocked": "pawl.runtime.records.errors",
    "IdConflict": "pawl.runtime.records.errors",
    "InvalidArguments": "pawl.runtime.records.errors",
    "IterationsExhausted": "pawl.runtime.records.errors",
    "MalformedModelAnswer": "pawl.runtime.records.errors",
    "ModelError": "pawl.runtime.records.errors",
    "NotSuspended": "pawl.runtime.records.errors",
    "OutcomeUnknown": "pawl.runtime.records.errors",
    "PawlError": "pawl.runtime.records.errors",
    "RuntimeClosed": "pawl.runtime.records.errors",
    "SchemaTooNew": "pawl.runtime.records.errors",
    "SpecMismatch": "pawl.runtime.records.errors",
    "StaleRequest": "pawl.runtime.records.errors",
    "StaleRevision": "pawl.runtime.records.errors",
    "StoreCorrupt": "pawl.runtime.records.errors",
    "StoreError": "pawl.runtime.records.errors",
    "StoreReadOnly": "pawl.runtime.records.errors",
    "StoreUnavailable": "pawl.runtime.records.errors",
    "Superseded": "pawl.runtime.records.errors",
    "ToolError": "pawl.runtime.records.errors",
    "UnknownSubject": "pawl.runtime.records.errors",
    "WrongAgent": "pawl.runtime.records.errors",
    "Event": "pawl.runtime.records.events",
    "EventKind": "pawl.runtime.records.events",
    "ExecutionRecord": "pawl.runtime.records.executions",
    "Message": "pawl.runtime.records.messages",
    "ModelAnswer": "pawl.runtime.records.messages",
    "ToolCall": "pawl.runtime.records.messages",
    "Usage": "pawl.runtime.records.messages",
    "Blocked": "pawl.runtime.records.rests",
    "Cancelled": "pawl.runtime.records.rests",
    "Completed": "pawl.runtime.records.rests",
    "Failed": "pawl.runtime.records.rests",
    "NeedsResolution": "pawl.runtime.records.rests",
    "Outcome": "pawl.runtime.records.rests",
    "Rejected": "pawl.runtime.records.rests",
    "Rest": "pawl.runtime.records.rests",
    "Suspended": "pawl.runtime.records.rests",
    "Unresolved": "pawl.runtime.records.rests",
}
"""Public name to the module that it is loaded from."""


def __getattr__(name: str) -> Any:
    if name == "sync":
        return import_module("pawl.sync")
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'pawl' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
