"""What application code did in a world, over all its processes: the truth that no process has after a crash."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.tool import Tool
from pawl.runtime.llm.port import ModelRequest


@attrs.frozen
class Entry:
    """A tool body was entered: which tool, for which call, as which attempt, under which key, in which process."""

    tool: str
    execution_id: str
    tool_call_id: str
    attempt: int
    idempotency_key: str
    process: str
    at: float


@attrs.frozen
class Performed:
    """How a body ended: `result` as a model reads it, or the error's text."""

    result: str | None = None
    error: str | None = None


class Witness:
    """Entries into bodies and model calls, in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.requests: list[ModelRequest] = []
        self._first: dict[tuple[str, int], ModelRequest] = {}
        self.model_calls: Counter[str] = Counter()
        self.absent: Counter[str] = Counter()
        self.ended: dict[str, Performed] = {}

    @property
    def effects(self) -> dict[str, int]:
        """Entries by tool."""
        return dict(Counter(entry.tool for entry in self.entries))

    def keys(self, tool_call_id: str) -> set[str]:
        """The idempotency keys that attempts of a call saw."""
        return {entry.idempotency_key for entry in self.entries if entry.tool_call_id == tool_call_id}

    def ran(self, idempotency_key: str) -> bool:
        """Whether the body of that call was entered, ever."""
        return any(entry.idempotency_key == idempotency_key for entry in self.entries)

    def entered(self, tool: Tool[..., Any], context: ToolContext, process: str, at: float) -> None:
        """Note an entry."""
        self.entries.append(
            Entry(
                tool.name,
                context.execution_id,
                context.tool_call_id,
                context.attempt,
                context.idempotency_key,
                process,
                at,
            )
        )

    def performed(self, context: ToolContext, result: str | None, error: Exception | None) -> None:
        """Note an end."""
        self.ended[context.idempotency_key] = Performed(result, None if error is None else str(error))

    def called(self, definition: str, request: ModelRequest) -> None:
        """Note a model call."""
        self.model_calls[definition] += 1
        self.requests.append(request)
        self._first.setdefault((request.execution_id, request.sequence), request)

    def asked(self, request: ModelRequest) -> ModelRequest | None:
        """The first request for the same answer of the same run, however often it was made again."""
        return self._first.get((request.execution_id, request.sequence))
