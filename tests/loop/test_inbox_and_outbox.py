"""The two ends of the loop: messages come in one order, operations go out when nothing is left to handle."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from pawl.runtime.loop.inbox import Inbox
from pawl.runtime.loop.outbox import Outbox


class Turns:
    """As much of an environment as an inbox needs: callbacks wait until `turn`."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.gone = False

    def wake(self, callback: Callable[[], None]) -> None:
        if self.gone:
            raise RuntimeError
        self.waiting.append(callback)

    def turn(self) -> int:
        """Run what waits; how many there were."""
        waiting, self.waiting = self.waiting, []
        for callback in waiting:
            callback()
        return len(waiting)


class Store:
    """A store that notes what it is given."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def submit(self, operation: Any, answer: Any) -> None:
        self.given.append(operation)


def ends(turns: Turns, store: Store, handle: Callable[[Outbox, Any], None]) -> tuple[Inbox[Any], Outbox]:
    inbox: Inbox[Any]
    outbox = Outbox(store, turns.wake, lambda: inbox.draining)  # type: ignore[arg-type]
    inbox = Inbox(turns, lambda message: handle(outbox, message), outbox.flush)  # type: ignore[arg-type]
    return inbox, outbox


def test_messages_are_handled_in_order_after_one_wake_up() -> None:
    turns, handled = Turns(), list[Any]()
    inbox: Inbox[int] = Inbox(turns, handled.append)  # type: ignore[arg-type]
    assert all([inbox.post(1), inbox.post(2), inbox.post(3)])
    assert handled == []
    assert turns.turn() == 1
    assert handled == [1, 2, 3]
    assert inbox.deepest == 3


def test_a_message_that_is_posted_while_others_are_handled_is_handled_with_them() -> None:
    turns, handled = Turns(), list[int]()

    def handle(message: int) -> None:
        handled.append(message)
        if message == 1:
            inbox.post(3)

    inbox: Inbox[int] = Inbox(turns, handle)  # type: ignore[arg-type]
    inbox.post(1)
    inbox.post(2)
    turns.turn()
    assert handled == [1, 2, 3]


def test_a_handler_that_raises_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    turns, handled = Turns(), list[Any]()

    def handle(message: int) -> None:
        handled.append(1 // message)

    inbox: Inbox[int] = Inbox(turns, handle)  # type: ignore[arg-type]
    inbox.post(0)
    inbox.post(1)
    with caplog.at_level(logging.ERROR):
        turns.turn()
    assert handled == [1]
    assert "a message could not be handled: a int, ZeroDivisionError at test_inbox_and_outbox.py" in caplog.text


def test_a_closed_inbox_takes_nothing_and_drops_what_it_had() -> None:
    turns, handled = Turns(), list[Any]()
    inbox: Inbox[int] = Inbox(turns, handled.append)  # type: ignore[arg-type]
    inbox.post(1)
    inbox.close()
    assert not inbox.post(2)
    turns.turn()
    assert handled == []


def test_a_message_is_not_taken_when_the_loop_is_gone() -> None:
    turns = Turns()
    turns.gone = True
    assert not Inbox(turns, print).post(1)  # type: ignore[arg-type]


def test_operations_go_to_the_store_together_when_every_message_has_been_handled() -> None:
    turns, store = Turns(), Store()
    seen: list[int] = []

    def handle(outbox: Outbox, message: Any) -> None:
        seen.append(len(store.given))
        outbox.submit(message, print)

    inbox, _ = ends(turns, store, handle)
    for name in ("a", "b", "c"):
        inbox.post(name)
    turns.turn()
    assert seen == [0, 0, 0]
    assert store.given == ["a", "b", "c"]
    assert turns.turn() == 0


def test_an_operation_of_the_loop_s_own_goes_in_the_next_turn() -> None:
    turns, store = Turns(), Store()
    _, outbox = ends(turns, store, lambda outbox, message: None)
    outbox.submit("a", print)  # type: ignore[arg-type]
    outbox.submit("b", print)  # type: ignore[arg-type]
    assert store.given == []
    assert turns.turn() == 1
    assert store.given == ["a", "b"]


def test_what_the_store_answers_at_once_is_handled_before_the_loop_goes_on() -> None:
    turns, handled = Turns(), list[Any]()

    class Prompt(Store):
        def submit(self, operation: Any, answer: Any) -> None:
            inbox.post(f"answer to {operation}")

    def handle(outbox: Outbox, message: Any) -> None:
        handled.append(message)
        if message == "a":
            outbox.submit("x", print)  # type: ignore[arg-type]

    inbox, _ = ends(turns, Prompt(), handle)
    inbox.post("a")
    turns.turn()
    assert handled == ["a", "answer to x"]
