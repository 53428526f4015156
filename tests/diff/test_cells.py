"""Rows of one cell: carried out, the changes make the new cell of the old one, and no more is told than happened."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from compiler.by_hand import row
from diff.patching import rearranged
from pawl.tools.compiler.model import RowModel
from pawl.tools.diff.cells import Change, changes, said

ROWS = st.lists(
    st.builds(
        lambda target, when, do: row("s", "e", target, when=when, do=do),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([(), ("g",), ("h",), ("g", "h")]),
        st.sampled_from([(), ("act",)]),
    ),
    max_size=7,
)

A, B, C = (row("s", "e", name, when=(f"is_{name}",)) for name in "abc")


def told(old: Sequence[RowModel], new: Sequence[RowModel]) -> list[tuple[Change, int | None, int | None]]:
    return [(each.change, each.old_place, each.new_place) for each in changes(old, new)]


@given(ROWS, ROWS)
def test_carried_out_they_make_the_new_cell(old: list[RowModel], new: list[RowModel]) -> None:
    assert [said(each) for each in rearranged(old, changes(old, new))] == [said(each) for each in new]


@given(ROWS)
def test_a_cell_as_it_was_has_no_change(rows: list[RowModel]) -> None:
    assert changes(rows, rows) == []


@given(ROWS, ROWS)
def test_each_row_is_told_once_at_most(old: list[RowModel], new: list[RowModel]) -> None:
    found = changes(old, new)

    for places in ([each.old_place for each in found], [each.new_place for each in found]):
        some = [place for place in places if place is not None]
        assert len(some) == len(set(some))


def test_a_new_row_in_front_moves_nothing() -> None:
    assert told([A, B], [C, A, B]) == [(Change.ADDED, None, 0)]


def test_a_row_that_went_to_the_end_is_the_only_one_that_moved() -> None:
    assert told([A, B, C], [B, C, A]) == [(Change.MOVED, 0, 2)]


def test_a_row_with_the_same_guards_is_the_same_row_changed() -> None:
    other = row("s", "e", "b", when=("is_a",), do=("note",))

    assert told([A, C], [other, C]) == [(Change.CHANGED, 0, 0)]


def test_a_row_that_does_the_same_on_other_guards_is_the_same_row_changed() -> None:
    other = row("s", "e", "a", unless=("is_c",))

    assert told([A, C], [other, C]) == [(Change.CHANGED, 0, 0)]


def test_a_row_may_be_changed_and_moved() -> None:
    other = row("s", "e", "a", when=("is_a",), do=("note",))

    (found,) = changes([A, B, C], [B, C, other])

    assert (found.change, found.moved, found.old_place, found.new_place) == (Change.CHANGED, True, 0, 2)


def test_the_order_of_guards_is_a_change_that_keeps_the_row() -> None:
    assert told([row("s", "e", "a", when=("x", "y"))], [row("s", "e", "a", when=("y", "x"))]) == [
        (Change.CHANGED, 0, 0)
    ]
