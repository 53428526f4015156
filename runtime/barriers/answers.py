"""What a barrier's session hears from the store: the five answers, and the four of a read-back, as events."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs

from pawl.runtime.store.answers import Answer, Committed, Refused, Superseded, Unavailable, Uncertain


class Found(StrEnum):
    """What a read-back saw."""

    COMMITTED = "read_committed"
    UNWRITTEN = "read_unwritten"
    CONFLICT = "read_conflict"


@attrs.frozen
class Reading:
    """The result of a read-back; `value` is what the commit would have answered."""

    found: Found
    value: Any = None


@attrs.frozen
class BarrierAnswer:
    """An answer to the submission `token`; `reading` tells a read-back from the commit itself."""

    token: str
    reading: bool
    value: Any = None
    error: Exception | None = None
    owner: str | None = None

    @property
    def operation(self) -> str:
        """Which outstanding operation this ends."""
        return operation_id(self.token, self.reading)


def operation_id(token: str, reading: bool) -> str:
    """The name under which an unanswered submission or read-back counts against quiescence."""
    return f"read:{token}" if reading else f"commit:{token}"


def answered(answer: Answer[Any], token: str) -> tuple[str, BarrierAnswer]:
    """The event that the answer to a commit is."""
    match answer:
        case Committed(value):
            return "committed", BarrierAnswer(token, False, value)
        case Refused(error):
            return "refused", BarrierAnswer(token, False, error=error)
        case Unavailable(error):
            return "unavailable", BarrierAnswer(token, False, error=error)
        case Superseded(owner):
            return "superseded", BarrierAnswer(token, False, owner=owner)
        case Uncertain(error):
            return "uncertain", BarrierAnswer(token, False, error=error)


def read(answer: Answer[Reading], token: str) -> tuple[str, BarrierAnswer]:
    """The event that the answer to a read-back is. Whatever did not read is harmless: it is read again."""
    match answer:
        case Committed(Reading(found, value)):
            return str(found), BarrierAnswer(token, True, value)
        case Superseded(owner):
            return "superseded", BarrierAnswer(token, True, owner=owner)
        case Refused(error) | Unavailable(error) | Uncertain(error):
            return "read_failed", BarrierAnswer(token, True, error=error)
