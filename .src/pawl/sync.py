"""`pawl.sync`: the same library for hosts without an event loop. Every method blocks."""

from __future__ import annotations

from pawl.runtime.app.sync import Runtime
from pawl.runtime.app.sync_events import EventStream
from pawl.runtime.app.sync_handles import AgentHandle, Execution

__all__ = ["AgentHandle", "EventStream", "Execution", "Runtime"]
