"""Sinks: results that come later reach the incarnation that asked for them, or nobody."""

from __future__ import annotations

import gc
from threading import Thread

import pytest

from fsm.support import Probe, build
from pawl.runtime.fsm.errors import UnhandledEvent
from pawl.runtime.fsm.session import Session
from pawl.runtime.fsm.table import Kind, Row

MACHINE = build(
    Row("a", "go", "b", do=("act",)), Row("b", "rest", "w"), Row("w", "go", "b"), Row("a", "note", None),
    kinds={"w": Kind.WAIT},
)  # fmt: skip


def started(**answers: object) -> Session:  # type: ignore[type-arg]
    session = Session(MACHINE, Probe(**answers))
    session.start()
    return session


def test_what_is_posted_waits_until_the_session_takes_it_in_order() -> None:
    session = started()
    sink = session.sink()
    assert sink.post("go", 1)
    assert sink.post("rest")
    assert session.state == "a"
    assert [session.take().state, session.take().state, session.take()] == ["b", "w", None]
    assert session.context.payloads == [1]


def test_all_sinks_of_a_session_share_its_inbox_and_its_incarnation() -> None:
    session = started()
    first, second = session.sink(), session.sink()
    first.post("note")
    second.post("go")
    session.take()
    assert session.take().state == "b"
    assert first.incarnation == second.incarnation == session.incarnation


def test_posting_to_an_ended_session_returns_false_and_is_counted() -> None:
    session = started()
    sink = session.sink()
    session.send("go")
    session.send("rest")
    assert not sink.post("go")
    assert not sink.post("go")
    assert sink.late == 2
    assert session.take() is None


def test_the_sink_of_a_replaced_incarnation_does_not_reach_the_later_one() -> None:
    session = started()
    sink = session.sink()
    later = Session.restore(MACHINE, session.snapshot(), Probe())
    session.close()
    fresh = later.sink()
    assert not sink.post("go")
    assert fresh.post("go")
    assert (later.take().state, session.state) == ("b", "a")


def test_posting_to_a_session_that_was_not_started_or_is_gone_returns_false() -> None:
    session = Session(MACHINE, Probe())
    sink = session.sink()
    assert not sink.post("go")
    del session
    gc.collect()
    assert not sink.post("go")


def test_what_was_posted_before_the_end_is_dropped_after_it() -> None:
    session = started()
    sink = session.sink()
    sink.post("go")
    session.close()
    assert session.take() is None


def test_an_action_may_post_to_its_own_session() -> None:
    session = started(act=lambda _payload: sink.post("rest") and None)
    sink = session.sink()
    assert session.send("go").state == "b"
    assert session.take().state == "w"


def test_a_posted_event_that_is_refused_tells_the_host_and_is_gone() -> None:
    session = started()
    session.sink().post("rest")
    with pytest.raises(UnhandledEvent):
        session.take()
    assert session.take() is None
    assert session.alive


def test_other_threads_may_post() -> None:
    session = started()
    sink = session.sink()
    threads = [Thread(target=sink.post, args=("note",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    steps = 0
    while session.take() is not None:
        steps += 1
    assert steps == 8
