"""What a page says of one machine, ready for the template: texts and the ids that they link to, no markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Unhandled
from pawl.tools.compiler.model import EventModel, MachineModel, Position, RowModel, StateModel
from pawl.tools.compiler.outline import fold_groups, guard_text, outer, prepared, seen_target
from pawl.tools.docs.anchors import Anchors
from pawl.tools.docs.drawing import Drawing

FULL_COLUMNS = 10
"""The most events whose table has words in its cells; wider ones have signs."""

KINDS = {
    Kind.AUTO: "goes on by itself", Kind.PLAIN: "waits for events", Kind.WAIT: "ends the session; resumed later",
    Kind.FINAL: "the end", Kind.HALT: "the end for this process",
}  # fmt: skip
_UNHANDLED = {Unhandled.IGNORE: "ignored", Unhandled.STALE: "stale", Unhandled.REFUSE: "refused", None: "refused"}


@attrs.frozen
class Link:
    """A text, and the id that it leads to; `hint` is told when it is pointed at."""

    text: str
    to: str | None = None
    hint: str = ""
    style: str = ""


@attrs.frozen
class StateView:
    """One line of the table of states."""

    id: str
    name: str
    kind: Kind
    facts: tuple[tuple[str, tuple[Link, ...]], ...]
    said: str
    line: Link


@attrs.frozen
class EventView:
    """One line of the table of events."""

    id: str
    name: str
    facts: tuple[tuple[str, tuple[Link, ...]], ...]
    doc: str
    line: Link


@attrs.frozen
class RowView:
    """One line of the table of rows; `drawn` are ids of the drawing, with spaces between."""

    id: str
    events: tuple[Link, ...]
    guards: tuple[Link, ...]
    target: Link | None
    actions: tuple[Link, ...]
    lines: tuple[Link, ...]
    wildcards: tuple[str, ...]
    drawn: str


@attrs.frozen
class StateRows:
    """The rows of one state."""

    state: Link
    rows: tuple[RowView, ...]


@attrs.frozen
class Matrix:
    """State by event: `full` has words in its cells, else signs."""

    full: bool
    events: tuple[Link, ...]
    rows: tuple[tuple[Link, tuple[tuple[Link, ...], ...]], ...]


@attrs.frozen
class BarrierView:
    """One barrier: the state behind it, where else it leads and why, and the protocol row by row."""

    name: str
    state: Link
    entered: tuple[str, ...]
    exits: tuple[tuple[Link, tuple[str, ...]], ...]
    states: tuple[StateRows, ...]


@attrs.frozen
class NameView:
    """A guard, an action or a delay, and where it is used."""

    id: str
    name: str
    doc: str
    used: tuple[Link, ...]


@attrs.frozen
class MachineView:
    """Everything about one machine."""

    id: str
    name: str
    version: int
    doc: str
    file: str
    spec_hash: str
    context: str | None
    counts: str
    drawing: Drawing
    states: tuple[StateView, ...]
    events: tuple[EventView, ...]
    error: Link | None
    rows: tuple[StateRows, ...]
    matrix: Matrix
    barriers: tuple[BarrierView, ...]
    names: tuple[tuple[str, tuple[NameView, ...]], ...]


class Viewer:
    """Makes the view of one machine."""

    def __init__(self, model: MachineModel, at: Anchors) -> None:
        self.model, self.at = model, at
        kinds = {"guards": model.guards, "actions": model.actions, "delays": model.delays}
        self.docs = {f"{kind}/{name}": doc for kind, docs in kinds.items() for name, doc in docs.items()}
        self.described = {state.name: state for state in model.states}
        self.known = {event.name: event for event in model.events}
        self.tops = [state for state in model.states if state.inside is None]

    def view(self, drawing: Drawing) -> MachineView:
        """All of it, around `drawing`."""
        model, written = self.model, [row for row in self.model.rows if not row.expanded]
        counts = f"{len(self.tops)} states, {len(model.events)} events, {len(written)} rows"
        return MachineView(
            id=self.at.prefix, name=model.name, version=model.version, doc=model.doc, file=model.file,
            spec_hash=model.spec_hash, context=model.context, counts=counts, drawing=drawing,
            states=tuple(self._state(state) for state in self.tops),
            events=tuple(self._event(event) for event in model.events),
            error=self._to_state(model.error) if model.error is not None else None,
            rows=self._rows([state.name for state in model.states], expanded=False),
            matrix=self._matrix(),
            barriers=tuple(self._barrier(state) for state in self.tops if state.barrier is not None),
            names=tuple((kind, self._names(kind)) for kind in ("guards", "actions", "delays") if getattr(model, kind)),
        )  # fmt: skip

    def _state(self, state: StateModel) -> StateView:
        facts: list[tuple[str, tuple[Link, ...]]] = []
        if state.name == self.model.initial:
            facts.append(("initial", ()))
        if state.barrier is not None:
            facts.append(("barrier", (Link(state.barrier, f"{self.at.states[state.name]}-barrier"),)))
        if state.effect is not None:
            facts.append(("effect", (Link(f"{state.effect} behind {state.behind}" if state.behind else state.effect),)))
        if state.outcome is not None:
            facts.append(("outcome", (Link(state.outcome),)))
        if state.enter:
            facts.append(("enter", tuple(self._named("actions", name) for name in state.enter)))
        if state.after is not None:
            timer = (self._named("delays", state.after.delay), self._to_event(state.after.event))
            facts.append(("after", (*timer, Link(f"resume {state.after.resume}"))))
        said = ": ".join(filter(None, (state.label, state.doc)))
        return StateView(self.at.states[state.name], state.name, state.kind, tuple(facts), said, self._line(state.at))

    def _event(self, event: EventModel) -> EventView:
        facts: list[tuple[str, tuple[Link, ...]]] = []
        for name, texts in (
            ("payload", (event.payload,)), ("authority", event.authority), ("correlate", (event.correlate,)),
            ("without a row", (self._unhandled(event),)),
        ):  # fmt: skip
            if any(texts):
                facts.append((name, tuple(Link(text) for text in texts if text)))
        return EventView(self.at.events[event.name], event.name, tuple(facts), event.doc, self._line(event.at))

    def _unhandled(self, event: EventModel) -> str:
        if event.name == INTERNAL_ERROR:
            return "" if self.model.error is None else f"leads to {self.model.error}"
        return _UNHANDLED[event.unhandled]

    def _rows(self, states: Iterable[str], expanded: bool) -> tuple[StateRows, ...]:
        wanted: dict[str, list[RowView]] = {name: [] for name in states}
        for name, rows in self.at.groups:
            shown = [row for row in rows if row.expanded == expanded]
            if shown and shown[0].source in wanted:
                wanted[shown[0].source].append(self._row(name, shown))
        return tuple(StateRows(self._to_state(name), tuple(rows)) for name, rows in wanted.items() if rows)

    def _row(self, name: str, rows: Sequence[RowModel]) -> RowView:
        row = rows[0]
        target = seen_target(self.model, row)
        lines = dict.fromkeys(each.at for each in rows)
        drawn = dict.fromkeys(part for each in rows for part in self.at.drawn.get(each, ()))
        return RowView(
            id=name,
            events=self._events(rows),
            guards=(*(self._named("guards", each) for each in row.when),
                    *(attrs.evolve(self._named("guards", each), text=f"not {each}") for each in row.unless)),
            target=None if target is None else self._to_state(target),
            actions=tuple(self._named("actions", each) for each in row.do if each != prepared(self.model, row)),
            lines=tuple(self._line(at) for at in lines),
            wildcards=tuple(dict.fromkeys(each.wildcard for each in rows if each.wildcard is not None)),
            drawn=" ".join(drawn),
        )  # fmt: skip

    def _events(self, rows: Sequence[RowModel]) -> tuple[Link, ...]:
        names = [row.event for row in rows if row.event is not None]
        links = []
        for name in fold_groups(self.model, names):
            members = ", ".join(self.model.groups.get(name, ()))
            links.append(self._to_event(name) if name in names else Link(name, None, members))
        return tuple(links)

    def _matrix(self) -> Matrix:
        rows: dict[tuple[str, str | None], list[RowModel]] = {}
        for row in self.model.rows:
            if not row.expanded:
                rows.setdefault((row.source, row.event), []).append(row)
        events = [None] if any(event is None for _, event in rows) else []
        columns = [*events, *(event.name for event in self.model.events if any(event.name == on for _, on in rows))]
        full = len(columns) <= FULL_COLUMNS
        lines = []
        for state in self.model.states:
            cells = tuple(self._cell(rows.get((state.name, on), []), full) for on in columns)
            if any(cells):
                lines.append((self._to_state(state.name), cells))
        heads = tuple(Link("at once") if name is None else self._to_event(name) for name in columns)
        return Matrix(full, heads, tuple(lines))

    def _cell(self, rows: Sequence[RowModel], full: bool) -> tuple[Link, ...]:
        cell = []
        for row in rows:
            target = seen_target(self.model, row)
            guards = guard_text(row)
            words = " ".join(filter(None, (guards, "stays" if target is None else f"\u2192 {target}")))
            sign = "\u2022" if target is None else "\u2192"
            style = " ".join(filter(None, ("stays" if target is None else "", "asks" if guards else "")))
            cell.append(Link(words if full else sign, self.at.rows[row], "" if full else words, style))
        return tuple(cell)

    def _barrier(self, state: StateModel) -> BarrierView:
        inner = [each.name for each in self.model.states if each.inside == state.name]
        entered: list[str] = []
        exits: dict[str, list[str]] = {}
        for row in self.model.rows:
            if row.source in inner and row.target is not None and row.target not in inner:
                why = " ".join(filter(None, (row.event, guard_text(row))))
                if row.target == state.name:
                    entered.append(why)
                else:
                    exits.setdefault(outer(self.model, row.target), []).append(why)
        return BarrierView(
            name=state.barrier or "",
            state=self._to_state(state.name),
            entered=tuple(dict.fromkeys(entered)),
            exits=tuple((self._to_state(name), tuple(dict.fromkeys(why))) for name, why in exits.items()),
            states=self._rows(inner, expanded=True),
        )

    def _names(self, kind: str) -> tuple[NameView, ...]:
        uses: dict[str, dict[Link, None]] = {name: {} for name in getattr(self.model, kind)}
        for state in self.model.states if kind != "guards" else ():
            timer = [state.after.delay] if state.after is not None else []
            for name in state.enter if kind == "actions" else timer:
                uses[name][self._to_state(state.name)] = None
        for id_, rows in self.at.groups if kind != "delays" else ():
            row, events = rows[0], fold_groups(self.model, [each.event for each in rows if each.event is not None])
            for name in row.do if kind == "actions" else (*row.when, *row.unless):
                uses[name][Link(f"{row.source} {_some(events, 3) or 'at once'}", id_)] = None
        return tuple(
            NameView(self.at.names[f"{kind}/{name}"], name, self.docs[f"{kind}/{name}"], tuple(found))
            for name, found in uses.items()
        )

    def _to_state(self, name: str) -> Link:
        inside = self.described[name].inside
        return Link(name, self.at.states[name if inside is None else inside], self.described[name].doc)

    def _to_event(self, name: str) -> Link:
        return Link(name, self.at.events.get(name), self.known[name].doc if name in self.known else "")

    def _named(self, kind: str, name: str) -> Link:
        return Link(name, self.at.names.get(f"{kind}/{name}"), self.docs.get(f"{kind}/{name}", ""))

    def _line(self, at: Position) -> Link:
        return Link(str(at.line), self.at.line(at), at.file)


def links(model: MachineModel, at: Anchors, ids: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """What the elements of the drawing lead to, by their ids: states to their line, arrows to their first row.

    `ids` are the numbers of the drawn states, by name.
    """
    drawn: dict[str, list[RowModel]] = {}
    for row, parts in at.drawn.items():
        for part in parts:
            drawn.setdefault(part, []).append(row)
    found = {part: (at.rows[rows[0]], _said(rows)) for part, rows in drawn.items()}
    for state in model.states:
        if state.name in ids:
            text = f"{state.name}: {state.doc}" if state.doc else state.name
            found[f"{at.prefix}-d-n{ids[state.name]}"] = (at.states[state.name], text)
    return found


def _said(rows: Sequence[RowModel]) -> str:
    sources = list(dict.fromkeys(row.source for row in rows))
    events = list(dict.fromkeys(row.event or "at once" for row in rows))
    return f"{_some(sources, 4)}: {_some(events, 6)}"


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (" \u2026" if len(names) > most else "")
