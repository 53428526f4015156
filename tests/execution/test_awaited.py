"""What coroutines are told of an operation: its value, or what is known; tried again only where that is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pawl.runtime.execution.awaited import BACKOFF, TRIES, AwaitedStore
from pawl.runtime.records.errors import (
    InvalidArguments,
    OutcomeUnknown,
    StoreReadOnly,
    StoreUnavailable,
    Superseded,
)
from pawl.runtime.simulation.world import World
from pawl.runtime.store import answers
from pawl.runtime.store.answers import Answer, Committed, Refused, Unavailable, Uncertain

BUSY = Unavailable(StoreUnavailable("busy"))
UNKNOWN = Uncertain(StoreUnavailable("nobody knows"))


class Answering:
    """A store that answers as it was told, the last answer again and again."""

    def __init__(self, *said: Answer[Any]) -> None:
        self.said = list(said)
        self.asked = 0

    def submit(self, operation: object, answer: Callable[[Answer[Any]], object]) -> None:
        self.asked += 1
        answer(self.said.pop(0) if len(self.said) > 1 else self.said[0])


def commit(store: Answering, **options: Any) -> tuple[Any, float]:
    """What a commit gives, and the virtual seconds that it took."""
    with World() as world:
        process = world.open()
        begin = world.now
        value = process.do(AwaitedStore(process.environment, store).commit(lambda tx: None, **options))  # type: ignore[arg-type]
        return value, world.now - begin


def test_what_was_not_written_is_tried_again_after_longer_and_longer_waits() -> None:
    store = Answering(BUSY, BUSY, Committed(5))
    value, seconds = commit(store)
    assert (value, store.asked) == (5, 3)
    assert seconds == pytest.approx(BACKOFF + 2 * BACKOFF)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Refused(InvalidArguments("no")), InvalidArguments),
        (answers.Superseded("p2"), Superseded),
        (Unavailable(StoreReadOnly("no")), StoreReadOnly),
    ],
)
def test_what_would_be_said_again_is_told_at_once(said: Answer[Any], error: type[Exception]) -> None:
    store = Answering(said)
    with pytest.raises(error):
        commit(store)
    assert store.asked == 1


def test_a_store_that_stays_away_is_told_of_after_so_many_tries() -> None:
    store = Answering(BUSY)
    with pytest.raises(StoreUnavailable, match="nothing was written"):
        commit(store)
    assert store.asked == TRIES


def test_who_may_not_write_twice_is_told_at_once_that_nobody_knows() -> None:
    store = Answering(UNKNOWN, Committed(5))
    with pytest.raises(OutcomeUnknown):
        commit(store, once=True)
    assert store.asked == 1


def test_once_nobody_knows_it_stays_unknown_where_it_is_not_written_later() -> None:
    store = Answering(UNKNOWN, BUSY)
    with pytest.raises(OutcomeUnknown):
        commit(store)
    assert commit(Answering(UNKNOWN, Committed(5)))[0] == 5
