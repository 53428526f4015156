"""Whose turn it is: slots in the order of asking, as many at a time and in a while as the limit says."""

from __future__ import annotations

from typing import Any

import pytest

from pawl.runtime.agent.rate import Limit, Rate
from pawl.runtime.execution.slots import Slots


class Later:
    """A clock, and what was asked to happen on it."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.due: list[tuple[float, Any, list[bool]]] = []

    def now(self) -> float:
        return self.time

    def later(self, seconds: float, callback: Any) -> Any:
        live = [True]
        self.due.append((self.time + seconds, callback, live))
        return type("Timer", (), {"cancel": lambda self: live.clear()})()

    def advance(self, seconds: float) -> None:
        until = self.time + seconds
        while pending := sorted((one for one in self.due if one[0] <= until), key=lambda one: one[0]):
            self.due.remove(pending[0])
            self.time = max(self.time, pending[0][0])
            if pending[0][2]:
                pending[0][1]()
        self.time = until


class Room:
    def __init__(self) -> None:
        self.clock = Later()
        self.slots = Slots(self.clock)  # type: ignore[arg-type]  # as much of an environment as it needs
        self.granted: list[str] = []

    def ask(self, limit: Limit, *names: str) -> None:
        for name in names:
            self.slots.request(limit, name, lambda name=name: self.granted.append(name))  # type: ignore[misc]


def test_slots_are_granted_in_the_order_of_asking_and_no_more_than_there_are() -> None:
    room, limit = Room(), Limit(2, None)
    room.ask(limit, "a", "b", "c", "d")
    assert (room.granted, room.slots.waiting) == (["a", "b"], 2)
    assert room.slots.release("b")
    assert room.granted == ["a", "b", "c"]
    assert room.slots.release("a")
    assert (room.granted, room.slots.waiting) == (["a", "b", "c", "d"], 0)


def test_a_slot_is_given_back_once() -> None:
    room, limit = Room(), Limit(1, None)
    room.ask(limit, "a", "b", "c")
    assert room.slots.release("a")
    assert not room.slots.release("a")
    assert room.granted == ["a", "b"]
    assert not room.slots.release("nobody")


def test_who_does_not_wait_any_more_is_passed_over() -> None:
    room, limit = Room(), Limit(1, None)
    room.ask(limit, "a", "b", "c")
    assert room.slots.release("b")
    assert room.slots.release("a")
    assert room.granted == ["a", "c"]


def test_asking_again_is_asking_anew() -> None:
    room, limit = Room(), Limit(1, None)
    room.ask(limit, "a", "b", "c", "b")
    room.slots.release("a")
    assert room.granted == ["a", "c"]


def test_limits_do_not_wait_for_each_other() -> None:
    room = Room()
    room.ask(Limit(1, None), "a", "b")
    room.ask(Limit(1, None), "c")  # equal, and another tool's
    assert room.granted == ["a", "c"]


def test_a_rate_holds_in_any_window_and_not_only_in_the_clock_s() -> None:
    room, limit = Room(), Limit(None, Rate(2, 10.0))
    room.clock.time += 9.0
    room.ask(limit, "a")
    room.clock.advance(2.0)
    room.ask(limit, "b", "c", "d", "e")
    assert room.granted == ["a", "b"]
    room.clock.advance(7.9)
    assert room.granted == ["a", "b"]
    room.clock.advance(0.1)
    assert room.granted == ["a", "b", "c"]
    room.clock.advance(2.0)
    assert room.granted == ["a", "b", "c", "d"]
    room.clock.advance(100.0)
    assert room.granted == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("count", [1, 3, 7])
def test_no_window_holds_more_starts_than_the_rate_says(count: int) -> None:
    room, limit = Room(), Limit(None, Rate(count, 1.0))
    times: list[float] = []
    for n in range(40):
        room.slots.request(limit, str(n), lambda: times.append(room.clock.now()))
        room.clock.advance(0.07 * (n % 5))
    room.clock.advance(100.0)
    assert len(times) == 40
    assert all(later - first >= 1.0 - 1e-9 for first, later in zip(times, times[count:], strict=False))


def test_room_and_rate_are_both_needed() -> None:
    room, limit = Room(), Limit(1, Rate(1, 5.0))
    room.ask(limit, "a", "b")
    room.clock.advance(6.0)
    assert room.granted == ["a"]
    room.slots.release("a")
    assert room.granted == ["a", "b"]
    room.slots.release("b")
    room.ask(limit, "c")
    assert room.granted == ["a", "b"]
    room.clock.advance(5.0)
    assert room.granted == ["a", "b", "c"]


def test_a_clock_that_is_set_back_makes_nobody_wait_for_longer_than_the_rate() -> None:
    room, limit = Room(), Limit(None, Rate(1, 10.0))
    room.ask(limit, "a")
    room.clock.time -= 3600.0
    room.ask(limit, "b")
    room.clock.advance(10.0)
    assert room.granted == ["a", "b"]


def test_nothing_is_kept_of_a_limit_that_nobody_uses() -> None:
    room, limit = Room(), Limit(1, None)
    room.ask(limit, "a", "b")
    for name in ("a", "b"):
        room.slots.release(name)
    assert room.slots._queues == {}
    assert room.slots._queue_of == {}


def test_a_timer_is_armed_once_and_forgotten_when_nobody_waits() -> None:
    room, limit = Room(), Limit(None, Rate(1, 10.0))
    room.ask(limit, "a", "b", "c")
    assert len(room.clock.due) == 1
    room.slots.release("b")
    room.slots.release("c")
    assert [live for _, _, live in room.clock.due] == [[]]
