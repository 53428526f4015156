"""What a diagram shows, before any syntax: nodes, and edges with their labels, made easy on the eye.

Rows between the same two states become one edge with one line a row. A barrier state is one node with a badge unless
the picture is expanded. What many states have in common (STOP leads to quiescing, from twelve of them) becomes one
note with one arrow instead of twelve arrows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind
from pawl.tools.compiler.model import MachineModel, RowModel, StateModel
from pawl.tools.compiler.outline import action_text, fold_groups, guard_text, prepared

MANY = 4
"""How many states must share an edge before it is drawn once, from a note that lists them."""


Unit = tuple[str, str]
"""An event (or a group of them) and the guards and actions that go with it, as text."""

Tone = Callable[[RowModel], str]
"""What an overlay says of a row; rows of two tones never share a line."""


@attrs.frozen
class Line:
    """One line of a label, the rows that it stands for, and their tone."""

    text: str
    rows: tuple[RowModel, ...]
    tone: str = ""


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
    stays: tuple[Line, ...] = attrs.field(default=(), eq=False, repr=False)
    """The last of `lines`, with their rows."""
    within: tuple[RowModel, ...] = attrs.field(default=(), eq=False, repr=False)
    """Rows inside the barrier that is drawn as this one node."""


@attrs.frozen
class Edge:
    """One arrow; `quiet` edges are the usual ways out (stops, refusals) and are drawn in the background."""

    source: str
    target: str
    lines: tuple[str, ...]
    automatic: bool = False
    quiet: bool = False
    told: tuple[Line, ...] = attrs.field(default=(), eq=False, repr=False)
    """The lines with their rows, and rows that have nothing to say."""


@attrs.frozen
class Shared:
    """What many states have in common towards one target, drawn once: label lines, each with its sources."""

    target: str
    moves: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    told: tuple[tuple[tuple[Line, ...], tuple[str, ...]], ...] = attrs.field(default=(), eq=False, repr=False)
    """The moves with their rows."""


@attrs.frozen
class Picture:
    """A whole diagram of one machine."""

    name: str
    initial: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    shared: tuple[Shared, ...]


def picture(model: MachineModel, expand: bool = False, tone: Tone | None = None) -> Picture:
    """Draw `model`; with `expand`, barriers are drawn with their inner states."""
    draw = _Draw(model, expand, tone)
    drawn = [state for state in model.states if expand or state.inside is None]
    outers = {state.name: state.name if expand else state.inside or state.name for state in model.states}
    arrows: dict[tuple[str, str, bool], list[RowModel]] = {}
    within: dict[str, list[RowModel]] = {}
    for row in model.rows:
        source, target = outers[row.source], None if row.target is None else outers[row.target]
        if target is not None and (source != target or row.source == source):
            arrows.setdefault((source, target, row.event is None), []).append(row)
        elif row.source != source:  # stays, or moves, inside a barrier that is one node here
            within.setdefault(source, []).append(row)
    units = {key: draw.units(rows) for key, rows in arrows.items()}
    common = _common(units)
    edges = []
    for (source, target, automatic), rows in arrows.items():
        every = units[source, target, automatic]
        own = {unit: those for unit, those in every.items() if automatic or (target, unit) not in common}
        if own or not every:
            told, usual = draw.lines(own), all(_usual(model, row) for row in rows)
            edges.append(Edge(source, target, _texts(told), automatic, usual, told))
    return Picture(
        name=model.name,
        initial=outers[model.initial],
        nodes=tuple(_node(draw, state, within.get(state.name, ())) for state in drawn),
        edges=tuple(edges),
        shared=_shared(draw, common),
    )


def _node(draw: _Draw, state: StateModel, within: Sequence[RowModel]) -> Node:
    lines = [f"enter {action_text(state.enter)}"] if state.enter else []
    if state.after is not None:
        lines.append(f"after {state.after.delay}: {state.after.event}")
    stays = draw.lines(draw.units([row for row in draw.rows.get(state.name, ()) if row.target is None]))
    return Node(
        name=state.name,
        title=state.label or state.name,
        kind=state.kind,
        doc=state.doc,
        barrier=state.barrier,
        effect=state.effect,
        lines=(*lines, *_texts(stays)),
        inside=state.inside,
        stays=stays,
        within=tuple(within),
    )


@attrs.frozen
class _Draw:
    """Rows to text, for one machine."""

    model: MachineModel
    expand: bool
    tone: Tone | None
    rows: dict[str, list[RowModel]] = attrs.field(init=False)

    @rows.default
    def _by_source(self) -> dict[str, list[RowModel]]:
        found: dict[str, list[RowModel]] = {}
        for row in self.model.rows:
            found.setdefault(row.source, []).append(row)
        return found

    def units(self, rows: Iterable[RowModel]) -> dict[Unit, list[RowModel]]:
        """What rows say, piece by piece; whole groups of events by their name."""
        told: dict[str, list[tuple[str, RowModel]]] = {}
        brief: list[tuple[str, RowModel]] = []
        for row in rows:
            guards = guard_text(row)
            if row.expanded and not self.expand:
                # The protocol of a barrier in brief: why it is left, not by which answer of the store.
                brief.append((guards or row.event or "", row))
            else:
                actions = action_text([name for name in row.do if self.expand or name != prepared(self.model, row)])
                told.setdefault(" ".join(filter(None, (guards, actions))), []).append((row.event or "", row))
        units: dict[Unit, list[RowModel]] = {}
        for tail, named in (*told.items(), ("", brief)):
            for name, those in self._folded(named):
                units.setdefault((name, tail), []).extend(those)
        return units

    def lines(self, units: Mapping[Unit, Sequence[RowModel]]) -> tuple[Line, ...]:
        """One line for each condition and action, and tone, with all events that share it."""
        return tuple(line for tone, those in self.toned(units).items() for line in _joined(those, tone))

    def toned(self, units: Mapping[Unit, Sequence[RowModel]]) -> dict[str, dict[Unit, list[RowModel]]]:
        """The units of each tone: a group of events of which only some have a tone is written event by event."""
        rows = [row for those in units.values() for row in those]
        tones = {row: self.tone(row) if self.tone is not None else "" for row in rows}
        names = list(dict.fromkeys(tones.values()))
        if len(names) <= 1:
            return {name: {unit: list(those) for unit, those in units.items()} for name in names}
        return {name: self.units(row for row in rows if tones[row] == name) for name in names}

    def _folded(self, named: Sequence[tuple[str, RowModel]]) -> list[tuple[str, list[RowModel]]]:
        """Whole groups of events by their name, each with its rows."""
        rows: dict[str, list[RowModel]] = {}
        for name, row in named:
            rows.setdefault(name, []).append(row)
        return [
            (name, [row for event in ((name,) if name in rows else self.model.groups[name]) for row in rows[event]])
            for name in fold_groups(self.model, rows)
        ]


def _joined(units: Mapping[Unit, Sequence[RowModel]], tone: str) -> list[Line]:
    told: dict[str, list[Unit]] = {}
    for unit in units:
        told.setdefault(unit[1], []).append(unit)
    lines = []
    for tail, those in told.items():
        text = " ".join(filter(None, (", ".join(name for name, _ in those if name), tail)))
        lines.append(Line(text, tuple(row for unit in those for row in units[unit]), tone))
    return lines


def _texts(lines: Iterable[Line]) -> tuple[str, ...]:
    return tuple(line.text for line in lines if line.text)


def _usual(model: MachineModel, row: RowModel) -> bool:
    """A way out that nearly every state has: a barrier's own, an internal error, or a member of an event group."""
    grouped = any(row.event in names for names in model.groups.values() if row.event is not None)
    return row.expanded or grouped or row.event == INTERNAL_ERROR


