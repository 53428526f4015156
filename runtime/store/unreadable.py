"""Executions whose records cannot be read: told in their place, so that one of them hides none of the others."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from pawl.runtime.records.executions import ExecutionRecord


@attrs.frozen
class Unreadable:
    """What a store keeps beside a record that the strict codec refuses, and `why` it does, in words."""

    execution_id: str
    agent_id: str
    created_at: float
    why: str

    def __str__(self) -> str:
        return unread(self.execution_id, self.why)


def unread(execution_id: str, why: object) -> str:
    """That an execution cannot be read, and what to do."""
    return f"execution {execution_id} cannot be read ({why}); `pawl fsck` says what is wrong in the store"


Surveyed: TypeAlias = "ExecutionRecord | Unreadable"
"""An execution as a look over the store finds it."""
