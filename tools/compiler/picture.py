"""What a diagram shows, before any syntax: nodes, and edges with their labels, made easy on the eye.

Rows between the same two states become one edge with one line a row. A barrier state is one node with a badge unless
the picture is expanded. What many states have in common (STOP leads to quiescing, from twelve of them) becomes one
note with one arrow instead of twelve arrows.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind
from pawl.tools.compiler.model import MachineModel, RowModel, StateModel
from pawl.tools.compiler.outline import action_text, fold_groups, guard_text, outer, prepared

MANY = 4
"""How many states must share an edge before it is drawn once, from a note that lists them."""


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
    edges = [
        Edge(source, target, _labels(model, rows, expand), automatic, all(_usual(model, row) for row in rows))
        for (source, target, automatic), rows in arrows.items()
    ]
    edges, shared = _share(edges)
    return Picture(
        name=model.name,
        initial=_seen(model, model.initial, expand) or model.initial,
        nodes=tuple(_node(model, state, expand) for state in drawn),
        edges=tuple(edges),
        shared=tuple(shared),
    )


def _seen(model: MachineModel, name: str | None, expand: bool) -> str | None:
    return name if name is None or expand else outer(model, name)


def _node(model: MachineModel, state: StateModel, expand: bool) -> Node:
    lines = [f"enter {action_text(state.enter)}"] if state.enter else []
    if state.after is not None:
        lines.append(f"after {state.after.delay}: {state.after.event}")
    stays = [row for row in model.rows_of(state.name) if row.target is None]
    lines.extend(_labels(model, stays, expand))
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


def _labels(model: MachineModel, rows: Sequence[RowModel], expand: bool) -> tuple[str, ...]:
    """One line for each condition and action, with all events that share it; whole groups by their name."""
    told: dict[tuple[str, str], list[str]] = {}
    brief: list[str] = []
    for row in rows:
        guards = guard_text(row)
        if row.expanded and not expand:
            # The protocol of a barrier in brief: why it is left, not by which answer of the store.
            brief.append(guards or row.event or "")
        else:
            actions = action_text([name for name in row.do if expand or name != prepared(model, row)])
            told.setdefault((guards, actions), []).append(row.event or "")
    lines = []
    for (guards, actions), events in told.items():
        names = ", ".join(fold_groups(model, filter(None, events)))
        lines.append(" ".join(part for part in (names, guards, actions) if part))
    return tuple(dict.fromkeys(filter(None, (*lines, *fold_groups(model, brief)))))


def _usual(model: MachineModel, row: RowModel) -> bool:
    """A way out that nearly every state has: a barrier's own, an internal error, or a member of an event group."""
    grouped = any(row.event in names for names in model.groups.values() if row.event is not None)
    return row.expanded or grouped or row.event == INTERNAL_ERROR


def _share(edges: list[Edge]) -> tuple[list[Edge], list[Shared]]:
    """Take the label lines that MANY sources have towards one target out of their edges."""
    sources: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        if not edge.automatic:
            for line in edge.lines:
                sources.setdefault((edge.target, line), []).append(edge.source)
    common = {key: tuple(found) for key, found in sources.items() if len(found) >= MANY}
    left = []
    for edge in edges:
        lines = tuple(line for line in edge.lines if edge.automatic or (edge.target, line) not in common)
        if lines or not edge.lines:
            left.append(attrs.evolve(edge, lines=lines))
    notes: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for (target, line), found in common.items():
        notes.setdefault(target, {}).setdefault(found, []).append(line)
    return left, [
        Shared(target, tuple((tuple(lines), found) for found, lines in moves.items()))
        for target, moves in notes.items()
    ]
