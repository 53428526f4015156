"""Coverage on the picture of a machine: what was taken, how often, and what never was."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pawl.tools.compiler.model import RowModel
from pawl.tools.compiler.outline import outer
from pawl.tools.compiler.paint import Brush, Paint
from pawl.tools.coverage.tally import Tally

_BRUSHES = {
    "taken": Brush("#1b6e45", "#e7f5ec", "taken, and how often"),
    "never": Brush("#c2410c", "#fdeee6", "never"),
    "some": Brush("#8a6d1b", "#fbf6e3", "some rows taken"),
}


def paint(tally: Tally, expand: bool = False) -> Paint:
    """The overlay for a picture that is drawn with the same `expand`."""

    def tone(row: RowModel) -> str:
        return "taken" if tally.rows.get(row, 0) else "never"

    def times(rows: Sequence[RowModel]) -> int:
        return sum(tally.rows.get(row, 0) for row in rows)

    def count(rows: Sequence[RowModel]) -> str:
        return f"\u00d7{times(rows)}" if times(rows) else "\u2013 never"

    def inside(rows: Sequence[RowModel]) -> str:
        known = [row for row in rows if row in tally.rows]
        taken = sum(tally.rows[row] > 0 for row in known)
        return f"inside: {taken} of {len(known)} rows taken" if known else ""

    entered = {name if expand else outer(tally.model, name) for name, times in tally.entered.items() if times}
    return Paint(
        title=summary(tally),
        brushes=_BRUSHES,
        tone=tone,
        states={state.name: "taken" if state.name in entered else "never" for state in tally.model.states},
        plain="never",
        mixed="some",
        count=count,
        inside=inside,
        width=lambda rows: min(4.0, 1.2 + 0.6 * math.log10(times(rows) + 1)),
    )


def summary(tally: Tally) -> str:
    """`12 of 14 rows taken, 85.7 %; 7 of 8 states entered`."""
    entered = sum(times > 0 for times in tally.entered.values())
    rows = f"{tally.taken} of {len(tally.rows)} rows taken, {tally.percent:g} %"
    return f"{rows}; {entered} of {len(tally.entered)} states entered"
