"""Small machines and a context that writes down what was called, for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from pawl.runtime.fsm.table import After, EventInfo, Kind, Machine, Row, StateInfo, Unhandled


def build(
    *rows: Row[Any, Any],
    kinds: Mapping[str, Kind] | None = None,
    enter: Mapping[str, tuple[str, ...]] | None = None,
    after: Mapping[str, After[Any]] | None = None,
    unhandled: Mapping[str, Unhandled] | None = None,
    error: str | None = None,
    initial: str = "a",
    states: Iterable[str] = (),
) -> Machine[Any, Any]:
    """A machine whose states and events are those that the rows name; the names are strings or members alike."""
    kinds, enter, after, unhandled = kinds or {}, enter or {}, after or {}, unhandled or {}
    names = [initial, *states, *kinds, *enter, *after, *([error] if error else [])]
    names += [name for row in rows for name in (row.source, row.target) if name is not None]
    events = [row.event for row in rows if row.event is not None] + list(unhandled) + [t.event for t in after.values()]
    state_enum = StrEnum("State", {name: str(name) for name in dict.fromkeys(names)})  # type: ignore[misc]
    event_enum = StrEnum("Event", {name: str(name) for name in dict.fromkeys(events)})  # type: ignore[misc]
    return Machine(
        name="probe",
        version=3,
        spec_hash="f00d",
        initial=state_enum(initial),
        states=tuple(
            StateInfo(name, kinds.get(name, Kind.PLAIN), tuple(enter.get(name, ())), after.get(name))
            for name in state_enum
        ),
        events=tuple(EventInfo(name, unhandled=unhandled.get(name)) for name in event_enum),
        rows=tuple(
            Row(
                state_enum(row.source),
                None if row.event is None else event_enum(row.event),
                None if row.target is None else state_enum(row.target),
                row.when,
                row.unless,
                row.do,
                row.line,
            )
            for row in rows
        ),
        error=None if error is None else state_enum(error),
    )


class Probe:
    """A context whose methods answer what the test says: a value, an exception to raise, or a function to call.

    A method that the test says nothing about answers None. `calls` has the names called, `payloads` what they got.
    """

    def __init__(self, **answers: object) -> None:
        self.answers = answers
        self.calls: list[str] = []
        self.payloads: list[object] = []

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("__"):
            raise AttributeError(name)

        def method(*payload: object) -> object:
            self.calls.append(name)
            self.payloads.append(payload[0] if payload else None)
            answer = self.answers.get(name)
            if isinstance(answer, BaseException):
                raise answer
            return answer(*payload) if callable(answer) else answer

        return method


class Boom(Exception):
    """What user code raises in these tests."""
