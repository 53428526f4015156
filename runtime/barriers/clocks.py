"""The two clocks of a run: its deadline, which stands still at rest, and its request's expiry, which does not."""

from __future__ import annotations

import datetime

from pawl.runtime.records.errors import RequestExpired
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace

Fields = dict[str, float | None]


def paused(record: ExecutionRecord, now: float) -> Fields:
    """The record's fields when it comes to rest: what is left of its time. Nothing for a run without a deadline."""
    if record.deadline is None:
        return {}
    return {"deadline": None, "time_left": max(0.0, record.deadline - now)}


def resumed(record: ExecutionRecord, now: float) -> Fields:
    """The record's fields when it goes on from a rest: its deadline, set again from what was left."""
    if record.time_left is None:
        return {}
    return {"deadline": now + record.time_left, "time_left": None}


def at_rest(record: ExecutionRecord, now: float) -> ExecutionRecord:
    """The record as it rests where no barrier leads there; the same one where nothing changes."""
    fields = paused(record, now)
    return replace(record, **fields) if fields else record


def deadline_passed(record: ExecutionRecord, now: float) -> bool:
    """Whether a run that is not at rest has had its time."""
    return record.deadline is not None and record.deadline <= now


def expired(record: ExecutionRecord, now: float) -> bool:
    """Whether the run waits for decisions, and has waited too long for them."""
    if record.status != "suspended" or record.request is None or record.request.expires_at is None:
        return False
    return record.request.expires_at <= now


def check_not_expired(record: ExecutionRecord, now: float) -> None:
    """Raises RequestExpired: whoever decides too late is told so, whether or not the run has been ended for it yet."""
    if expired(record, now):
        assert record.request is not None
        assert record.request.expires_at is not None
        at = datetime.datetime.fromtimestamp(record.request.expires_at, datetime.UTC)
        raise RequestExpired(
            f"request {record.request.id} expired at {at:%Y-%m-%d %H:%M:%S} UTC; it can not be decided any more, "
            "and its run fails with DeadlineExceeded: start a new one"
        )
