"""A second, naive reading of what a machine means, written to be obviously right and not to be fast.

It knows a machine only as its states, events and rows, walks it with plain recursion, and shares no code with the
engine except the values that actions return.
"""

from __future__ import annotations

from typing import Any

from pawl.runtime.fsm.step import Raise
from pawl.runtime.fsm.table import Kind, Machine, Row, Unhandled


class Stuck(Exception):
    """The walk ended without an answer: ("refused" | "failed" | "loop", state, what raised)."""


class Twin:
    """One event, walked through `machine` from `state`; afterwards the fields say what became of it."""

    def __init__(self, machine: Machine[Any, Any], state: str, context: Any) -> None:
        self.machine, self.state, self.context = machine, state, context
        self.info = {info.name: info for info in machine.states}
        self.rows: list[Row[Any, Any]] = []
        self.asked: list[object] = []
        self.timers: list[tuple[object, ...]] = []
        self.queue: list[Raise] = []
        self.verdict = "blocked"

    def outside(self, event: str, payload: object) -> None:
        if not self.rows_on(event):
            match {info.name: info.unhandled for info in self.machine.events}.get(event):
                case Unhandled.IGNORE:
                    self.verdict = "ignored"
                case Unhandled.STALE:
                    self.verdict = "stale"
                case _:
                    raise Stuck("refused", self.state, event)
            return
        self.take(event, payload)
        while self.queue:
            self.inside(self.queue.pop(0))

    def inside(self, inner: Raise) -> None:
        if self.rows_on(inner.event):
            self.take(inner.event, inner.payload)
            return
        unhandled = {info.name: info.unhandled for info in self.machine.events}.get(inner.event)
        ended = self.info[self.state].kind in (Kind.FINAL, Kind.HALT)
        if not ended and unhandled not in (Unhandled.IGNORE, Unhandled.STALE):
            self.run_to_rest(self.rescue([], self.state, inner.event, LookupError(inner.event)))

    def rows_on(self, event: str | None) -> list[Row[Any, Any]]:
        found = [row for row in self.machine.rows if row.source == self.state and row.event == event]
        open_state = self.info[self.state].kind not in (Kind.FINAL, Kind.HALT)
        if event == "internal_error" and not found and self.machine.error is not None and open_state:
            found = [Row(self.state, "internal_error", self.machine.error)]
        return found

    def take(self, event: str, payload: object) -> None:
        self.run_to_rest(self.attempt(self.rows_on(event), payload))

    def run_to_rest(self, entered_with: tuple[bool, object]) -> None:
        entered, payload = entered_with
        automatic = 0
        while entered and self.info[self.state].kind is Kind.AUTO:
            before = len(self.rows)
            entered, payload = self.attempt(self.rows_on(None), payload)
            automatic += len(self.rows) > before
            if automatic > 4 * len(self.machine.states):
                raise Stuck("loop", self.state, None)

    def attempt(self, rows: list[Row[Any, Any]], payload: object) -> tuple[bool, object]:
        """Take the first row that may be taken: whether a state was entered, and the payload that goes on."""
        left = self.state
        for row in rows:
            try:
                agreed = self.agrees(row, payload)
            except Exception as error:
                return self.rescue([], left, error, error)
            if agreed:
                try:
                    armed = self.perform(row, payload, arm=row.target is not None)
                except Exception as error:
                    return self.rescue([row], left, error, error)
                self.note([row], left, armed)
                return row.target is not None, payload
        return False, payload

    def rescue(self, failed: list[Row[Any, Any]], left: str, cause: object, payload: object) -> tuple[bool, object]:
        """User code raised: the one row on internal_error that agrees here, or nothing helps."""
        entered = any(row.target is not None for row in failed)
        for row in self.rows_on("internal_error"):
            try:
                agreed = self.agrees(row, payload)
            except Exception as second:
                raise Stuck("failed", self.state, repr(second)) from None
            if agreed:
                try:
                    armed = self.perform(row, payload, arm=entered or row.target is not None)
                except Exception as second:
                    raise Stuck("failed", self.state, repr(second)) from None
                self.note([*failed, row], left, armed)
                return entered or row.target is not None, payload
        raise Stuck("failed", self.state, repr(cause))

    def agrees(self, row: Row[Any, Any], payload: object) -> bool:
        for name in row.when:
            if not getattr(self.context, name)(payload):
                return False
        return all(not getattr(self.context, name)(payload) for name in row.unless)

    def perform(self, row: Row[Any, Any], payload: object, arm: bool) -> float | None:
        """Move, act, and ask for the delay of the state that was entered."""
        if row.target is not None:
            self.state = row.target
        for name in [*row.do, *(self.info[self.state].enter if row.target is not None else ())]:
            answer = getattr(self.context, name)(payload)
            if answer is not None:
                self.context = answer[0]
                for effect in answer[1]:
                    (self.queue if isinstance(effect, Raise) else self.asked).append(effect)
        after = self.info[self.state].after
        return getattr(self.context, after.delay)() if after is not None and arm else None

    def note(self, rows: list[Row[Any, Any]], left: str, armed: float | None) -> None:
        self.rows += rows
        moved = any(row.target is not None for row in rows)
        if self.verdict != "moved":
            self.verdict = "moved" if moved else "stayed"
        if moved and self.info[left].after is not None:
            self.timers.append(("disarm", left))
        if armed is not None:
            self.timers.append(("arm", self.state, float(armed)))
