"""Rows from `*`: one for each state that can get the event and has not decided it, after every other row.

A wildcard never applies to final states, nor to those that halt, nor inside of barriers: a write that is under way
is left by the answers of the store, or by a row that names the inner state. `PREFIX.*` is the same for the states of
one use of a fragment, and comes before those further out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind
from pawl.tools.compiler.cover import Budget, Cube, covering, cube
from pawl.tools.compiler.expand import redirected
from pawl.tools.compiler.model import RowModel, StateModel
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import RowSpec

Cells = dict[tuple[str, str | None], list[Cube]]


def add_wildcards(scope: Scope, states: Sequence[StateModel], by_state: dict[str, list[RowModel]]) -> None:
    """Append the rows from wildcards to those of each state, but for the ones that others are always taken before."""
    found = [(name.text, row) for row in scope.spec.transitions for name in row.source if scope.is_wildcard(name)]
    budget = Budget()
    for text in sorted(dict.fromkeys(text for text, _ in found), key=lambda text: -text.count(".")):
        fixed = _cells(by_state)  # rows of one wildcard are in order among themselves, whatever they leave over
        for each, row in found:
            if each == text:
                for made in _rows(row, text, scope, states, by_state):
                    if covering(cube(made), fixed.get((made.source, made.event), ()), budget) is None:
                        by_state[made.source].append(made)


def applies(state: StateModel, event: str, rows: Sequence[RowModel]) -> bool:
    """Whether a wildcard gives `state`, which has `rows` so far, a row on `event`."""
    if state.inside is not None or state.kind in (Kind.FINAL, Kind.HALT):
        return False
    rests = state.kind is not Kind.AUTO or not any(
        row.event is None and not row.when and not row.unless for row in rows
    )
    return rests or event == INTERNAL_ERROR


def _rows(
    row: RowSpec, text: str, scope: Scope, states: Sequence[StateModel], by_state: dict[str, list[RowModel]]
) -> Iterator[RowModel]:
    inside = text.removesuffix("*")
    for state in states:
        if not state.name.startswith(inside):
            continue
        for event in scope.handled(row.event):
            if applies(state, event, by_state[state.name]):
                made = RowModel(
                    source=state.name,
                    event=event,
                    target=row.target.text if row.target is not None else None,
                    at=row.at,
                    when=tuple(name.text for name in row.when),
                    unless=tuple(name.text for name in row.unless),
                    do=tuple(name.text for name in row.do),
                    wildcard=text,
                )
                yield redirected(made, scope)


def _cells(by_state: dict[str, list[RowModel]]) -> Cells:
    cells: Cells = {}
    for rows in by_state.values():
        for row in rows:
            cells.setdefault((row.source, row.event), []).append(cube(row))
    return cells
