"""Pawl: explicit state machines for AI agents that must not lose their place, repeat an action or act unasked.

Importing this imports nothing else: each public name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pawl import sync
    from pawl.runtime.agent.approval import ApprovalQuery, Authorization, Policy, PolicyAnswer
    from pawl.runtime.agent.context import ToolContext
    from pawl.runtime.agent.context_policy import ContextPolicy, ContextQuery, ContextUnit
    from pawl.runtime.agent.definition import Agent
    from pawl.runtime.agent.filters import Block, FilterQuery
    from pawl.runtime.agent.hooks import HookQuery, RequestPatch
    from pawl.runtime.agent.knowledge import InstructionQuery, Knowledge
    from pawl.runtime.agent.probe import Found
    from pawl.runtime.agent.rate import Rate
    from pawl.runtime.agent.redaction import Secret
    from pawl.runtime.agent.result_filters import ResultQuery
    from pawl.runtime.agent.retries import Retries
    from pawl.runtime.agent.tool import Tool, tool
    from pawl.runtime.agent.usage import UsageLimits
    from pawl.runtime.app.agents import AgentHandle
    from pawl.runtime.app.events import EventStream
    from pawl.runtime.app.execution import Execution
    from pawl.runtime.app.runtime import Runtime
    from pawl.runtime.execution.stats import Stats
    from pawl.runtime.fsm.errors import MachineError, SnapshotMismatch, StepFailed, UnhandledEvent
    from pawl.runtime.fsm.session import Session
    from pawl.runtime.fsm.snapshot import Snapshot
    from pawl.runtime.llm.port import ModelRequest, OutputSchema, Provider, StreamingProvider, ToolSpec
    from pawl.runtime.llm.scripted import (
        call,
        calls,
        hang,
        scripted,
        streamed,
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
        ContextTooLarge,
        DeadlineExceeded,
        DefinitionChanged,
        ExecutionNotFound,
        FilterBlocked,
        IdConflict,
        InvalidArguments,
        InvalidOutput,
        IterationsExhausted,
        ListenerFailed,
        MalformedModelAnswer,
        ModelError,
        NotSuspended,
        OutcomeUnknown,
        PawlError,
        PreparationTimeout,
        RequestExpired,
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
        UsageLimitExceeded,
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
    from pawl.runtime.records.tools import ErrorInfo

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
    "Block",
    "Blocked",
    "Cancelled",
    "CodecError",
    "Completed",
    "ContextPolicy",
    "ContextQuery",
    "ContextTooLarge",
    "ContextUnit",
    "DeadlineExceeded",
    "Decision",
    "DefinitionChanged",
    "ErrorInfo",
    "Event",
    "EventKind",
    "EventStream",
    "Execution",
    "ExecutionNotFound",
    "ExecutionRecord",
    "Failed",
    "FilterBlocked",
    "FilterQuery",
    "Found",
    "HookQuery",
    "IdConflict",
    "InstructionQuery",
    "InvalidArguments",
    "InvalidOutput",
    "IterationsExhausted",
    "Knowledge",
    "ListenerFailed",
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
    "OutputSchema",
    "PawlError",
    "Policy",
    "PolicyAnswer",
    "PreparationTimeout",
    "Provider",
    "Rate",
    "Receipt",
    "Rejected",
    "RequestExpired",
    "RequestPatch",
    "Rest",
    "ResultQuery",
    "Retries",
    "Runtime",
    "RuntimeClosed",
    "SchemaTooNew",
    "Secret",
    "Session",
    "Snapshot",
    "SnapshotMismatch",
    "SpecMismatch",
    "StaleRequest",
    "StaleRevision",
    "Stats",
    "StepFailed",
    "StoreCorrupt",
    "StoreError",
    "StoreReadOnly",
    "StoreUnavailable",
    "StreamingProvider",
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
    "UsageLimitExceeded",
    "UsageLimits",
    "Verdict",
    "WrongAgent",
    "call",
    "calls",
    "hang",
    "scripted",
    "streamed",
    "sync",
    "tool",
]

_EXPORTS = {
    "Agent": "pawl.runtime.agent.definition",
    "AgentBusy": "pawl.runtime.records.errors",
    "AgentClosed": "pawl.runtime.records.errors",
    "AgentExists": "pawl.runtime.records.errors",
    "AgentHandle": "pawl.runtime.app.agents",
    "AgentNotFound": "pawl.runtime.records.errors",
    "AlreadyDecided": "pawl.runtime.records.errors",
    "ApprovalItem": "pawl.runtime.records.approvals",
    "ApprovalQuery": "pawl.runtime.agent.approval",
    "ApprovalRequest": "pawl.runtime.records.approvals",
    "Authorization": "pawl.runtime.agent.approval",
    "Backpressure": "pawl.runtime.records.errors",
    "Block": "pawl.runtime.agent.filters",
    "Blocked": "pawl.runtime.records.rests",
    "Cancelled": "pawl.runtime.records.rests",
    "CodecError": "pawl.runtime.records.errors",
    "Completed": "pawl.runtime.records.rests",
    "ContextPolicy": "pawl.runtime.agent.context_policy",
    "ContextQuery": "pawl.runtime.agent.context_policy",
    "ContextTooLarge": "pawl.runtime.records.errors",
    "ContextUnit": "pawl.runtime.agent.context_policy",
    "DeadlineExceeded": "pawl.runtime.records.errors",
    "Decision": "pawl.runtime.records.approvals",
    "DefinitionChanged": "pawl.runtime.records.errors",
    "ErrorInfo": "pawl.runtime.records.tools",
    "Event": "pawl.runtime.records.events",
    "EventKind": "pawl.runtime.records.events",
    "EventStream": "pawl.runtime.app.events",
    "Execution": "pawl.runtime.app.execution",
    "ExecutionNotFound": "pawl.runtime.records.errors",
    "ExecutionRecord": "pawl.runtime.records.executions",
    "Failed": "pawl.runtime.records.rests",
    "FilterBlocked": "pawl.runtime.records.errors",
    "FilterQuery": "pawl.runtime.agent.filters",
    "Found": "pawl.runtime.agent.probe",
    "HookQuery": "pawl.runtime.agent.hooks",
    "IdConflict": "pawl.runtime.records.errors",
    "InstructionQuery": "pawl.runtime.agent.knowledge",
    "InvalidArguments": "pawl.runtime.records.errors",
    "InvalidOutput": "pawl.runtime.records.errors",
    "IterationsExhausted": "pawl.runtime.records.errors",
    "Knowledge": "pawl.runtime.agent.knowledge",
    "ListenerFailed": "pawl.runtime.records.errors",
    "MachineError": "pawl.runtime.fsm.errors",
    "MalformedModelAnswer": "pawl.runtime.records.errors",
    "Message": "pawl.runtime.records.messages",
    "ModelAnswer": "pawl.runtime.records.messages",
    "ModelError": "pawl.runtime.records.errors",
    "ModelRequest": "pawl.runtime.llm.port",
    "NeedsResolution": "pawl.runtime.records.rests",
    "NotSuspended": "pawl.runtime.records.errors",
    "Outcome": "pawl.runtime.records.rests",
    "OutcomeUnknown": "pawl.runtime.records.errors",
    "OutputSchema": "pawl.runtime.llm.port",
    "PawlError": "pawl.runtime.records.errors",
    "Policy": "pawl.runtime.agent.approval",
    "PolicyAnswer": "pawl.runtime.agent.approval",
    "PreparationTimeout": "pawl.runtime.records.errors",
    "Provider": "pawl.runtime.llm.port",
    "Rate": "pawl.runtime.agent.rate",
    "Receipt": "pawl.runtime.records.approvals",
    "Rejected": "pawl.runtime.records.rests",
    "RequestExpired": "pawl.runtime.records.errors",
    "RequestPatch": "pawl.runtime.agent.hooks",
    "Rest": "pawl.runtime.records.rests",
    "ResultQuery": "pawl.runtime.agent.result_filters",
    "Retries": "pawl.runtime.agent.retries",
    "Runtime": "pawl.runtime.app.runtime",
    "RuntimeClosed": "pawl.runtime.records.errors",
    "SchemaTooNew": "pawl.runtime.records.errors",
    "Secret": "pawl.runtime.agent.redaction",
    "Session": "pawl.runtime.fsm.session",
    "Snapshot": "pawl.runtime.fsm.snapshot",
    "SnapshotMismatch": "pawl.runtime.fsm.errors",
    "SpecMismatch": "pawl.runtime.records.errors",
    "StaleRequest": "pawl.runtime.records.errors",
    "StaleRevision": "pawl.runtime.records.errors",
    "Stats": "pawl.runtime.execution.stats",
    "StepFailed": "pawl.runtime.fsm.errors",
    "StoreCorrupt": "pawl.runtime.records.errors",
    "StoreError": "pawl.runtime.records.errors",
    "StoreReadOnly": "pawl.runtime.records.errors",
    "StoreUnavailable": "pawl.runtime.records.errors",
    "StreamingProvider": "pawl.runtime.llm.port",
    "Superseded": "pawl.runtime.records.errors",
    "Suspended": "pawl.runtime.records.rests",
    "Tool": "pawl.runtime.agent.tool",
    "ToolCall": "pawl.runtime.records.messages",
    "ToolContext": "pawl.runtime.agent.context",
    "ToolError": "pawl.runtime.records.errors",
    "ToolSpec": "pawl.runtime.llm.port",
    "UnhandledEvent": "pawl.runtime.fsm.errors",
    "UnknownSubject": "pawl.runtime.records.errors",
    "Unresolved": "pawl.runtime.records.rests",
    "Usage": "pawl.runtime.records.messages",
    "UsageLimitExceeded": "pawl.runtime.records.errors",
    "UsageLimits": "pawl.runtime.agent.usage",
    "Verdict": "pawl.runtime.records.approvals",
    "WrongAgent": "pawl.runtime.records.errors",
    "call": "pawl.runtime.llm.scripted",
    "calls": "pawl.runtime.llm.scripted",
    "hang": "pawl.runtime.llm.scripted",
    "scripted": "pawl.runtime.llm.scripted",
    "streamed": "pawl.runtime.llm.scripted",
    "tool": "pawl.runtime.agent.tool",
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
