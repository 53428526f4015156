"""Counts set against a spec: which rows were taken and which never, and which states were entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from pawl.tools.compiler.model import MachineModel, Position, RowModel
from pawl.tools.coverage.counts import Counts, RowKey


@attrs.frozen
class Tally:
    """The rows of `model` that count, each with how often it was taken; `entered` is the same for states.

    `unknown` rows were taken, and the spec does not have them (any more); `elsewhere`: some counts are of another
    version of the spec. `recorded`: there were counts of this machine at all.
    """

    model: MachineModel
    rows: Mapping[RowModel, int]
    entered: Mapping[str, int]
    unknown: tuple[RowKey, ...] = ()
    elsewhere: bool = False
    recorded: bool = True

    @property
    def never(self) -> list[RowModel]:
        """The rows that nothing took, in the order of the machine."""
        return [row for row, count in self.rows.items() if count == 0]

    @property
    def taken(self) -> int:
        """How many rows were taken at least once."""
        return sum(count > 0 for count in self.rows.values())

    @property
    def percent(self) -> float:
        """The share of rows taken, rounded down: 100 means all of them."""
        return self.taken * 1000 // len(self.rows) / 10 if self.rows else 100.0

    def reaches(self, percent: float) -> bool:
        """Whether at least that share of rows was taken."""
        return self.taken * 100 >= percent * len(self.rows)

    def by_line(self) -> dict[Position, list[RowModel]]:
        """The rows by where they are written, in file order: one line of a spec may stand for many."""
        found: dict[Position, list[RowModel]] = {}
        for row in sorted(self.rows, key=lambda row: (row.at.file, row.at.line, row.at.column)):
            found.setdefault(row.at, []).append(row)
        return found


def tally(model: MachineModel, recorded: Iterable[Counts], written: bool = False) -> Tally:
    """Add up what `recorded` says of `model`; with `written`, rows that a barrier's protocol adds do not count."""
    counts: Counter[RowKey] = Counter()
    started: Counter[str] = Counter()
    mine = [each for each in recorded if each.machine == model.name]
    for each in mine:
        counts.update(each.rows)
        started.update(each.started)
    keys = {_key(row): row for row in model.rows}
    names = {state.name for state in model.states}
    entered = Counter({state: count for state, count in started.items() if state in names})
    for key, count in counts.items():
        if key in keys and key.target is not None:
            entered[key.target] += count
    if counts.total() and not entered[model.initial]:
        entered[model.initial] = 1  # where else could it have begun
    return Tally(
        model=model,
        rows={row: counts[key] for key, row in keys.items() if not (written and row.expanded)},
        entered={state.name: entered[state.name] for state in model.states},
        unknown=tuple(sorted((key for key, count in counts.items() if count and key not in keys), key=str)),
        elsewhere=any(each.spec_hash not in (None, model.spec_hash) for each in mine),
        recorded=bool(mine),
    )


def _key(row: RowModel) -> RowKey:
    return RowKey(row.source, row.event, row.target, row.when, row.unless)
