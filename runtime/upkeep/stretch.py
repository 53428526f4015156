"""What the journal says of one execution, added up record by record."""

from __future__ import annotations

from typing import Any, Final

import attrs

from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.messages import Usage

Decided = tuple[str, str, str]
"""Request, tool call, verdict."""

_ENDS: Final = frozenset(kind for kind in JournalKind if kind.startswith("execution_"))


@attrs.define
class Stretch:
    """The records of an execution, from its first to its last. Not `whole`: some could not be read."""

    execution_id: str
    first: int
    last: int = 0
    again: bool = False
    """Some of its records were met before, elsewhere."""
    whole: bool = True
    records: int = 0
    begins_with: JournalKind | None = None
    input: str | None = None
    start_id: str | None = None
    usage: Usage = attrs.Factory(Usage)
    answers: int = 0
    calls: set[tuple[str, str]] = attrs.Factory(set)
    """(model call, tool call) that answers asked for."""
    requests: dict[str, tuple[str, ...]] = attrs.Factory(dict)
    decided: list[Decided] = attrs.Factory(list)
    output: str | None = None
    ends: list[tuple[int, JournalKind, dict[str, Any]]] = attrs.Factory(list)
    last_kind: JournalKind | None = None

    def take(self, kind: JournalKind, digest: str | None, meta: dict[str, Any]) -> None:
        """One more record. Raises KeyError, TypeError, AttributeError for a meta that is not one of its kind."""
        self.records += 1
        self.last_kind = kind
        if self.begins_with is None:
            self.begins_with = kind
        if kind is JournalKind.INPUT_RECEIVED:
            self.input, self.start_id = digest, meta["start_id"]
        elif kind is JournalKind.LLM_CALL_RECORDED:
            self._call(meta)
        elif kind is JournalKind.ASSISTANT_MESSAGE:
            self.calls.update((meta["llm_call_id"], call["id"]) for call in meta["calls"])
        elif kind is JournalKind.APPROVAL_REQUIRED:
            self.requests[meta["request_id"]] = tuple(meta["calls"])
        elif kind is JournalKind.APPROVAL_DECIDED:
            request = meta["request_id"]
            self.decided += [(request, one["tool_call_id"], one["verdict"]) for one in meta["decisions"]]
        elif kind is JournalKind.FINAL_OUTPUT:
            self.output = digest
        elif kind in _ENDS:
            self.ends.append((self.last, kind, meta))

    def _call(self, meta: dict[str, Any]) -> None:
        self.answers += meta["status"] == "completed" and not meta.get("late", False)
        if "usage" in meta:
            self.usage += Usage(**meta["usage"])
