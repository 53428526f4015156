"""Rows of one state and event, before and after: which are the same, changed, moved, new or gone.

Only the order within such a cell means anything, so rows are compared cell by cell. Rows are the same row when they
are equal; else when they ask the same guards; else when they do the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import StrEnum

import attrs

from pawl.tools.compiler.model import RowModel


class Change(StrEnum):
    """What happened to something between two versions."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    """A row that says what it said, in another order."""


Cell = tuple[str, str | None]
"""A state and an event, None for automatic rows."""


@attrs.frozen
class RowChange:
    """One row that is different; places count the rows of the cell from 0, in the old and in the new order.

    Taking the old rows out that have an `old_place`, and then putting the new ones in at their `new_place`, lowest
    first, makes the new cell of the old one.
    """

    change: Change
    old: RowModel | None
    new: RowModel | None
    old_place: int | None
    new_place: int | None
    moved: bool = False

    @property
    def row(self) -> RowModel:
        """The row as it is now, or as it was."""
        row = self.new or self.old
        assert row is not None
        return row

    @property
    def cell(self) -> Cell:
        """Where it is."""
        return self.row.source, self.row.event


def cells(rows: Iterable[RowModel]) -> dict[Cell, list[RowModel]]:
    """The rows of each state and event, in order."""
    found: dict[Cell, list[RowModel]] = {}
    for row in rows:
        found.setdefault((row.source, row.event), []).append(row)
    return found


def changes(old: Sequence[RowModel], new: Sequence[RowModel]) -> list[RowChange]:
    """What is different in one cell: what is gone, in the old order, then the rest in the new order."""
    pairs = _pairs(old, new)
    after = {there: here for here, there in pairs.items()}
    kept = _rising([pairs[place] for place in sorted(pairs)])
    found = [RowChange(Change.REMOVED, row, None, place, None) for place, row in enumerate(old) if place not in pairs]
    for place, row in enumerate(new):
        if place not in after:
            found.append(RowChange(Change.ADDED, None, row, None, place))
            continue
        before, moved = old[after[place]], place not in kept
        if said(before) != said(row):
            found.append(RowChange(Change.CHANGED, before, row, after[place], place, moved))
        elif moved:
            found.append(RowChange(Change.MOVED, before, row, after[place], place, moved))
    return found


def said(row: RowModel) -> tuple[object, ...]:
    """What a row means within its cell."""
    return row.when, row.unless, row.target, row.do


def _pairs(old: Sequence[RowModel], new: Sequence[RowModel]) -> dict[int, int]:
    """Old place to new place of what is taken for the same row."""
    pairs: dict[int, int] = {}
    used: set[int] = set()
    alike: tuple[Callable[[RowModel], Hashable], ...] = (
        said,
        lambda row: (frozenset(row.when), frozenset(row.unless)),
        lambda row: (row.target, row.do),
        lambda row: row.target,
    )
    for key in alike:
        free: dict[Hashable, list[int]] = {}
        for place, row in enumerate(new):
            if place not in used:
                free.setdefault(key(row), []).append(place)
        for place, row in enumerate(old):
            if place not in pairs and free.get(key(row)):
                pairs[place] = free[key(row)].pop(0)
                used.add(pairs[place])
    return pairs


def _rising(places: Sequence[int]) -> set[int]:
    """The longest run of places that are in order already; only the others have moved."""
    tails: list[int] = []
    at: list[int] = []
    before: list[int | None] = []
    for index, place in enumerate(places):
        length = bisect_left(tails, place)
        before.append(at[length - 1] if length else None)
        tails[length : length + 1] = [place]
        at[length : length + 1] = [index]
    kept: set[int] = set()
    step = at[-1] if at else None
    while step is not None:
        kept.add(places[step])
        step = before[step]
    return kept
