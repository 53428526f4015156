"""What a diagram shows, before any syntax: nodes, and edges with their labels, made easy on the eye.

Rows between the same two states become one edge with one line a row. A barrier state is one node with a badge unless
the picture is expanded. What many states have in common (STOP leads to quiescing, from twelve of them) becomes one
note with one arrow instead of twelve arrows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind
from pawl.tools.compiler.model import MachineModel, RowModel, StateModel
from pawl.tools.compiler.outline import action_text, fold_groups, guard_text, outer, prepared

MANY = 4
"""How many states must share an edge before it is drawn once, from a note that lists them."""


Unit = tuple[str, str]
"""An event (or a group of them) and the guards and actions that go with it, as text."""


@attrs.frozen
class Node:
    """One state as drawn; `lines` is small print: entry actions, timer, rows that stay."""

    name: str
    title: str
    kind: Kind
    doc: str
    barrier: str | None
    effect: str | None
    lines: tuple[str, ...]
    inside: str | None = None


@attrs.frozen
class Edge:
    """One arrow; `quiet` edges are the usual ways out (stops, refusals) and are drawn in the background."""

    source: str
    target: str
    lines: tuple[str, ...]
    automatic: bool = False
    quiet: bool = False


@attrs.frozen
class Shared:
    """What many states have in common towards one target, drawn once: label lines, each with its sources."""

    target: str
    moves: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@attrs.frozen
class Picture:
    """A whole diagram of one machine."""

    name: str
    initial: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    shared: tuple[Shared, ...]


def picture(model: MachineModel, expand: bool = False) -> Picture:
    """Draw `model`; with `expand`, barriers are drawn with their inner states."""
    drawn = [state for state in model.states if expand or state.inside is None]
    arrows: dict[tuple[str, str, bool], list[RowModel]] = {}
    for row in model.rows:
        source, target = _seen(model, row.source, expand), _seen(model, row.target, expand)
        if target is None or source is None or (source == target and row.source != source):
            continue  # stays, or moves inside a barrier that is one node here
        arrows.setdefault((source, target, row.event is None), []).append(row)
    common = _common({key: _units(model, rows, expand) for key, rows in arrows.items()})
    edges = []
    for (source, target, automatic), rows in arrows.items():
        units = _units(model, rows, expand)
        own = [unit for unit in units if automatic or (target, unit) not in common]
        if own or not units:
            edges.append(Edge(source, target, _lines(own), automatic, all(_usual(model, row) for row in rows)))
    return Picture(
        name=model.name,
        initial=_seen(model, model.initial, expand) or model.initial,
        nodes=tuple(_node(model, state, expand) for state in drawn),
        edges=tuple(edges),
        shared=_shared(common),
    )


def _seen(model: MachineModel, name: str | None, expand: bool) -> str | None:
    return name if name is None or expand else outer(model, name)


def _node(model: MachineModel, state: StateModel, expand: bool) -> Node:
    lines = [f"enter {action_text(state.enter)}"] if state.enter else []
    if state.after is not None:
        lines.append(f"after {state.after.delay}: {state.after.event}")
    stays = [row for row in model.rows_of(state.name) if row.target is None]
    lines.extend(_lines(_units(model, stays, expand)))
    return Node(
        name=state.name,
        title=state.label or state.name,
        kind=state.kind,
        doc=state.doc,
        barrier=state.barrier,
        effect=state.effect,
        lines=tuple(lines),
        inside=state.inside,
    )


def _units(model: MachineModel, rows: Sequence[RowModel], expand: bool) -> list[Unit]:
    """What the rows of an edge say, piece by piece; whole groups of events by their name."""
    told: dict[str, list[str]] = {}
    brief: list[str] = []
    for row in rows:
        guards = guard_text(row)
        if row.expanded and not expand:
            # The protocol of a barrier in brief: why it is left, not by which answer of the store.
            brief.append(guards or row.event or "")
        else:
            actions = action_text([name for name in row.do if expand or name != prepared(model, row)])
            told.setdefault(" ".join(filter(None, (guards, actions))), []).append(row.event or "")
    units = [(name, tail) for tail, events in told.items() for name in fold_groups(model, events)]
    return list(dict.fromkeys((*units, *((name, "") for name in fold_groups(model, brief)))))


def _lines(units: Iterable[Unit]) -> tuple[str, ...]:
    """One line for each condition and action, with all events that share it."""
    told: dict[str, list[str]] = {}
    for name, tail in units:
        told.setdefault(tail, []).append(name)
    lines = (" ".join(filter(None, (", ".join(filter(None, names)), tail))) for tail, names in told.items())
    return tuple(filter(None, lines))


def _usual(model: MachineModel, row: RowModel) -> bool:
    """A way out that nearly every state has: a barrier's own, an internal error, or a member of an event group."""
    grouped = any(row.event in names for names in model.groups.values() if row.event is not None)
    return row.expanded or grouped or row.event == INTERNAL_ERROR


def _common(edges: dict[tuple[str, str, bool], list[Unit]]) -> dict[tuple[str, Unit], list[str]]:
    """What MANY states have towards one target, and which states: (target, unit) to sources."""
    sources: dict[tuple[str, Unit], list[str]] = {}
    for (source, target, automatic), units in edges.items():
        for unit in units:
            if not automatic:
                sources.setdefault((target, unit), []).append(source)
    return {key: found for key, found in sources.items() if len(found) >= MANY}


def _shared(common: dict[tuple[str, Unit], list[str]]) -> tuple[Shared, ...]:
    notes: dict[str, dict[tuple[str, ...], list[Unit]]] = {}
    for (target, unit), sources in common.items():
        notes.setdefault(target, {}).setdefault(tuple(sources), []).append(unit)
    return tuple(
        Shared(target, tuple((_lines(units), sources) for sources, units in moves.items()))
        for target, moves in notes.items()
    )
