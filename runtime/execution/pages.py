"""The events of an execution as the store has them, whole or page by page, with where that leaves it."""

from __future__ import annotations

import re
from typing import Any, Final

import attrs

from pawl.runtime.barriers.claim import existing
from pawl.runtime.barriers.decide import undecided
from pawl.runtime.execution.load import journal
from pawl.runtime.execution.output import awaiting_of, ended, unresolved
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.events import Event, EventKind, durable_events
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.store.port import LARGEST, Operation, Transaction

PAGE = 200
"""Journal records that are read at once."""

_DIGITS: Final = re.compile("[0-9]{1,18}")


@attrs.frozen
class Page:
    """Events by journal record, in order. `place` is the last position that was read; `full` where there may be more.

    `ended`: the run is over. `rest`: it is at rest, this is the event of it, and all its records are in pages up to
    this one; without a cursor where the rest is on no record.
    """

    groups: tuple[tuple[Event, ...], ...]
    place: int
    full: bool
    agent_id: str
    ended: bool
    rest: Event | None = None


def cursor_of(execution_id: str, after: object) -> int:
    """A cursor as callers give it: a number, an event's `id` as it came (its digits), or None for the beginning.

    Raises InvalidArguments for what cannot be one.
    """
    if after is None:
        return 0
    if type(after) is int and 0 <= after <= LARGEST:
        return after
    if isinstance(after, str) and _DIGITS.fullmatch(after):
        return int(after)
    raise InvalidArguments(
        f"after={after!r:.60} is no cursor of execution {execution_id}; give the `id` or the `cursor` of an event, "
        "or 0 for all"
    )


def page(execution_id: str, after: int, *, upto: int | None = None, limit: int = PAGE) -> Operation[Page]:
    """The events of journal records behind position `after`, at most up to `upto`, of `limit` records at most.

    Raises ExecutionNotFound; InvalidArguments when `after` is a place that this execution has not come to.
    """

    def read(tx: Transaction) -> Page:
        record = existing(tx, execution_id)
        if after:
            _check_place(tx, record, after)
        groups: list[tuple[Event, ...]] = []
        place, count = after, 0
        for entry in journal(tx, record, after, limit + 1):
            if count == limit or (upto is not None and entry.position > upto):
                break
            place, count = entry.position, count + 1
            events = _events(record, entry)
            if events:
                groups.append(events)
        over = ended(record)
        full = count == limit
        return Page(tuple(groups), place, full, record.agent_id, over, None if full or over else _rest(tx, record))

    return read


def history(execution_id: str, after: int = 0) -> Operation[tuple[Event, ...]]:
    """The durable events of one execution, from journal records behind position `after`.

    Raises ExecutionNotFound; InvalidArguments when it has not come to that place.
    """

    def read(tx: Transaction) -> tuple[Event, ...]:
        record = existing(tx, execution_id)
        if after:
            _check_place(tx, record, after)
        events: list[Event] = []
        for entry in journal(tx, record, after):
            events += _events(record, entry)
        return tuple(events)

    return read


def _check_place(tx: Transaction, record: ExecutionRecord, after: int) -> None:
    """Raises InvalidArguments when `after` is a place that this execution has not come to."""
    if after < record.first_position:
        return  # of an earlier run of the same agent: everything of this one is behind it
    found = tx.journal.read(record.agent_id, after - 1, 1)
    if not found or found[0].execution_id != record.execution_id:
        raise InvalidArguments(
            f"after={after} is a place that execution {record.execution_id} has not come to; "
            "give the `id` or the `cursor` of one of its events, or 0 for all"
        )


def _events(record: ExecutionRecord, entry: JournalRecord) -> tuple[Event, ...]:
    name, position = record.execution_id, entry.position
    events = durable_events(entry.kind, record.agent_id, name, position, entry.body, entry.meta)
    pending = record.request.id if record.request is not None else None
    if entry.kind is JournalKind.APPROVAL_REQUIRED and entry.meta.get("request_id") == pending:
        events = [attrs.evolve(event, data=event.data | _pending(record)) for event in events]
    return tuple(events)


def _pending(record: ExecutionRecord) -> dict[str, Any]:
    """What listeners are told of a request while it is the pending one."""
    assert record.request is not None
    items = [attrs.asdict(item) for item in record.request.items]
    return {"request": attrs.asdict(record.request) | {"items": items}, "undecided": list(undecided(record))}


def _rest(tx: Transaction, record: ExecutionRecord) -> Event | None:
    match awaiting_of(tx, record):
        case "approval" if record.request is not None:
            return Event(EventKind.APPROVAL_REQUIRED, record.execution_id, record.agent_id, _pending(record))
        case "resolution":
            subjects = [attrs.asdict(subject) for subject in unresolved(tx, record)]
            data = {"revision": record.revision, "subjects": subjects}
            return Event(EventKind.RECOVERY_RESOLUTION_REQUIRED, record.execution_id, record.agent_id, data)
        case _:
            return None
