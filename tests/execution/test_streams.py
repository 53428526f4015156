"""Buffers of consumers: bounded, in order, and nothing durable is lost with them."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl import Event, EventKind, RuntimeClosed
from pawl.runtime.execution.streams import Buffer, Streams, Sync


def token(text: str) -> tuple[Event, ...]:
    return (Event(EventKind.TOKEN, "x", "a", {"text": text}),)


def durable(cursor: int, count: int = 1, kind: EventKind = EventKind.TOOL_CALL) -> tuple[Event, ...]:
    return tuple(Event(kind, "x", "a", {"n": n}, cursor) for n in range(count))


REST = Event(EventKind.APPROVAL_REQUIRED, "x", "a")


def taken(buffer: Buffer) -> list[Any]:
    """All that waits: tokens as text, records as their cursor, and what is missing as a negative number."""
    found: list[Any] = []
    while True:
        item, missed = buffer.take()
        found += [-missed] if missed else []
        match item:
            case None:
                return found
            case Sync():
                found.append(item)
            case (first, *_):
                found.append(first.data["text"] if first.cursor is None else first.cursor)


def test_what_is_told_is_taken_in_order() -> None:
    buffer = Buffer(10)
    for group in (token("a"), durable(4, 2), token("b"), durable(5)):
        buffer.tell(group)
    assert len(buffer) == 5
    assert taken(buffer) == ["a", 4, "b", 5]
    assert (len(buffer), buffer.dropped) == (0, 0)


def test_a_full_buffer_drops_new_tokens_and_says_where_and_how_many() -> None:
    buffer = Buffer(2)
    for text in "abcd":
        buffer.tell(token(text))
    assert buffer.dropped == 2
    assert taken(buffer) == ["a", "b", -2]
    buffer.tell(token("e"))
    assert taken(buffer) == ["e"]


def test_records_push_waiting_tokens_out() -> None:
    buffer = Buffer(3)
    for group in (token("a"), durable(4), token("b"), token("c"), durable(5)):
        buffer.tell(group)
    assert taken(buffer) == [-1, 4, -2, 5]
    assert buffer.dropped == 3


def test_records_that_do_not_fit_are_to_be_read_again_and_none_is_lost() -> None:
    buffer = Buffer(2)
    for group in (durable(4), durable(5), durable(6, 3), token("a"), durable(9)):
        buffer.tell(group)
    assert len(buffer) == 2
    assert taken(buffer) == [4, 5, -1, Sync(9)]


def test_a_record_of_more_events_than_a_buffer_holds_is_read_again() -> None:
    buffer = Buffer(1)
    buffer.tell(durable(4, 3))
    assert taken(buffer) == [Sync(4)]


def test_a_consumer_that_has_caught_up_is_told_again_in_order() -> None:
    buffer = Buffer(1)
    buffer.tell(durable(4))
    buffer.tell(durable(5))
    assert buffer.take() == (durable(4), 0)
    assert buffer.take() == (Sync(5), 0)
    buffer.tell(durable(6))
    assert taken(buffer) == [6]


def test_a_buffer_never_grows_beyond_its_limit_however_much_is_told() -> None:
    buffer = Buffer(5, through_rests=True)
    for number in range(1, 2000):
        buffer.tell(token("t"))
        buffer.tell(durable(number))
        buffer.sync(number, REST)
    assert len(buffer) <= 5
    assert len(buffer._items) <= 3 * 5 + 2
    *_, last = taken(buffer)
    assert last == Sync(1999, REST)


def test_nothing_is_kept_behind_a_rest_where_the_consumer_ends_there() -> None:
    buffer, through = Buffer(10), Buffer(10, through_rests=True)
    for each in (buffer, through):
        each.tell(durable(4))
        each.sync(4, REST)
        each.tell(durable(6))
    assert taken(buffer) == [4, Sync(4, REST)]
    assert taken(through) == [4, Sync(4, REST), 6]
    assert not buffer.wants_tokens
    assert through.wants_tokens


@pytest.mark.parametrize("kind", [EventKind.DONE, EventKind.ERROR, EventKind.TIMEOUT, EventKind.CANCELLED])
def test_nothing_is_kept_behind_the_end(kind: EventKind) -> None:
    buffer = Buffer(10, through_rests=True)
    buffer.tell(durable(4, kind=kind))
    buffer.tell(token("late"))
    assert taken(buffer) == [4]


def test_a_rest_that_comes_while_a_consumer_is_behind_is_not_forgotten() -> None:
    buffer = Buffer(1)
    for cursor in (4, 5, 6):
        buffer.tell(durable(cursor))
    buffer.sync(7, REST)
    buffer.tell(durable(9))
    assert taken(buffer) == [4, Sync(7, REST)]


def test_who_wants_no_tokens_gets_none_and_misses_none() -> None:
    buffer = Buffer(1, tokens=False)
    for group in (token("a"), durable(4), token("b")):
        buffer.tell(group)
    assert taken(buffer) == [4]
    assert buffer.dropped == 0


def test_only_who_follows_an_execution_hears_of_it() -> None:
    streams, mine, other = Streams(), Buffer(10), Buffer(10)
    streams.attach("x", mine)
    streams.attach("y", other)
    streams.tell(durable(4))
    streams.tell([])
    assert taken(mine) == [4]
    assert taken(other) == []


def test_a_consumer_that_is_dropped_is_gone_without_a_word() -> None:
    streams, kept = Streams(), Buffer(10)
    streams.attach("x", kept)
    streams.attach("x", Buffer(10))
    streams.attach("y", Buffer(10))
    gc.collect()
    assert len(streams) == 1
    assert (streams.watched("x"), streams.watched("y")) == (True, False)
    assert not streams.wants_tokens("y")


def test_what_consumers_leave_behind_does_not_add_up() -> None:
    streams = Streams()
    for number in range(1000):
        streams.attach(f"x{number}", Buffer(10))
    assert len(streams._buffers) <= 40


def test_detaching_twice_or_from_elsewhere_does_nothing() -> None:
    streams, one, two = Streams(), Buffer(10), Buffer(10)
    streams.attach("x", one)
    streams.attach("x", two)
    streams.detach("x", one)
    streams.detach("x", one)
    streams.detach("y", one)
    streams.tell(durable(4))
    assert (taken(one), taken(two)) == ([], [4])
    streams.detach("x", two)
    assert not streams._buffers


def test_closing_reaches_who_follows_and_who_comes_later() -> None:
    streams, one, late = Streams(), Buffer(10), Buffer(10)
    streams.attach("x", one)
    woken: list[int] = []
    one.wake = lambda: woken.append(1)
    error = RuntimeClosed("over")
    streams.close(error)
    streams.attach("x", late)
    assert one.error is late.error is error
    assert woken == [1]


# any order of telling and taking ----------------------------------------------------------------------------

STEPS = st.lists(st.sampled_from(["token", "one", "batch", "rest", "take"]), max_size=120)


@given(steps=STEPS, limit=st.integers(1, 6))
def test_whatever_the_order_every_record_comes_once_and_every_token_comes_or_is_counted(
    steps: list[str], limit: int
) -> None:
    buffer = Buffer(limit, through_rests=True)
    journal: list[tuple[Event, ...]] = []
    got: list[int] = []
    tokens: list[str] = []
    told = missing = 0

    def take() -> bool:
        nonlocal missing
        item, missed = buffer.take()
        missing += missed
        match item:
            case None:
                return False
            case Sync(upto):
                place = got[-1] if got else 0
                got.extend(group[0].cursor or 0 for group in journal if place < (group[0].cursor or 0) <= upto)
            case (first, *_) if first.cursor is None:
                tokens.append(first.data["text"])
            case (first, *_) if first.cursor > (got[-1] if got else 0):
                got.append(first.cursor)
        return True

    for step in steps:
        match step:
            case "token":
                told += 1
                buffer.tell(token(str(told)))
            case "one" | "batch":
                journal.append(durable(len(journal) + 1, 1 if step == "one" else 3))
                buffer.tell(journal[-1])
            case "rest":
                buffer.sync(len(journal), REST)
            case _:
                take()
        assert len(buffer) <= limit
    while take():
        pass
    assert got == [group[0].cursor for group in journal]
    assert tokens == sorted(tokens, key=int)
    assert len(tokens) + missing == told
    assert buffer.dropped == missing
