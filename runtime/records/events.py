"""What listeners are told. A durable event's `cursor` is its journal position; others have none."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs

from pawl.runtime.records.journal import JournalKind


class EventKind(StrEnum):
    """The kinds of events."""

    TOKEN = "token"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    APPROVAL_REQUIRED = "approval_required"
    RECOVERY_RESOLUTION_REQUIRED = "recovery_resolution_required"
    DONE = "done"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    STORE_UNAVAILABLE = "store_unavailable"


@attrs.frozen
class Event:
    """One event of one execution; `data` is JSON."""

    kind: EventKind
    execution_id: str
    agent_id: str
    data: dict[str, Any] = attrs.Factory(dict)
    cursor: int | None = None


def shown_call(call: dict[str, str]) -> dict[str, str]:
    """A call of a journal record as people may see it: with the `shown` arguments, where there are others."""
    return {"id": call["id"], "name": call["name"], "arguments": call.get("shown", call["arguments"])}


def durable_events(
    kind: JournalKind, agent_id: str, execution_id: str, position: int, body: str | None, meta: dict[str, Any]
) -> list[Event]:
    """The events that a journal record is: the same when it is written and when it is read again later."""

    def event(of: EventKind, **data: Any) -> Event:
        return Event(of, execution_id, agent_id, data, position)

    match kind:
        case JournalKind.ASSISTANT_MESSAGE:
            return [event(EventKind.TOOL_CALL, **shown_call(call)) for call in meta.get("calls", ())]
        case JournalKind.TOOL_RESULT:
            return [event(EventKind.TOOL_RESULT, text=body, **meta)]
        case JournalKind.APPROVAL_REQUIRED:
            return [event(EventKind.APPROVAL_REQUIRED, **meta)]
        case JournalKind.EXECUTION_COMPLETED | JournalKind.EXECUTION_REJECTED:
            return [event(EventKind.DONE, outcome=str(kind).removeprefix("execution_"), **meta)]
        case JournalKind.EXECUTION_CANCELLED:
            return [event(EventKind.CANCELLED, **meta)]
        case JournalKind.EXECUTION_FAILED | JournalKind.EXECUTION_BLOCKED:
            expired = meta.get("error", {}).get("type") == "DeadlineExceeded"
            return [event(EventKind.TIMEOUT if expired else EventKind.ERROR, **meta)]
        case _:
            return []
