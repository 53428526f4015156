"""Where things are on a page: an id for every state, event, name and line, and for every row and what draws it.

Ids are made of numbers and the name of the machine, never of other names of a spec.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from pawl.tools.compiler.model import MachineModel, Position, RowModel
from pawl.tools.compiler.outline import neighbours
from pawl.tools.compiler.picture import Picture


@attrs.frozen
class Anchors:
    """The ids of one machine's part of a page, all with `prefix` before them."""

    prefix: str
    states: Mapping[str, str]
    events: Mapping[str, str]
    names: Mapping[str, str]
    """Guards, actions and delays, by `kind/name`."""
    files: Mapping[str, str]
    groups: tuple[tuple[str, tuple[RowModel, ...]], ...]
    """Lines of the table of rows: rows of one state that differ in their event only, with an id."""
    rows: Mapping[RowModel, str]
    """Row to the id of its line."""
    drawn: Mapping[RowModel, tuple[str, ...]]
    """Row to the ids of the elements of the drawing that stand for it."""

    def line(self, at: Position) -> str | None:
        """The id of a line of the source; None where the source is not on the page."""
        return f"{self.files[at.file]}-L{at.line}" if at.file in self.files else None


def anchors(model: MachineModel, shown: Picture, files: Mapping[str, str]) -> Anchors:
    """Number everything of `model`; `shown` is its picture as drawn, `files` the ids of the sources on the page."""
    prefix = model.name
    named = [f"{kind}/{name}" for kind in ("guards", "actions", "delays") for name in getattr(model, kind)]
    by_source: dict[str, list[RowModel]] = {}
    for row in model.rows:
        by_source.setdefault(row.source, []).append(row)
    lines = [tuple(rows) for state in model.states for rows in neighbours(by_source.get(state.name, ())) if rows]
    groups = tuple((f"{prefix}-r{number}", rows) for number, rows in enumerate(lines))
    return Anchors(
        prefix=prefix,
        states={state.name: f"{prefix}-s{number}" for number, state in enumerate(model.states)},
        events={event.name: f"{prefix}-v{number}" for number, event in enumerate(model.events)},
        names={name: f"{prefix}-n{number}" for number, name in enumerate(named)},
        files=files,
        groups=groups,
        rows={row: name for name, rows in groups for row in rows},
        drawn=_drawn(f"{prefix}-d", shown),
    )


def _drawn(prefix: str, shown: Picture) -> dict[RowModel, tuple[str, ...]]:
    """The ids that `emit_dot` gives with this prefix."""
    found: dict[RowModel, tuple[str, ...]] = {}
    for number, node in enumerate(shown.nodes):
        for row in (*(row for line in node.stays for row in line.rows), *node.within):
            found[row] = (f"{prefix}-n{number}",)
    for number, shared in enumerate(shown.shared):
        for row in (row for lines, _ in shared.told for line in lines for row in line.rows):
            found[row] = (f"{prefix}-s{number}", f"{prefix}-s{number}-arrow")
    for number, edge in enumerate(shown.edges):
        for row in (row for line in edge.told for row in line.rows):
            found[row] = (f"{prefix}-e{number}",)
    return found
