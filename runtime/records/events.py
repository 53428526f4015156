"""What listeners are told. A durable event's `cursor` is its journal position; others have none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

import attrs

from pawl.runtime.records.errors import InvalidArguments
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
    """One event of one execution; `data` is JSON.

    One journal record can be several events, all with its cursor: `more` says that another of them follows. `dropped`
    counts what the consumer of a stream missed right before this event, because it did not keep up: tokens only.
    """

    kind: EventKind
    execution_id: str
    agent_id: str
    data: dict[str, Any] = attrs.Factory(dict)
    cursor: int | None = None
    more: bool = attrs.field(default=False, eq=False)
    dropped: int = attrs.field(default=0, eq=False)

    @property
    def id(self) -> str | None:
        """Where a consumer that has this event goes on (`after=event.id`); None where that would be in the middle of
        what it has, or where the event is on no record.
        """
        return None if self.cursor is None or self.more else str(self.cursor)

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object. `more` and `dropped` are in it where they say something."""
        said: dict[str, Any] = {
            "kind": str(self.kind),
            "execution_id": self.execution_id,
            "agent_id": self.agent_id,
            "data": self.data,
            "cursor": self.cursor,
        }
        return said | {name: value for name, value in (("more", self.more), ("dropped", self.dropped)) if value}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Self:
        """What `to_dict` made. Raises InvalidArguments, naming the field; keys that are not known are left out."""
        if not isinstance(said, Mapping):
            raise InvalidArguments(f"an event is a JSON object, not a {type(said).__name__}")
        for name, (types, what) in _FIELDS.items():
            value = said.get(name, _ABSENT.get(name))
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise InvalidArguments(f"an event's {name} is {value!r:.60}, and must be {what}")
        try:
            kind = EventKind(said["kind"])
        except ValueError:
            raise InvalidArguments(f"an event's kind is {said['kind']!r:.60}, which is none that is known") from None
        return cls(kind, **{name: said[name] for name in _FIELDS if name != "kind" and name in said})

    def to_sse(self) -> str:
        """As one server-sent event: `id` (for Last-Event-ID), `event` the kind, `data` the JSON object.

        In a browser, listeners for "error" also hear of lost connections: those come without data.
        """
        lines = [f"event: {self.kind}", f"data: {json.dumps(self.to_dict())}"]  # ASCII, in one line
        return "\n".join([*([] if self.id is None else [f"id: {self.id}"]), *lines]) + "\n\n"


_FIELDS: dict[str, tuple[tuple[type, ...], str]] = {
    "kind": ((str,), "text"),
    "execution_id": ((str,), "text"),
    "agent_id": ((str,), "text"),
    "data": ((dict,), "an object"),
    "cursor": ((int, type(None)), "a whole number or null"),
    "more": ((bool,), "true or false"),
    "dropped": ((int,), "a whole number"),
}
_ABSENT: dict[str, Any] = {"data": {}, "cursor": None, "more": False, "dropped": 0}


def shown_call(call: dict[str, str]) -> dict[str, str]:
    """A call of a journal record as people may see it: with the `shown` arguments, where there are others."""
    return {"id": call["id"], "name": call["name"], "arguments": call.get("shown", call["arguments"])}


def told_result(result: dict[str, Any]) -> dict[str, Any]:
    """A tool's result or row as people are told: a call that was answered without having run has failed.

    Its row is `completed`, since the model has its answer; but it was let go no time (attempt 0): nothing happened.
    """
    ran = result.get("attempt") != 0 or result.get("status") != "completed"
    return result if ran else {**result, "status": "failed"}


def durable_events(
    kind: JournalKind, agent_id: str, execution_id: str, position: int, body: str | None, meta: dict[str, Any]
) -> list[Event]:
    """The events that a journal record is: the same when it is written and when it is read again later."""

    def event(of: EventKind, **data: Any) -> Event:
        return Event(of, execution_id, agent_id, data, position)

    match kind:
        case JournalKind.ASSISTANT_MESSAGE:
            calls = [event(EventKind.TOOL_CALL, **shown_call(call)) for call in meta.get("calls", ())]
            return [*(attrs.evolve(call, more=True) for call in calls[:-1]), *calls[-1:]]
        case JournalKind.TOOL_RESULT:
            return [event(EventKind.TOOL_RESULT, text=body, **told_result(meta))]
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
