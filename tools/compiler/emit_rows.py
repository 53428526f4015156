"""Every row of a machine as it was compiled, one a line: groups, wildcards, fragments, barriers written out."""

from __future__ import annotations

from typing import Any

from pawl.tools.compiler.model import MachineModel, RowModel
from pawl.tools.compiler.outline import action_text, guard_text


def emit_rows(model: MachineModel) -> str:
    """Lines `state  event  [guards]  -> target  / actions  where it is written`, in columns, in table order."""
    lines = [(*_cells(row), origin(model, row)) for row in model.rows]
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(5)]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, (*widths, 0), strict=True)) for line in lines]
    return "".join(f"{line.rstrip()}\n" for line in padded)


def rows_data(model: MachineModel) -> list[dict[str, Any]]:
    """The same as plain data; places are `file:line:column`."""
    return [
        {
            "from": row.source,
            "on": row.event,
            "to": row.target,
            "when": list(row.when),
            "unless": list(row.unless),
            "do": list(row.do),
            "at": str(row.at),
            "used_in": [str(at) for at in row.at.uses],
            "wildcard": row.wildcard,
            "barrier": _barrier(model, row),
        }
        for row in model.rows
    ]


def origin(model: MachineModel, row: RowModel) -> str:
    """Where a row comes from: `order.yaml:12`, and in brackets what made it of what is written there."""
    barrier = _barrier(model, row)
    made = [f"used in {at.file}:{at.line}" for at in row.at.uses]
    made += [f"from {row.wildcard}"] * (row.wildcard is not None)
    made += [f"barrier {barrier}"] * (barrier is not None)
    return f"{row.at.file}:{row.at.line}" + (f" ({', '.join(made)})" if made else "")


def _cells(row: RowModel) -> tuple[str, ...]:
    return (
        row.source,
        row.event if row.event is not None else "-",
        guard_text(row),
        f"-> {row.target}" if row.target is not None else "stay",
        action_text(row.do),
    )


def _barrier(model: MachineModel, row: RowModel) -> str | None:
    """The barrier whose protocol the row is of."""
    if not row.expanded:
        return None
    hosts = {state.name: state for state in model.states}
    inside = hosts[row.source].inside
    return hosts[inside].barrier if inside is not None else None
