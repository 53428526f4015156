"""`pawl bench`: figures beside their limits, as a table or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from pawl.tools.bench.apart import apart
from pawl.tools.bench.figures import Figure, UnknownFigure, select
from pawl.tools.cli.output import Misuse, as_json, err, leave, out
from pawl.tools.cli.words import count

_COLUMNS = ("figure", "value", "limit", "unit", "holds")


def bench(names: Sequence[str], json: bool) -> None:
    """Measure the figures that `names` mean; leave with 1 when one does not hold. Raises Misuse."""
    try:
        wanted = select(names)
    except UnknownFigure as error:
        raise Misuse(str(error)) from None
    with apart() as measure:
        found = [_measured(name, measure) for name in wanted]
    if json:
        as_json({"figures": [_as_data(figure) for figure in found]})
    else:
        _table(found)
    wrong = sum(not figure.holds for figure in found)
    if wrong:
        err(f"{count(wrong, 'figure')} of {len(found)} outside the limit", "red")
        leave(1)


def _measured(name: str, measure: Callable[[str], Figure]) -> Figure:
    err(f"measuring {name} …", "dim")
    return measure(name)


def _as_data(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "value": figure.value,
        "limit": figure.limit,
        "unit": figure.unit,
        "holds": figure.holds,
        "note": figure.note,
    }


def _cells(figure: Figure) -> tuple[str, ...]:
    sign = "≤" if figure.direction == "at_most" else "≥"
    return (
        figure.name,
        f"{figure.value:.4g}",
        f"{sign} {figure.limit:g}",
        figure.unit,
        "yes" if figure.holds else "NO",
    )


def _table(found: Sequence[Figure]) -> None:
    if sys.stdout.isatty():
        _rich(found)
        return
    rows = [_COLUMNS, *(_cells(figure) for figure in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _rich(found: Sequence[Figure]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*_COLUMNS)
    for figure in found:
        table.add_row(*(Text(cell, "" if figure.holds else "bold red") for cell in _cells(figure)))
    Console().print(table)
