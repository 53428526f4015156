"""`pawl coverage`: the rows that nothing took, by where the spec writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pawl.tools.cli.compiling import Work, compile_specs
from pawl.tools.cli.output import Misuse, err, out
from pawl.tools.cli.project import project
from pawl.tools.cli.words import count, printable
from pawl.tools.compiler.model import RowModel
from pawl.tools.compiler.outline import fold_groups, guard_text, seen_target
from pawl.tools.coverage.counts import Counts, CoverageFileError, load
from pawl.tools.coverage.overlay import summary
from pawl.tools.coverage.tally import Tally, tally

SUFFIX = ".json"
_NEVER = "never"
_MOST = 20
"""How many rows that the spec does not have are told one by one."""


def coverage(given: Sequence[Path], at_least: float, written: bool, every: bool, json: bool) -> None:
    """Set the recordings among `given` against the specs among them, or the project's; 1 when a share is too small."""
    files = [path for path in given if path.suffix == SUFFIX]
    if not files:
        raise Misuse("no recording: name a coverage file (.json); `pytest -p pawl.tools.coverage.plugin` writes one")
    recorded = read(files)
    work = compile_specs([path for path in given if path.suffix != SUFFIX], project(), json)
    tallies = [tally(model, recorded, written) for model in work.machines]
    for found in tallies:
        if not json:
            _tell(found, every)
        _warn(found)
        if not found.reaches(at_least):
            work.fail(f"{found.model.name}: {found.percent:g} % of the rows were taken, and {at_least:g} are wanted")
    _strangers(work, recorded)
    work.end(machines=[_as_data(found) for found in tallies])


def read(files: Iterable[Path]) -> list[Counts]:
    """What coverage files say. Raises Misuse."""
    try:
        return [counts for path in files for counts in load(path)]
    except CoverageFileError as error:
        raise Misuse(printable(str(error))) from None


def _tell(found: Tally, every: bool) -> None:
    out(f"{found.model.name}: {summary(found)}", "green" if not found.never else "yellow")
    lines = []
    for at, rows in found.by_line().items():
        never = [row for row in rows if not found.rows[row]]
        if never or every:
            lines += _cells(found, f"{at.file}:{at.line}", rows, never)
    if lines:
        _table([("ROW", "TAKEN", "FROM", "ON"), *lines])
    unseen = [name for name, times in found.entered.items() if not times]
    if unseen:
        out(f"  never entered: {', '.join(unseen)}")


def _cells(found: Tally, place: str, rows: list[RowModel], never: list[RowModel]) -> list[tuple[str, ...]]:
    """One line for a row of the spec; a row that stands for many is told by those that nothing took."""
    taken = f"{len(rows) - len(never)} of {len(rows)}"
    if rows[0].expanded:
        barrier = next(state.inside for state in found.model.states if state.name == rows[0].source)
        return [(place, taken, f"{barrier}.*", "the protocol of its barrier")]
    if not never:
        taken = f"{sum(found.rows[row] for row in rows)}x"
    elif len(rows) == 1:
        taken = _NEVER
    return [(place, taken, _some(row.source for row in never or rows), _move(found, never or rows))]


def _move(found: Tally, rows: Sequence[RowModel]) -> str:
    events = fold_groups(found.model, [row.event for row in rows if row.event is not None])
    target = seen_target(found.model, rows[0])
    parts = (_some(events) or "at once", guard_text(rows[0]), "stays" if target is None else f"-> {target}")
    return " ".join(filter(None, parts))


def _some(names: Iterable[str]) -> str:
    """The first few of some names."""
    known = list(dict.fromkeys(names))
    return ", ".join(known[:2]) + (f" and {len(known) - 2} more" if len(known) > 2 else "")


def _table(lines: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for number, line in enumerate(lines):
        style = "bold" if number == 0 else "red" if line[1] == _NEVER else ""
        out("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(), style)


def _warn(found: Tally) -> None:
    name = found.model.name
    if not found.recorded:
        err(f"note: {name} is in none of the recordings")
    if found.elsewhere:
        err(f"note: some of what was recorded is of another version of {name}; rows are matched by what they say")
    for key in found.unknown[:_MOST]:
        where = f"{key.source} -- {key.event or '(automatic)'} --> {key.target or 'stays'}"
        err(f"note: {printable(where)} was taken, and {name} has no such row")
    if len(found.unknown) > _MOST:
        err(f"note: and {count(len(found.unknown) - _MOST, 'row')} more that {name} does not have")


def _strangers(work: Work, recorded: Sequence[Counts]) -> None:
    """A name in a recording that no spec has is a mistake when it is the only thing asked about."""
    known = {model.name for model in work.machines}
    others = sorted({each.machine for each in recorded} - known)
    if others and not known & {each.machine for each in recorded}:
        err(f"note: what was recorded is of {printable(', '.join(others[:5]))}, and the specs have none of these")


def _as_data(found: Tally) -> dict[str, Any]:
    return {
        "machine": found.model.name, "file": found.model.file, "spec_hash": found.model.spec_hash,
        "recorded": found.recorded, "other_version": found.elsewhere,
        "rows": len(found.rows), "taken": found.taken, "percent": found.percent,
        "states": {"all": len(found.entered), "never": [name for name, times in found.entered.items() if not times]},
        "never": [_row(row) for row in found.never],
        "unknown": [{"from": key.source, "on": key.event, "to": key.target} for key in found.unknown],
    }  # fmt: skip


def _row(row: RowModel) -> dict[str, Any]:
    return {
        "file": row.at.file, "line": row.at.line, "from": row.source, "on": row.event, "to": row.target,
        "when": list(row.when), "unless": list(row.unless), "protocol": row.expanded,
    }  # fmt: skip
