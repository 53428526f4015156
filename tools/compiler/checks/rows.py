"""E08, E11, E12, W18: rows that are never taken, and events that nobody decided about."""

from __future__ import annotations

from collections.abc import Iterator

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Unhandled
from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.cover import Budget, Cube, contradicts, covering, cube, exhaustive
from pawl.tools.compiler.findings import line_of, listed, quoted
from pawl.tools.compiler.graph import Graph
from pawl.tools.compiler.model import Position, RowModel
from pawl.tools.compiler.scope import EVERY, Scope
from pawl.tools.compiler.spec import Name, RowSpec

_LOOK_BACK = 100
"""How many earlier rows of one (state, event) are weighed against a row."""


def dead_row(subject: Subject) -> Found:
    """E08: a row that is never taken, because earlier rows always are.

    A row that stands for several states through a group may be dead in some of them: a special case above a general
    rule is how exceptions are written. It is dead where it is named outright, or where it is dead everywhere.
    """
    budget = Budget()
    dead: dict[Position, dict[tuple[str, str | None], str]] = {}
    made: dict[Position, set[tuple[str, str | None]]] = {}
    for (state, event), rows in subject.graph.cells.items():
        for row in rows:
            if row.wildcard is not None:
                made.setdefault(row.at, set()).add((state, event))
        for row, why in _dead(subject.graph, state, event, rows, budget):
            dead.setdefault(row.at, {})[state, event] = why
    for spec in subject.spec.transitions:
        yield from _shadowed(spec, subject.scope, made.get(spec.at, set()))
        found = dead.get(spec.at)
        if found is None:
            continue
        everywhere = len(found) == len(_pairs(spec, subject.scope) | made.get(spec.at, set()))
        for pair in found if everywhere else [pair for pair in _named_outright(spec) if pair in found]:
            yield spec.at, f"{_pair(*pair)} is never decided by this row: {found[pair]}"


def _shadowed(spec: RowSpec, scope: Scope, made: set[tuple[str, str | None]]) -> Found:
    """A wildcard that gives no state a row."""
    given = {event for _, event in made}
    for name in spec.source:
        if scope.is_wildcard(name) and spec.event:
            missing = [event for event in scope.handled(spec.event) if event not in given]
            if missing:
                what = f"{listed(missing)} from {quoted(scope.spec.local(name))} is never decided by this row"
                yield spec.at, f"{what}: every state that can get it has rows that are always taken first; remove it"


def _dead(
    graph: Graph, state: str, event: str | None, rows: list[RowModel], budget: Budget
) -> Iterator[tuple[RowModel, str]]:
    if event not in (None, INTERNAL_ERROR) and not graph.waits(state) and graph.states[state].kind is Kind.AUTO:
        why = "the state never waits, its last automatic row has no guard; remove the row, or guard that one"
        yield from ((row, why) for row in rows)
        return
    cubes: list[Cube] = []
    for place, row in enumerate(rows):
        here = cube(row)
        first = max(0, place - _LOOK_BACK)
        earlier = covering(here, cubes[first:], budget)
        if contradicts(here):
            yield row, "it wants a guard to agree and to disagree; remove it, or one of the two"
        elif earlier is not None:
            which = _either(row.at, {rows[first + other].at for other in earlier})
            yield row, f"{which} is taken whenever this one would be; move this row up or remove it"
        cubes.append(here)


def _either(reader: Position, places: set[Position]) -> str:
    """`line 4`, `one of lines 4, 5`, or `one of a.yaml:4, b.yaml:5` for lines in other files."""
    ordered = sorted({(at.file, at.line): at for at in places}.items())
    lines = [line_of(at, reader) for _, at in ordered]
    if len(lines) == 1:
        return lines[0]
    return f"one of {', '.join(lines)}".replace(", line ", ", ").replace("one of line ", "one of lines ")


def undecided(subject: Subject) -> Found:
    """E11: an event that can arrive in a state, with no row there and in no `unhandled` list."""
    graph = subject.graph
    waiting = [state.name for state in subject.model.states if graph.waits(state.name)]
    for event in subject.model.events:
        if event.unhandled is None and event.name != INTERNAL_ERROR:
            missing = [name for name in waiting if event.name not in graph.events_of[name]]
            if missing:
                yield (
                    event.at,
                    f"{quoted(event.name)} is not decided in {listed(missing)}; add rows, or name it in one of the "
                    "`unhandled` lists",
                )
    for state in subject.spec.states.values():
        name, after = state.name.text, state.after
        if after is not None and graph.waits(name) and after.event.text not in graph.events_of[name]:
            yield (
                after.event.at,
                f"{quoted(after.event.text)} is due in {quoted(name)} and has no row there; add one, or remove the "
                "timer",
            )


def decided_twice(subject: Subject) -> Found:
    """E12: an event in two `unhandled` lists, or in one although every state that can get it has a row."""
    spec, scope, graph = subject.spec, subject.scope, subject.graph
    if spec.unhandled is None:
        return
    waiting = [state.name for state in subject.model.states if graph.waits(state.name)]
    seen: dict[str, tuple[Unhandled, Name]] = {}
    everywhere: Name | None = None
    for unhandled, names in spec.unhandled.lists():
        for name in names:
            if name.text == EVERY:
                if everywhere is not None:
                    where = line_of(everywhere.at, name.at)
                    yield name.at, f"'*' is in two lists, first in {where}; keep one"
                everywhere = everywhere or name
                continue
            events = scope.events_of(name.text)
            for event in events:
                before, other = seen.setdefault(event, (unhandled, name))
                if before is not unhandled:
                    yield (
                        name.at,
                        f"{quoted(event)} is in `{unhandled}` and, in {line_of(other.at, name.at)}, in `{before}`; "
                        "keep one",
                    )
            if name.at.via is not None:
                continue  # what a fragment says for whoever uses it, whether needed or not
            handled = [event for event in events if event == INTERNAL_ERROR or _handled(event, waiting, graph)]
            if events and len(handled) == len(events) and events != (INTERNAL_ERROR,) and waiting:
                yield (
                    name.at,
                    f"{quoted(name.text)} has a row in every state that can get it; remove it from `{unhandled}`",
                )


def no_last_row(subject: Subject) -> Found:
    """W18: guarded rows after which nothing is decided when every guard disagrees."""
    budget = Budget()
    found: dict[tuple[Position, str | None], list[str]] = {}
    for (state, event), rows in subject.graph.cells.items():
        if rows[-1].expanded or (event is None and subject.graph.events_of[state] - {INTERNAL_ERROR}):
            continue
        if exhaustive([cube(row) for row in rows], budget) is False:
            found.setdefault((rows[-1].at, event), []).append(state)
    for (at, event), states in found.items():
        what = f"{quoted(event)} in {listed(states)}" if event is not None else listed(states)
        yield at, f"nothing happens with {what} when every guard disagrees; add a last row without `when` and `unless`"


def _handled(event: str, waiting: list[str], graph: Graph) -> bool:
    return all(event in graph.events_of[name] for name in waiting)


def _pairs(row: RowSpec, scope: Scope) -> set[tuple[str, str | None]]:
    events: tuple[str | None, ...] = scope.handled(row.event) if row.event else (None,)
    return {(source, event) for source in scope.sources(row.source) for event in events}


def _named_outright(row: RowSpec) -> list[tuple[str, str | None]]:
    events: list[str | None] = [name.text for name in row.event] or [None]
    return [(source.text, event) for source in row.source for event in events]


def _pair(state: str, event: str | None) -> str:
    return f"{quoted(event)} in {quoted(state)}" if event is not None else quoted(state)
