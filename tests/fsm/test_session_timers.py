"""Deadlines of a session, on a clock that the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import SessionEnded, StepFailed, UnhandledEvent
from pawl.runtime.fsm.session import Session
from pawl.runtime.fsm.snapshot import Deadline, SavedDeadline
from pawl.runtime.fsm.table import After, Kind, Machine, Resume, Row, Taken


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def machine(resume: Resume = Resume.DEADLINE, kind: Kind = Kind.PLAIN) -> Machine[Any, Any]:
    return build(
        Row("a", "go", "b"), Row("b", "expired", "c"), Row("b", "done", "a"), Row("b", "note", None),
        Row("b", "again", "b"),
        after={"b": After("patience", "expired", resume)}, kinds={"b": kind},
    )  # fmt: skip


def waiting(made: Machine[Any, Any] | None = None, **answers: object) -> tuple[Session[Any, Any, Probe], Clock]:
    clock = Clock()
    session = Session(made or machine(), Probe(**{"patience": 5, **answers}), clock=clock)
    session.start()
    session.send("go")
    return session, clock


def test_a_machine_with_timers_needs_a_clock() -> None:
    with pytest.raises(TypeError, match=r"probe has timers \(in b\): pass clock=, such as time.time"):
        Session(machine(), Probe())


def test_an_armed_timer_is_an_absolute_deadline_and_no_effect_for_the_host() -> None:
    clock = Clock()
    session = Session(build(*machine().rows, after={"b": After("patience", "expired")}, enter={"b": ("act",)}),
                      Probe(patience=5, act=lambda _payload: (Probe(patience=5), ("asked",))), clock=clock)  # fmt: skip
    session.start()
    assert session.send("go").effects == ("asked",)
    assert session.deadlines == {"b": Deadline("b", "expired", 1005.0, 5.0)}


def test_deadlines_cannot_be_changed_from_outside() -> None:
    session, _ = waiting()
    with pytest.raises(TypeError):
        session.deadlines["b"] = None  # type: ignore[index]


def test_leaving_disarms_staying_does_not_and_entering_again_starts_anew() -> None:
    session, clock = waiting()
    clock.now = 1003
    session.send("note")
    assert session.deadlines["b"].at == 1005
    session.send("again")
    assert session.deadlines["b"].at == 1008
    session.send("done")
    assert session.deadlines == {}


@pytest.mark.parametrize(("now", "fires"), [(1004.9, False), (1005.0, True), (2000.0, True)])
@pytest.mark.parametrize("by_clock", [True, False])
def test_a_timer_fires_at_its_deadline_and_not_before(now: float, fires: bool, by_clock: bool) -> None:
    session, clock = waiting()
    if by_clock:
        clock.now = now
    moment = None if by_clock else now
    assert len(session.due(moment)) == fires
    assert [step.state for step in session.fire_due(moment)] == ["c"] * fires
    assert session.fire_due(moment) == ()


def test_asking_what_is_due_fires_nothing() -> None:
    session, clock = waiting()
    clock.now = 1005
    assert session.due() == session.due() == (Deadline("b", "expired", 1005.0, 5.0),)
    assert session.state == "b"


def test_a_timer_fires_once_even_if_its_event_is_blocked() -> None:
    made = build(Row("a", "go", "b"), Row("b", "expired", "c", when=("p",)), after={"b": After("patience", "expired")})
    session, clock = waiting(made, p=False)
    clock.now = 1005
    (step,) = session.fire_due()
    assert step.taken is Taken.BLOCKED
    assert (session.deadlines, session.fire_due()) == ({}, ())


def test_a_timer_whose_event_is_refused_tells_the_host_and_is_spent() -> None:
    made = build(Row("a", "go", "b"), after={"b": After("patience", "expired")})
    session, clock = waiting(made)
    clock.now = 1005
    with pytest.raises(UnhandledEvent):
        session.fire_due()
    assert (session.alive, session.deadlines) == (True, {})


def test_a_timer_armed_while_firing_waits_for_the_next_call() -> None:
    made = build(Row("a", "go", "b"), Row("b", "expired", "b"), after={"b": After("patience", "expired")})
    session, clock = waiting(made, patience=0)
    assert len(session.fire_due()) == 1
    clock.now += 1
    assert len(session.fire_due()) == 1


def test_several_timers_fire_in_the_order_of_their_deadlines() -> None:
    made = build(
        Row("a", "early", None), Row("a", "late", None), Row("b", "early", None),
        after={"a": After("patience", "late"), "b": After("patience", "early")},
    )  # fmt: skip
    session = Session(made, Probe(patience=5), clock=Clock(0))
    session.start()
    session._deadlines = {"a": Deadline("a", "late", 9.0, 1.0), "b": Deadline("b", "early", 7.0, 1.0)}
    assert [deadline.at for deadline in session.due(9)] == [7.0, 9.0]
    assert [step.rows[0].event for step in session.fire_due(9)] == ["early", "late"]


def test_a_delay_of_none_holds_no_deadline() -> None:
    session, _ = waiting(patience=None)
    assert session.deadlines == {}


def test_a_session_in_error_has_no_deadlines() -> None:
    made = build(Row("a", "go", "b"), Row("b", "note", None, do=("act",)), after={"b": After("patience", "expired")})
    session, clock = waiting(made, act=Boom())
    with pytest.raises(StepFailed):
        session.send("note")
    clock.now = 1005
    assert (session.due(), session.fire_due()) == ((), ())


def test_a_wait_state_keeps_its_deadline_for_the_later_incarnation() -> None:
    session, clock = waiting(machine(kind=Kind.WAIT))
    assert not session.alive
    clock.now = 1005
    with pytest.raises(SessionEnded):
        session.fire_due()
    later = Session.restore(session.machine, session.snapshot(), Probe(), clock=clock)
    assert [step.state for step in later.fire_due()] == ["c"]


@pytest.mark.parametrize(
    ("resume", "at"), [(Resume.DEADLINE, 1005.0), (Resume.REMAINING, 5003.0), (Resume.RESTART, 5005.0)], ids=str
)
def test_a_restored_session_resumes_its_timer_as_the_state_says(resume: Resume, at: float) -> None:
    session, clock = waiting(machine(resume))
    clock.now = 1002
    snapshot = session.snapshot()
    assert snapshot.deadlines == (SavedDeadline("b", "expired", 1005.0, 5.0, 3.0),)
    clock.now = 5000
    later = Session.restore(session.machine, snapshot, Probe(), clock=clock)
    assert later.deadlines == {"b": Deadline("b", "expired", at, 5.0)}
    assert bool(later.due()) is (resume is Resume.DEADLINE)


def test_a_timer_that_has_fired_is_not_in_the_snapshot() -> None:
    session, clock = waiting(
        build(Row("a", "go", "b"), Row("b", "expired", None), after={"b": After("patience", "expired")})
    )
    clock.now = 1005
    session.fire_due()
    assert session.snapshot().deadlines == ()


def test_a_clock_that_fails_undoes_the_step() -> None:
    def clock() -> float:
        raise Boom

    session = Session(machine(), Probe(patience=5), clock=clock)
    session.start()
    with pytest.raises(Boom):
        session.send("go")
    assert (session.state, session.alive) == ("a", True)
