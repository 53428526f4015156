"""The clocks of a run in words: its deadline, and until when its request can be decided."""

from __future__ import annotations

from pawl.runtime.barriers.clocks import expired
from pawl.runtime.records.approvals import ApprovalRequest
from pawl.runtime.records.executions import ExecutionRecord
from pawl.tools.cli.words import moment, span


def at(when: float) -> str:
    """A time, also one that no calendar has."""
    try:
        return moment(when)
    except (OverflowError, ValueError, OSError):
        return "the end of time"


def deadline_words(record: ExecutionRecord, now: float) -> str | None:
    """When a run that has not ended must have, None where it may take as long as it likes."""
    if record.time_left is not None:
        return f"{span(record.time_left)} left; the clock stands still while a person is waited for"
    if record.deadline is None:
        return None
    left = record.deadline - now
    return f"{at(record.deadline)}, {f'{span(left)} left' if left > 0 else 'which has passed'}"


def expiry_words(request: ApprovalRequest, now: float) -> str | None:
    """Until when a request can be decided, None for ever."""
    if request.expires_at is None:
        return None
    if request.expires_at <= now:
        return f"expired at {at(request.expires_at)}; the run fails as soon as a host of its agent looks"
    return f"until {at(request.expires_at)}, {span(request.expires_at - now)} left"


def short(record: ExecutionRecord, now: float) -> str:
    """What stands behind the state of a run that waits for decisions: ` (3 h)`, ` (expired)`, or nothing."""
    request = record.request
    if record.status != "suspended" or request is None or request.expires_at is None:
        return ""
    return " (expired)" if expired(record, now) else f" ({span(request.expires_at - now)})"
