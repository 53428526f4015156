"""A session: what it keeps, when it ends, and who may speak to it when."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from fsm.support import Boom, Probe, build
from pawl.runtime.fsm.errors import (
    AlreadyStarted,
    AutomaticLoop,
    InvalidAction,
    InvalidGuard,
    MachineError,
    NotStarted,
    SessionBusy,
    SessionEnded,
    StepFailed,
    UnhandledEvent,
)
from pawl.runtime.fsm.session import Session
from pawl.runtime.fsm.step import Raise
from pawl.runtime.fsm.table import Kind, Machine, Row, Taken, Unhandled

MACHINE = build(
    Row("a", "go", "b", when=("p",), do=("act",)),
    Row("a", "note", None),
    Row("b", "end", "z"),
    Row("b", "stop", "h"),
    Row("b", "rest", "w"),
    Row("w", "go", "b"),
    Row("w", "turn", "w"),
    Row("w", "note", None),
    Row("h", "go", "b"),
    kinds={"z": Kind.FINAL, "h": Kind.HALT, "w": Kind.WAIT},
    unhandled={"late": Unhandled.STALE},
)


def started(machine: Machine[Any, Any] = MACHINE, **answers: object) -> Session[Any, Any, Probe]:
    session = Session(machine, Probe(**{"p": True, **answers}))
    session.start()
    return session


def test_a_new_session_stands_in_the_initial_state_and_is_not_started() -> None:
    session = Session(MACHINE, Probe())
    assert (session.state, session.seq, session.alive, session.failure) == ("a", 0, False, None)
    for question in (lambda: session.send("go"), session.snapshot):
        with pytest.raises(NotStarted, match=r"probe: this session has not been started; call start\(\) first, once"):
            question()


def test_start_enters_the_initial_state_once() -> None:
    machine = build(Row("a", "go", "b"), enter={"a": ("arrive",)})
    session = Session(machine, Probe())
    assert session.start("payload").state == "a"
    assert (session.context.calls, session.context.payloads, session.seq) == (["arrive"], ["payload"], 1)
    with pytest.raises(AlreadyStarted, match="stands in state 'a'; send it events"):
        session.start()
    assert session.alive


def test_send_moves_the_session_and_hands_the_effects_to_the_caller() -> None:
    after = Probe()
    session = started(act=lambda payload: (after, ("asked", payload)))
    step = session.send("go", 5)
    assert (session.state, session.context) == ("b", after) == (step.state, step.context)
    assert step.effects == ("asked", 5)


def test_seq_counts_the_steps_that_took_a_row() -> None:
    session = started()
    for event, taken in [("note", Taken.STAYED), ("late", Taken.STALE), ("go", Taken.MOVED)]:
        assert session.send(event).taken is taken
    assert session.seq == 3
    session = started(p=False)
    assert session.send("go").taken is Taken.BLOCKED
    assert session.seq == 1


def test_an_event_that_is_refused_leaves_the_session_untouched_and_alive() -> None:
    session = started()
    with pytest.raises(UnhandledEvent):
        session.send("end")
    assert (session.state, session.seq, session.alive) == ("a", 1, True)
    assert session.send("go").state == "b"


@pytest.mark.parametrize(
    ("event", "state", "reason"),
    [
        ("end", "z", "'z' is a final state"),
        ("stop", "h", "'h' is a halt state; to go on, restore a snapshot of it"),
        ("rest", "w", "'w' is a wait state; to go on, restore a snapshot of it"),
    ],
)
def test_a_session_ends_at_a_final_a_halt_and_a_wait_state(event: str, state: str, reason: str) -> None:
    session = started()
    session.send("go")
    session.send(event)
    assert not session.alive
    with pytest.raises(SessionEnded) as caught:
        session.send("go")
    assert str(caught.value) == f"probe: this session has ended in state '{state}': {reason}"
    assert (session.allowed(), session.can("go"), session.state) == ((), False, state)


def test_a_session_may_end_where_it_starts() -> None:
    session = Session(build(initial="z", kinds={"z": Kind.FINAL}), Probe())
    session.start()
    assert not session.alive


@pytest.mark.parametrize("state", ["w", "h"])
def test_a_later_incarnation_goes_on_from_where_the_earlier_rested(state: str) -> None:
    session = started()
    session.send("go")
    session.send({"w": "rest", "h": "stop"}[state])
    later = Session.restore(MACHINE, session.snapshot(), Probe())
    assert (later.state, later.seq, later.alive) == (state, 3, True)
    assert later.context.calls == []
    assert later.incarnation != session.incarnation
    assert later.send("go").state == "b"
    assert later.seq == 4


def test_a_restored_session_in_a_wait_state_ends_when_it_comes_to_rest_again_and_not_before() -> None:
    session = started()
    session.send("go")
    session.send("rest")
    later = Session.restore(MACHINE, session.snapshot(), Probe())
    later.send("note")
    later.send("late")
    assert later.alive
    later.send("turn")
    assert not later.alive


def test_a_session_restored_in_a_final_state_has_ended() -> None:
    session = started()
    session.send("go")
    session.send("end")
    later = Session.restore(MACHINE, session.snapshot(), Probe())
    with pytest.raises(SessionEnded, match=r"'z' is a final state$"):
        later.send("go")


def test_every_session_has_an_incarnation_of_its_own() -> None:
    assert len({Session(MACHINE, Probe()).incarnation for _ in range(50)}) == 50


def test_a_guard_that_raises_ends_the_session_in_error_where_it_was() -> None:
    session = started(p=Boom("no"))
    context = session.context
    with pytest.raises(StepFailed) as caught:
        session.send("go")
    assert (session.state, session.context, session.failure, session.alive) == ("a", context, caught.value, False)
    with pytest.raises(SessionEnded, match="ended in state 'a': in error: probe: 'p' raised Boom"):
        session.send("go")


def test_an_action_that_raises_ends_the_session_in_error_in_the_target_state() -> None:
    after = Probe(second=Boom())
    machine = build(Row("a", "go", "b", do=("first", "second")))
    session = started(machine, first=lambda _payload: (after, ("lost",)))
    with pytest.raises(StepFailed):
        session.send("go")
    assert (session.state, session.context, session.alive) == ("b", after, False)


def test_a_failure_with_a_way_out_is_an_ordinary_step() -> None:
    machine = build(Row("a", "go", "b", do=("act",)), error="e")
    session = started(machine, act=Boom())
    assert session.send("go").state == session.state == "e"
    assert session.alive


def test_a_session_that_fails_at_its_start_is_in_error() -> None:
    session = Session(build(enter={"a": ("act",)}), Probe(act=Boom()))
    with pytest.raises(StepFailed):
        session.start()
    with pytest.raises(SessionEnded):
        session.send("go")


@pytest.mark.parametrize(
    ("machine", "answers", "error"),
    [
        (build(Row("a", "go", "b", do=("act",)), error="e"), {"act": 5}, InvalidAction),
        (build(Row("a", "go", "b"), Row("b", None, "b"), kinds={"b": Kind.AUTO}, error="e"), {}, AutomaticLoop),
    ],
    ids=["action", "loop"],
)
def test_a_programming_error_undoes_the_step_and_ends_the_session(
    machine: Machine[Any, Any], answers: dict[str, object], error: type[MachineError]
) -> None:
    session = started(machine, **answers)
    with pytest.raises(error):
        session.send("go")
    assert (session.state, session.seq, session.alive) == ("a", 1, False)
    assert isinstance(session.failure, error)


def test_an_async_guard_ends_the_session_and_is_closed() -> None:
    async def answer(_payload: object) -> bool:
        return True

    session = started(p=answer)
    with pytest.raises(InvalidGuard):
        session.send("go")
    assert not session.alive


def test_an_interruption_undoes_the_step_and_leaves_the_session_alive() -> None:
    session = started(act=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        session.send("go")
    assert (session.state, session.alive) == ("a", True)


def test_an_action_cannot_send_to_its_own_session() -> None:
    session = started(act=lambda _payload: session.send("note"))
    with pytest.raises(StepFailed, match="'act' raised SessionBusy") as caught:
        session.send("go")
    assert isinstance(caught.value.error, SessionBusy)
    assert str(caught.value.error) == (
        "probe: 'note' was sent while another event is being taken in state 'a'; from an action return the effect "
        "Raise('note'), from elsewhere post it to the session's sink"
    )


@pytest.mark.parametrize("forbidden", ["snapshot", "close", "start"])
def test_an_action_cannot_save_close_or_start_its_own_session(forbidden: str) -> None:
    session = started(act=lambda _payload: getattr(session, forbidden)())
    with pytest.raises(StepFailed, match=r"raised SessionBusy|raised AlreadyStarted"):
        session.send("go")


def test_what_an_action_may_do_instead_is_raise_an_event() -> None:
    session = started(act=lambda _payload: (Probe(), (Raise("rest"),)))
    assert session.send("go").state == "w"
    assert not session.alive


def test_an_action_may_ask_its_session_and_drive_another_one() -> None:
    other = started()
    session = started(act=lambda _payload: (Probe(can=session.can("note")), (other.send("go").state,)))
    assert session.send("go").effects == ("b",)
    assert session.context.answers == {"can": True}


def test_can_explain_and_allowed_speak_of_the_state_the_session_is_in() -> None:
    session = started(p=False)
    assert session.allowed() == ("go", "note")
    assert (session.can("go"), session.can("note"), session.can("late")) == (False, True, False)
    assert str(session.explain("go")) == "line 0: a -> b: passed over (p is False)"
    assert session.seq == 1


def test_close_ends_the_incarnation_where_it_stands() -> None:
    session = started()
    session.close()
    session.close()
    with pytest.raises(SessionEnded, match="ended in state 'a': it was closed"):
        session.send("go")
    assert Session.restore(MACHINE, session.snapshot(), Probe(p=True)).send("go").state == "b"


def test_closing_a_session_in_error_does_not_make_it_whole() -> None:
    session = started(p=Boom())
    with pytest.raises(StepFailed):
        session.send("go")
    session.close()
    with pytest.raises(SessionEnded, match="in error"):
        session.snapshot()


def test_the_repr_says_where_the_session_stands() -> None:
    session = started()
    assert repr(session) == f"<Session probe #{session.incarnation} live in a after 1 steps>"


class Slots:
    __slots__ = ("owner", "total")

    def __init__(self) -> None:
        self.owner, self.total = None, 0


def test_an_idle_session_and_its_context_cost_no_more_than_400_bytes() -> None:
    def alive() -> Session[Any, Any, Slots]:
        session = Session(MACHINE, Slots())
        session.start()
        return session

    alive()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sessions = [alive() for _ in range(2_000)]
    cost = (tracemalloc.get_traced_memory()[0] - before) / len(sessions)
    tracemalloc.stop()
    assert cost <= 400
    assert not hasattr(sessions[0], "__dict__")


def test_a_session_that_could_not_be_made_can_be_shown() -> None:
    made: list[Session[Any, Any, Any]] = []

    class Seen(Session[Any, Any, Any]):
        def __init__(self, *arguments: Any) -> None:
            made.append(self)
            super().__init__(*arguments)

    with pytest.raises(AttributeError):
        Seen(None, None)

    assert repr(made[0]) == "<Session that could not be made>"
