"""A machine of one's own through three versions: what the first ones saved goes on, elsewhere, or not at all."""

from __future__ import annotations

import json
from typing import Any, Self

import attrs
import pytest

from pawl import Session, Snapshot, SnapshotMismatch
from pawl.runtime.fsm.errors import InvalidMachine, MalformedSnapshot
from pawl.runtime.fsm.table import Machine, Migration
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.verify import verify

FIRST = """\
pawl: 1
machine: order
version: 1
states:
  cart:      {initial: true}
  paying:    {after: {delay: patience, on: late}}
  packing:   {enter: [pack], after: {delay: patience, on: late}}
  reviewing: {wait: true}
  odd:       {halt: true}
  sent:      {final: true, outcome: sent}
events: {checkout: {}, paid: {}, doubt: {}, packed: {}, late: {}, cancel: {}}
transitions:
  - {from: cart, on: checkout, to: paying}
  - {from: paying, on: paid, to: packing}
  - {from: paying, on: doubt, to: reviewing}
  - {from: paying, on: [late, cancel], to: odd}
  - {from: packing, on: packed, to: sent}
  - {from: packing, on: [late, cancel], to: odd}
  - {from: reviewing, on: paid, to: packing}
  - {from: [cart, reviewing], on: cancel, to: odd}
unhandled: {refuse: "*"}
"""


def later(text: str, number: int, *changes: tuple[str, str], migrations: str = "") -> str:
    for old, new in (("version: 1", f"version: {number}"), *changes):
        assert old in text
        text = text.replace(old, new)
    return f"{text}migrations:\n{migrations}" if migrations else text


def made(text: str) -> Machine[Any, Any]:
    compiled = compile_text(text)
    assert [str(finding) for finding in compiled.findings] == []
    return verify(compiled.machines[0], emit_python(compiled.machines[0]))


RENAMED = (("packing", "boxing"), ("reviewing", "held"))
ONE = made(FIRST)
TO_TWO = "compatible: true, states: {packing: boxing}, waits: {reviewing: held}"
TWO = made(later(FIRST, 2, *RENAMED, migrations=f"  - {{from: {ONE.spec_hash[:12]}, version: 1, {TO_TWO}}}\n"))
THREE = made(
    later(
        FIRST, 3, *RENAMED, ("on: late}}\n  boxing", "on: overdue}}\n  boxing"), ("late: {}", "late: {}, overdue: {}"),
        ("from: paying, on: [late, cancel]", "from: paying, on: [overdue, cancel]"),
        ("{enter: [pack], after: {delay: patience, on: late}}", "{enter: [pack]}"),
        ("  - {from: boxing, on: [late, cancel], to: odd}", "  - {from: boxing, on: cancel, to: odd}\n"
         "  - {from: held, on: late, to: odd}"),
        ("held: {wait: true}", "held: {wait: true, after: {delay: patience, on: late}}"),
        migrations=f"  - {{from: {ONE.spec_hash[:12]}, version: 1, to: {TWO.spec_hash[:12]}, {TO_TWO}}}\n"
        f"  - {{from: {TWO.spec_hash[:16]}, version: 2, compatible: true, refuse: [cart]}}\n",
    )
)  # fmt: skip


@attrs.frozen
class Order:
    packed: int = 0
    patience_asked: bool = False

    def patience(self) -> float:
        return 60.0

    def pack(self, payload: object) -> tuple[Self, tuple[object, ...]]:
        return attrs.evolve(self, packed=self.packed + 1), ()


def saved(machine: Machine[Any, Any], *events: str) -> Snapshot:
    """What a session has stored after these events, 10 seconds after it entered its state."""
    clock = iter([100.0] * len(events) + [110.0])
    session = Session(machine, Order(), clock=lambda: next(clock))
    session.start()
    for event in events:
        session.send(event)
    return Snapshot.from_dict(json.loads(json.dumps(session.snapshot().to_dict())))


def restored(machine: Machine[Any, Any], snapshot: Snapshot, now: float = 120.0) -> Session[Any, Any, Order]:
    return Session.restore(machine, snapshot, Order(), clock=lambda: now)


EVENTS = {
    "cart": (), "paying": ("checkout",), "packing": ("checkout", "paid"), "reviewing": ("checkout", "doubt"),
    "odd": ("checkout", "cancel"), "sent": ("checkout", "paid", "packed"),
}  # fmt: skip
NAMES = {"packing": "boxing", "reviewing": "held"}


@pytest.mark.parametrize("state", EVENTS)
def test_the_second_version_goes_on_with_what_the_first_has_saved(state: str) -> None:
    session = restored(TWO, saved(ONE, *EVENTS[state]))

    assert str(session.state) == NAMES.get(state, state)
    assert type(session.state) is type(TWO.initial)
    assert session.seq == 1 + len(EVENTS[state])
    assert session.context == Order()  # no entry action has run again
    assert session.alive is (state != "sent")
    again = session.snapshot()
    assert (again.version, again.spec_hash) == (2, TWO.spec_hash)
    assert restored(TWO, again).state == session.state


