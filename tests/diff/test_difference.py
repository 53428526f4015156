"""A difference names every part that means something else now, and nothing that means the same."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.by_hand import order
from compiler.golden import CASES, model_of
from compiler.specs import DOOR, WRITER, compiled, model
from diff.patching import content, patched
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.model import MachineModel, Position
from pawl.tools.diff.cells import Change
from pawl.tools.diff.difference import Field, difference


def parts(old: MachineModel, new: MachineModel, **renames: str) -> list[str]:
    """`change what name fields` of everything that is different."""
    found = difference(old, new, renames)
    told = [f"machine {field.name}" for field in found.machine]
    for what, those in (("state", found.states), ("event", found.events)):
        told += [f"{each.change} {what} {each.name} {' '.join(f.name for f in each.fields)}".strip() for each in those]
    told += [f"{each.change} row {each.row.source} {each.row.event}" for each in found.rows]
    for kind, (added, removed) in found.names.items():
        told += [f"added {kind} {name}" for name in added] + [f"removed {kind} {name}" for name in removed]
    return told


@pytest.mark.parametrize("case", CASES)
def test_a_machine_does_not_differ_from_itself(case: str) -> None:
    assert difference(model_of(case), model_of(case)).empty


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(CASES))
def test_carried_out_it_makes_the_new_machine_of_the_old_one(one: str, other: str) -> None:
    assert patched(difference(model_of(one), model_of(other))) == content(model_of(other))


def test_words_and_places_are_no_difference() -> None:
    old = model(DOOR)
    new = attrs.evolve(
        old,
        doc="another",
        spec_hash="1" * 64,
        states=tuple(attrs.evolve(each, doc="x", label="y", at=Position("o", 9, 9)) for each in reversed(old.states)),
        rows=tuple(attrs.evolve(each, at=Position("o", 9, 9)) for each in old.rows),
    )

    assert difference(old, new).empty


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", ["machine version"]),
        ("closed: {initial: true}\n  open: {}", "closed: {}\n  open: {initial: true}", ["machine initial"]),
        ("open: {}", "open: {wait: true}", ["changed state open kind"]),
        ("open: {}", "open: {enter: [ring]}", ["changed state open enter", "added actions ring"]),
        ("push: {}", 'push: {payload: "builtins:str"}', ["changed event push payload"]),
        ("[push, pull]}", "[push], stale: [pull]}", ["changed event pull unhandled"]),
        ("on: push, to: open}", "on: push, to: open, when: dry}", ["changed row closed push", "added guards dry"]),
        ("on: pull, to: closed}", "on: pull, to: gone}", ["changed row open pull"]),
        (
            "[closed, open], on: demolish, to: gone}\nunhandled: {",
            "[closed], on: demolish, to: gone}\nunhandled: {stale: [demolish], ",
            ["changed event demolish unhandled", "removed row open demolish"],
        ),
    ],
)
def test_what_is_otherwise_is_named(old: str, new: str, told: list[str]) -> None:
    before, after = compiled(DOOR).machines[0], compiled(DOOR, (old, new)).machines

    if not after:  # the other rules have their say, too
        pytest.fail(str(compiled(DOOR, (old, new)).errors))
    assert parts(before, after[0]) == told


def test_a_state_takes_its_rows_along_when_it_goes() -> None:
    old = order()
    new = attrs.evolve(
        old,
        states=tuple(each for each in old.states if each.name != "on_hold"),
        rows=tuple(each for each in old.rows if "on_hold" not in (each.source, each.target)),
    )

    assert parts(old, new) == [
        "removed state on_hold", "removed row checking None", "removed row packing cancel",
        "removed row on_hold packed", "removed row on_hold cancel",
    ]  # fmt: skip


def test_a_barrier_that_is_new_brings_its_states_and_rows() -> None:
    new = model(WRITER)
    plain = WRITER.replace("barrier: write, refused: failed, stop: stopped, unwritten: withdrawn", "")
    old = compiled(plain.replace("barriers: {stop: STOP, lost: evicted, conflict: unclear, superseded: lost}\n", ""))
    found = difference(old.machines[0], new)

    inner = [part for part in found.states if part.inside == "writing"]
    assert [part.change for part in inner] == [Change.ADDED] * 4
    assert Field("barrier", None, "write") in next(part for part in found.states if part.name == "writing").fields
    assert patched(found) == content(new)


def test_a_renamed_state_is_the_same_state() -> None:
    old = model(WRITER)
    new = model(WRITER.replace("writing", "noting"))

    assert parts(old, new, writing="noting") == []
    assert "removed state writing" in parts(old, new)


@pytest.mark.parametrize(
    ("renames", "message"),
    [({"wrting": "x"}, "has no state 'wrting' to rename; it has"), ({"idle": "done"}, "would have one name")],
)
def test_a_rename_that_cannot_be_is_refused(renames: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        difference(model(WRITER), model(WRITER), renames)


def test_a_kind_is_told_with_both_values() -> None:
    old = order()
    new = attrs.evolve(
        old, states=tuple(attrs.evolve(s, kind=Kind.WAIT) if s.name == "packing" else s for s in old.states)
    )

    assert difference(old, new).states[0].fields == (Field("kind", Kind.PLAIN, Kind.WAIT),)
