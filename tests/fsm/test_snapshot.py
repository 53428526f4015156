"""Snapshots: plain data that only the machine that wrote them reads back."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm.support import Probe, build
from pawl.runtime.fsm.errors import MalformedSnapshot, SnapshotMismatch, UnknownState
from pawl.runtime.fsm.session import Session
from pawl.runtime.fsm.snapshot import SavedDeadline, Snapshot
from pawl.runtime.fsm.table import After, Row

MACHINE = build(Row("a", "go", "b"), after={"b": After("patience", "expired"), "c": After("patience", "expired")})
SAVED = Snapshot("probe", 3, "f00d", "b", (SavedDeadline("b", "expired", 12.5, 5.0, 2.5),), 7)
WAY = ", or say in `migrations` of the spec where it goes on"
TEXT = st.text(max_size=8)
SECONDS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.builds(
    Snapshot, TEXT, st.integers(0), TEXT, TEXT,
    st.lists(st.builds(SavedDeadline, TEXT, TEXT, SECONDS, SECONDS, SECONDS), max_size=2).map(tuple), st.integers(0),
))  # fmt: skip
def test_a_snapshot_goes_through_json_and_comes_back(snapshot: Snapshot) -> None:
    assert Snapshot.from_dict(json.loads(json.dumps(snapshot.to_dict()))) == snapshot


def test_the_data_of_a_snapshot_is_this() -> None:
    assert SAVED.to_dict() == {
        "machine": "probe", "version": 3, "spec_hash": "f00d", "state": "b", "seq": 7,
        "deadlines": [{"state": "b", "event": "expired", "at": 12.5, "seconds": 5.0, "left": 2.5}],
    }  # fmt: skip


def test_a_snapshot_is_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        SAVED.seq = 8  # type: ignore[misc]


def test_a_session_is_restored_from_the_data_alone() -> None:
    session = Session(MACHINE, Probe(patience=5), clock=lambda: 10.0)
    session.start()
    session.send("go")
    data = json.loads(json.dumps(session.snapshot().to_dict()))
    later = Session.restore(MACHINE, Snapshot.from_dict(data), Probe(), clock=lambda: 11.0)
    assert (later.state, later.seq, later.deadlines) == (session.state, session.seq, session.deadlines)
    assert type(later.state) is type(session.state)


@pytest.mark.parametrize(("field", "value"), [("machine", "other"), ("version", 4), ("spec_hash", "beef")])
def test_a_snapshot_of_another_machine_version_or_spec_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(SnapshotMismatch) as caught:
        Session.restore(MACHINE, attrs.evolve(SAVED, **{field: value}), Probe(), clock=lambda: 0.0)
    assert caught.value.field == field
    assert str(caught.value) == (
        f"this snapshot has {field} {value!r}, but the machine has {getattr(SAVED, field)!r}; "
        f"restore it with the machine that wrote it{WAY if field != 'machine' else ''}"
    )


def test_a_snapshot_of_a_state_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownState, match="there is no state 'z'"):
        Session.restore(MACHINE, attrs.evolve(SAVED, state="z", deadlines=()), Probe(), clock=lambda: 0.0)


@pytest.mark.parametrize(("state", "event"), [("c", "expired"), ("a", "expired"), ("b", "go"), ("z", "expired")])
def test_a_timer_that_the_state_does_not_have_is_refused(state: str, event: str) -> None:
    snapshot = attrs.evolve(SAVED, deadlines=(SavedDeadline(state, event, 1.0, 1.0, 1.0),))
    with pytest.raises(
        MalformedSnapshot, match=rf"snapshot.deadlines\[0\]: state '{state}' has no timer for '{event}'"
    ):
        Session.restore(MACHINE, snapshot, Probe(), clock=lambda: 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machine": 3}, "snapshot.machine: expected a string, found 3"),
        ({"version": "3"}, "snapshot.version: expected a whole number from 0, found '3'"),
        ({"version": True}, "snapshot.version: expected a whole number from 0, found True"),
        ({"version": 3.0}, "snapshot.version: expected a whole number from 0, found 3.0"),
        ({"spec_hash": None}, "snapshot.spec_hash: expected a string, found None"),
        ({"state": ["b"]}, r"snapshot.state: expected a string, found \['b'\]"),
        ({"seq": -1}, "snapshot.seq: expected a whole number from 0, found -1"),
        ({"deadlines": {}}, "snapshot.deadlines: expected a list, found {}"),
        ({"deadlines": ["b"]}, r"snapshot.deadlines\[0\]: expected an object with state, event, at, seconds, left"),
        ({"deadlines": [{}]}, r"snapshot.deadlines\[0\]: lacks state, event, at, seconds, left"),
        ({"extra": 1}, "snapshot: has unknown extra"),
    ],
)
def test_data_that_is_no_snapshot_is_refused_and_the_place_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(MalformedSnapshot, match=f"^{message}.*; give the data that "):
        Snapshot.from_dict(SAVED.to_dict() | change)


@pytest.mark.parametrize("value", ["12", True, None, float("nan"), float("inf")], ids=repr)
@pytest.mark.parametrize("name", ["at", "seconds", "left"])
def test_a_deadline_is_a_finite_number_of_seconds(name: str, value: object) -> None:
    data: dict[str, Any] = SAVED.to_dict()
    data["deadlines"][0][name] = value
    with pytest.raises(
        MalformedSnapshot, match=rf"snapshot.deadlines\[0\].{name}: expected a number of seconds, found"
    ):
        Snapshot.from_dict(data)


@pytest.mark.parametrize("field", [field.name for field in attrs.fields(Snapshot)])
def test_a_snapshot_that_lacks_a_field_is_refused(field: str) -> None:
    data = SAVED.to_dict()
    del data[field]
    with pytest.raises(MalformedSnapshot, match=f"snapshot: lacks {field}; "):
        Snapshot.from_dict(data)


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_a_snapshot_is_an_object(data: object) -> None:
    with pytest.raises(MalformedSnapshot, match="snapshot: expected an object with machine, version, spec_hash, state"):
        Snapshot.from_dict(data)
