"""Doing to a machine what a difference says, for tests: what comes out must be the other machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from pawl.tools.compiler.model import MachineModel, RowModel
from pawl.tools.diff.cells import Cell, Change, RowChange, cells, said
from pawl.tools.diff.difference import Difference, Part

Content = tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[Cell, list[Any]]]


def content(model: MachineModel) -> Content:
    """What a machine means, without places and words."""
    return (
        {name: getattr(model, name) for name in ("name", "version", "context", "initial", "error")},
        {each.name: _meaning(each) for each in model.states},
        {each.name: _meaning(each) for each in model.events},
        {cell: [said(row) for row in rows] for cell, rows in cells(model.rows).items()},
    )


def patched(found: Difference) -> Content:
    """The old machine with every change carried out."""
    machine, states, events, _ = content(found.old)
    for field in found.machine:
        assert machine[field.name] == field.old
        machine[field.name] = field.new
    _patch(states, found.states, {each.name: _meaning(each) for each in found.new.states})
    _patch(events, found.events, {each.name: _meaning(each) for each in found.new.events})
    rows = cells(found.old.rows)
    by_cell: dict[Cell, list[RowChange]] = {}
    for each in found.rows:
        by_cell.setdefault(each.cell, []).append(each)
    for cell, changed in by_cell.items():
        rows[cell] = rearranged(rows.get(cell, []), changed)
    return machine, states, events, {cell: [said(row) for row in those] for cell, those in rows.items() if those}


def rearranged(rows: Sequence[RowModel], changed: Sequence[RowChange]) -> list[RowModel]:
    """One cell: first everything out that is somewhere else or gone, then in what has a new place, lowest first."""
    out = {each.old_place for each in changed}
    left = [row for place, row in enumerate(rows) if place not in out]
    for each in sorted((each for each in changed if each.new_place is not None), key=lambda each: each.new_place or 0):
        assert each.new is not None
        assert each.new_place is not None
        left.insert(each.new_place, each.new)
    return left


def _patch(things: dict[str, Any], parts: Sequence[Part], new: Mapping[str, Any]) -> None:
    for part in parts:
        match part.change:
            case Change.REMOVED:
                del things[part.name]
            case Change.ADDED:
                assert part.name not in things
                things[part.name] = new[part.name]
            case _:
                for field in part.fields:
                    assert things[part.name][field.name] == field.old
                    things[part.name][field.name] = field.new


def _meaning(each: Any) -> dict[str, Any]:
    silent = {"at", "doc", "label", "name"}
    return {f.name: getattr(each, f.name) for f in attrs.fields(type(each)) if f.name not in silent}
