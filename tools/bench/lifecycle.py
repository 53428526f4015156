"""The life of a support agent as a table of 15 states, and a day of 30 events: what the step benchmarks run."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

import attrs

from pawl.runtime.fsm.table import EventInfo, Machine, Row, StateInfo


class State(StrEnum):
    """Where the agent stands."""

    IDLE = "idle"
    BRIEFED = "briefed"
    COMPOSING = "composing"
    ASKING_MODEL = "asking_model"
    READING = "reading"
    ASKING_PERSON = "asking_person"
    PREPARING_TOOL = "preparing_tool"
    RUNNING_TOOL = "running_tool"
    TOOL_DONE = "tool_done"
    REVIEWING = "reviewing"
    TRIMMING = "trimming"
    BACKING_OFF = "backing_off"
    ON_HOLD = "on_hold"
    DONE = "done"
    GIVEN_UP = "given_up"


class Event(StrEnum):
    """What happens to it."""

    BRIEF = "brief"
    BEGIN = "begin"
    SUBMIT = "submit"
    ANSWERED = "answered"
    UNANSWERED = "unanswered"
    UNDERSTOOD = "understood"
    ALLOWED = "allowed"
    DENIED = "denied"
    RETURNED = "returned"
    BROKE = "broke"
    CONTINUE = "continue"
    ELAPSED = "elapsed"
    REOPEN = "reopen"


S, E = State, Event
ROWS: Final = (  # source, event, guard, target; the first row whose guard agrees is taken
    (S.IDLE, E.BRIEF, "is_sound", S.BRIEFED),
    (S.BRIEFED, E.BEGIN, "is_sound", S.COMPOSING),
    (S.COMPOSING, E.SUBMIT, "is_sound", S.ASKING_MODEL),
    (S.COMPOSING, E.ELAPSED, None, S.ON_HOLD),
    (S.ON_HOLD, E.CONTINUE, "is_sound", S.COMPOSING),
    (S.ASKING_MODEL, E.ANSWERED, "is_sound", S.READING),
    (S.ASKING_MODEL, E.UNANSWERED, "is_many", S.GIVEN_UP),
    (S.ASKING_MODEL, E.UNANSWERED, None, S.BACKING_OFF),
    (S.BACKING_OFF, E.ELAPSED, None, S.ASKING_MODEL),
    (S.READING, E.UNDERSTOOD, "is_huge", S.TRIMMING),
    (S.READING, E.UNDERSTOOD, "is_costly", S.ASKING_PERSON),
    (S.READING, E.UNDERSTOOD, "is_some", S.PREPARING_TOOL),
    (S.READING, E.UNDERSTOOD, None, S.DONE),
    (S.TRIMMING, E.CONTINUE, "is_sound", S.COMPOSING),
    (S.ASKING_PERSON, E.ALLOWED, "is_sound", S.PREPARING_TOOL),
    (S.ASKING_PERSON, E.DENIED, None, S.COMPOSING),
    (S.PREPARING_TOOL, E.SUBMIT, "is_sound", S.RUNNING_TOOL),
    (S.RUNNING_TOOL, E.RETURNED, "is_sound", S.TOOL_DONE),
    (S.RUNNING_TOOL, E.BROKE, "is_many", S.GIVEN_UP),
    (S.RUNNING_TOOL, E.BROKE, None, S.PREPARING_TOOL),
    (S.TOOL_DONE, E.CONTINUE, "is_some", S.REVIEWING),
    (S.TOOL_DONE, E.CONTINUE, None, S.COMPOSING),
    (S.REVIEWING, E.CONTINUE, "is_sound", S.COMPOSING),
    (S.DONE, E.REOPEN, "is_sound", S.IDLE),
    (S.GIVEN_UP, E.REOPEN, None, S.IDLE),
)

DAY: Final = (  # each event with its size, which guards look at
    (E.BRIEF, 0), (E.BEGIN, 0), (E.SUBMIT, 0), (E.ANSWERED, 0), (E.UNDERSTOOD, 2), (E.SUBMIT, 0), (E.RETURNED, 0),
    (E.CONTINUE, 0), (E.ELAPSED, 0), (E.CONTINUE, 0), (E.SUBMIT, 0), (E.UNANSWERED, 1), (E.ELAPSED, 0),
    (E.ANSWERED, 0), (E.UNDERSTOOD, 50), (E.ALLOWED, 0), (E.SUBMIT, 0), (E.BROKE, 1), (E.SUBMIT, 0), (E.RETURNED, 0),
    (E.CONTINUE, 1), (E.CONTINUE, 0), (E.SUBMIT, 0), (E.ANSWERED, 0), (E.UNDERSTOOD, 900), (E.CONTINUE, 0),
    (E.SUBMIT, 0), (E.ANSWERED, 0), (E.UNDERSTOOD, 0), (E.REOPEN, 0),
)  # fmt: skip

MACHINE: Final[Machine[State, Event]] = Machine(
    name="support_agent",
    version=1,
    spec_hash="",
    initial=State.IDLE,
    states=tuple(StateInfo(state, enter=("arrive",)) for state in State),
    events=tuple(EventInfo(event) for event in Event),
    rows=tuple(Row(source, event, target, when=(guard,) if guard else ()) for source, event, guard, target in ROWS),
)


class _Guarding:
    __slots__ = ()

    def is_sound(self, size: int) -> bool:
        return size >= 0

    def is_some(self, size: int) -> bool:
        return size >= 1

    def is_many(self, size: int) -> bool:
        return size >= 4

    def is_costly(self, size: int) -> bool:
        return size >= 20

    def is_huge(self, size: int) -> bool:
        return size >= 500


class Counting(_Guarding):
    """A context that changes itself: its entry action counts and returns None."""

    __slots__ = ("arrivals",)

    def __init__(self) -> None:
        self.arrivals = 0

    def arrive(self, _size: int) -> None:
        """Count an entry."""
        self.arrivals += 1


@attrs.frozen
class Returning(_Guarding):
    """An immutable context: its entry action returns the next one and an effect."""

    arrivals: int = 0

    def arrive(self, size: int) -> tuple[Returning, tuple[Any, ...]]:
        """Count an entry and ask for something outside."""
        return Returning(self.arrivals + 1), (("arrived", size),)


Cell = tuple[tuple[Callable[[Any, int], bool] | None, str, Callable[[Any, int], Any]], ...]


def _table() -> dict[str, dict[str, Cell]]:
    table: dict[str, dict[str, Cell]] = {state.value: {} for state in State}
    for source, event, guard, target in ROWS:
        cell = table[source.value]
        test = getattr(Counting, guard) if guard else None
        cell[event.value] = (*cell.get(event.value, ()), (test, target.value, Counting.arrive))
    return table


TABLE: Final = _table()


class ByHand(Counting):
    """The same as a person would write it for speed: nested dicts of (guard, target, entry), called as functions."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        super().__init__()
        self.state = State.IDLE.value

    def fire(self, event: str, size: int) -> None:
        """Take one event. Raises LookupError when no row is open."""
        for guard, target, entry in TABLE[self.state][event]:
            if guard is None or guard(self, size):
                self.state = target
                entry(self, size)
                return
        raise LookupError(event)