@pytest.mark.parametrize("machine", [TWO, THREE], ids=["second", "third"])
@pytest.mark.parametrize("state", ["paying", "packing", "reviewing"])
def test_a_session_of_the_first_version_comes_to_its_end_in_later_ones(machine: Machine[Any, Any], state: str) -> None:
    session = restored(machine, saved(ONE, *EVENTS[state]))

    for event in ("paid", "packed")[state == "packing" :]:
        session.send(event)

    assert str(session.state) == "sent"


def test_the_third_version_says_for_each_state_of_both_where_it_goes_on() -> None:
    for state, events in EVENTS.items():
        second = saved(TWO, *events)
        assert second.state == NAMES.get(state, state)
        for snapshot in (saved(ONE, *events), second):
            if state == "cart":
                with pytest.raises(SnapshotMismatch) as caught:
                    restored(THREE, snapshot)
                assert (caught.value.field, caught.value.found) == ("state", "cart")
                assert "order version 3 takes over no session from there" in str(caught.value)
            else:
                assert str(restored(THREE, snapshot).state) == second.state


def test_what_is_refused_is_untouched_and_goes_on_where_it_was_saved() -> None:
    snapshot = saved(ONE)
    before = snapshot.to_dict()

    with pytest.raises(SnapshotMismatch):
        restored(THREE, snapshot)

    assert snapshot.to_dict() == before
    assert str(restored(ONE, snapshot).state) == "cart"


def test_an_earlier_version_refuses_what_a_later_one_has_saved() -> None:
    for machine, snapshot in ((ONE, saved(TWO)), (ONE, saved(THREE)), (TWO, saved(THREE))):
        with pytest.raises(SnapshotMismatch) as caught:
            restored(machine, snapshot)
        assert caught.value.field == "version"


def test_a_timer_runs_on_until_the_same_moment_as_that_of_the_state_where_it_is_now() -> None:
    (timer,) = restored(TWO, saved(ONE, *EVENTS["packing"])).due(160.0)
    assert (timer.state, timer.event, timer.at) == ("boxing", "late", 160.0)

    (timer,) = restored(THREE, saved(ONE, *EVENTS["paying"])).due(160.0)
    assert (timer.state, timer.event, timer.at) == ("paying", "overdue", 160.0)
    session = restored(THREE, saved(TWO, *EVENTS["paying"]), now=161.0)
    session.fire_due()
    assert str(session.state) == "odd"


def test_a_timer_that_is_no_more_ends_and_a_new_one_begins_when_its_state_is_entered() -> None:
    assert restored(THREE, saved(ONE, *EVENTS["packing"])).deadlines == {}
    assert restored(THREE, saved(TWO, *EVENTS["reviewing"])).deadlines == {}
    entered = Session(THREE, Order(), clock=lambda: 0.0)
    entered.start()
    entered.send("checkout")
    entered.send("doubt")
    assert set(entered.deadlines) == {"held"}


def test_a_timer_that_the_state_never_had_is_no_timer_in_another_version_either() -> None:
    snapshot = saved(ONE, *EVENTS["paying"])
    (timer,) = snapshot.deadlines
    wrong = attrs.evolve(snapshot, deadlines=(attrs.evolve(timer, state="packing"),))

    with pytest.raises(MalformedSnapshot, match="state 'packing' has no timer for 'late' that runs in state 'paying'"):
        restored(TWO, wrong)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"spec_hash": "f" * 64}, "version"), ({"machine": "cart"}, "machine"), ({"version": 2}, "version"),
     ({"state": "elsewhere"}, "state"), ({"state": ""}, "state"), ({"state": "packing.retrying"}, "state"),
     ({"spec_hash": ""}, "version")],
)  # fmt: skip
def test_only_what_the_spec_speaks_of_is_taken_over(change: dict[str, Any], field: str) -> None:
    snapshot = attrs.evolve(saved(ONE), **change)
    with pytest.raises(SnapshotMismatch) as caught:
        restored(TWO, snapshot)
    assert caught.value.field == field


def test_a_version_that_does_not_fit_its_hash_is_told() -> None:
    with pytest.raises(SnapshotMismatch, match="has version 7, but `migrations` says 1 of its hash"):
        restored(TWO, attrs.evolve(saved(ONE), version=7))


def test_stored_snapshots_can_be_brought_up_to_date_without_a_session() -> None:
    old = saved(ONE, *EVENTS["packing"])
    new = old.migrated(TWO)

    assert (new.version, new.spec_hash, new.state, new.seq) == (2, TWO.spec_hash, "boxing", old.seq)
    assert [(timer.state, timer.at, timer.left) for timer in new.deadlines] == [("boxing", 160.0, 50.0)]
    assert new.migrated(TWO) is new
    assert new.migrated(ONE) is new  # nothing is said about it there, and restoring it says so
    with pytest.raises(SnapshotMismatch):
        restored(ONE, new)


def test_a_migration_to_a_state_that_does_not_exist_is_no_machine() -> None:
    with pytest.raises(InvalidMachine, match="the migration from 0123456789ab leads 'a' to 'b', which is not a state"):
        attrs.evolve(ONE, migrations=(Migration("0123456789ab", 1, states=(("a", "b"),)),))