_Common = dict[tuple[str, Unit], dict[str, list[RowModel]]]


def _common(edges: Mapping[tuple[str, str, bool], dict[Unit, list[RowModel]]]) -> _Common:
    """What MANY states have towards one target, and which states, by which rows."""
    sources: _Common = {}
    for (source, target, automatic), units in edges.items():
        for unit, rows in units.items():
            if not automatic:
                sources.setdefault((target, unit), {})[source] = rows
    return {key: found for key, found in sources.items() if len(found) >= MANY}


def _shared(draw: _Draw, common: _Common) -> tuple[Shared, ...]:
    """One note for each target; its moves are those that the same states have."""
    notes: dict[str, dict[tuple[str, tuple[str, ...]], dict[Unit, list[RowModel]]]] = {}
    for (target, unit), by_source in common.items():
        split: dict[tuple[str, Unit], dict[str, list[RowModel]]] = {}
        for source, rows in by_source.items():
            for tone, units in draw.toned({unit: rows}).items():
                for piece, those in units.items():
                    split.setdefault((tone, piece), {})[source] = those
        for (tone, piece), found in split.items():
            moves = notes.setdefault(target, {}).setdefault((tone, tuple(found)), {})
            moves.setdefault(piece, []).extend(row for those in found.values() for row in those)
    shared = []
    for target, note in notes.items():
        told = tuple((tuple(_joined(units, tone)), sources) for (tone, sources), units in note.items())
        shared.append(Shared(target, tuple((_texts(lines), sources) for lines, sources in told), told))
    return tuple(shared)
