"""A spec to a machine model: lists and groups resolved into rows, barriers expanded, unknown names left out."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Unhandled
from pawl.tools.compiler.canonical import spec_hash
from pawl.tools.compiler.expand import inner_rows, inner_states, redirected
from pawl.tools.compiler.findings import Finding, Severity
from pawl.tools.compiler.migrations import follow
from pawl.tools.compiler.model import EventModel, MachineModel, Position, RowModel, StateModel, TimerModel
from pawl.tools.compiler.nodes import Scalar
from pawl.tools.compiler.protocol import APPLY, APPLY_PREFIX, PREPARE
from pawl.tools.compiler.scope import EVERY, Scope
from pawl.tools.compiler.spec import MethodSpec, RowSpec, Spec, StateSpec
from pawl.tools.compiler.wildcard import add_wildcards

MAX_STATES = 10_000
MAX_ROWS = 100_000
"""What a spec may expand to: two lists in one short row can stand for millions."""


def too_large(scope: Scope) -> Finding | None:
    """Y03 for a spec that expands beyond the limits. Counted, so that nothing that large is made."""
    spec = scope.spec
    states = len(scope.states)
    rows = 0
    for row in spec.transitions:
        every = len(scope.spec.states) * sum(map(scope.is_wildcard, row.source))
        rows += (len(scope.sources(row.source)) + every) * max(1, len(scope.handled(row.event)))
        if rows > MAX_ROWS:
            break
    if scope.protocol is not None:
        each = len(scope.protocol.machine.rows) + len(scope.protocol.inner) * len(scope.stops)
        rows += each * len(spec.barrier_states())
    for what, count, most in (("states", states, MAX_STATES), ("rows", rows, MAX_ROWS)):
        if count > most:
            message = f"the machine expands to more than {most:,} {what}; split it"
            return Finding("Y03", Severity.ERROR, spec.machine.at, message)
    return None


def assemble(scope: Scope) -> MachineModel:
    """The model of the spec in `scope`. What the checks refuse is left out or kept as written, never guessed."""
    spec = scope.spec
    states = tuple(_states(scope))
    events = tuple(_events(scope))
    rows = _rows(scope, states)
    initial = next((state.name.text for state in spec.states.values() if state.initial), "")
    guards = (name for row in rows for name in (*row.when, *row.unless))
    actions = _actions(states, rows)
    delays = (state.after.delay for state in states if state.after is not None)
    brought = scope.protocol.machine if scope.protocol is not None else None
    return MachineModel(
        name=spec.machine.text,
        version=spec.version,
        file=spec.file,
        spec_hash=spec_hash(spec, brought.spec_hash if brought is not None else None),
        doc=_text(spec.doc),
        context=spec.context.text if spec.context is not None else None,
        initial=initial,
        states=states,
        events=events,
        rows=rows,
        guards=_documented(guards, _listed(spec, "guards"), brought.guards if brought is not None else {}),
        actions=_documented(actions, _listed(spec, "actions"), _action_docs(scope)),
        delays=_documented(delays, _listed(spec, "delays"), brought.delays if brought is not None else {}),
        groups=_groups(spec),
        error=spec.error.text if spec.error is not None else None,
        migrations=follow(scope, states).models,
    )


def _groups(spec: Spec) -> dict[str, tuple[str, ...]]:
    """Groups by the names that a reader knows; those of fragments without the prefix, where that says enough."""
    found: dict[str, tuple[str, ...]] = {}
    for name, group in spec.groups.items():
        members, short = tuple(member.text for member in group.members), spec.local(group.name)
        clear = short not in spec.groups and found.get(short, members) == members
        found[short if clear else name] = members
    return found


def kind_of(state: StateSpec) -> Kind:
    """The kind that the flags of a state say; the first where a spec wrongly has several."""
    flags = ((state.auto, Kind.AUTO), (state.wait, Kind.WAIT), (state.final, Kind.FINAL), (state.halt, Kind.HALT))
    return next((kind for flag, kind in flags if flag), Kind.PLAIN)


def dispositions(scope: Scope) -> dict[str, Unhandled]:
    """Event to what it means without a row, for the events that the `unhandled` lists decide."""
    lists = scope.spec.unhandled.lists() if scope.spec.unhandled is not None else ()
    found: dict[str, Unhandled] = {}
    if scope.protocol is not None:
        brought = scope.protocol.machine.events
        found = {e.name: e.unhandled for e in brought if e.name in scope.protocol_events and e.unhandled is not None}
    for unhandled, names in lists:
        found |= dict.fromkeys(scope.handled(names), unhandled)
    for unhandled, names in lists:
        if any(name.text == EVERY for name in names):
            found |= {name: unhandled for name in scope.spec.events if name not in found}
    return found


def _states(scope: Scope) -> Iterable[StateModel]:
    for state in scope.spec.states.values():
        if state.barrier is not None and scope.protocol is not None:
            yield from inner_states(state, scope.protocol)
        after = state.after
        yield StateModel(
            name=state.name.text,
            kind=kind_of(state),
            at=state.at,
            enter=_texts(state.enter),
            after=TimerModel(after.delay.text, after.event.text, after.resume) if after is not None else None,
            outcome=state.outcome.text if state.outcome is not None else None,
            barrier=state.barrier.text if state.barrier is not None else None,
            effect=state.effect.text if state.effect is not None else None,
            behind=state.behind.text if state.behind is not None else None,
            label=state.label.text if state.label is not None else None,
            doc=_text(state.doc),
        )


def _events(scope: Scope) -> Iterable[EventModel]:
    spec, unhandled = scope.spec, dispositions(scope)
    for event in spec.events.values():
        yield EventModel(
            name=event.name.text,
            at=event.at,
            payload=event.payload.text if event.payload is not None else _implied_payload(event.name.text),
            authority=tuple(dict.fromkeys(str(word) for word in event.authority)),
            correlate=event.correlate.text if event.correlate is not None else None,
            unhandled=unhandled.get(event.name.text),
            doc=_text(event.doc),
            label=event.label.text if event.label is not None else None,
        )
    if INTERNAL_ERROR not in spec.events and _uses_internal_error(scope):
        yield EventModel(
            name=INTERNAL_ERROR,
            at=spec.machine.at,
            payload=_implied_payload(INTERNAL_ERROR),
            unhandled=unhandled.get(INTERNAL_ERROR),
            doc="A guard or an action raised; the payload is the exception.",
        )
    if scope.protocol is not None:
        at = _barrier_at(spec)
        for brought in scope.protocol.machine.events:
            if brought.name in scope.protocol_events and brought.name not in spec.events:
                yield attrs.evolve(brought, at=at, unhandled=unhandled.get(brought.name))


def _uses_internal_error(scope: Scope) -> bool:
    spec = scope.spec
    used = [row.event for row in spec.transitions]
    if spec.barriers is not None:
        used.append(spec.barriers.stop)
    if spec.unhandled is not None:
        used += [names for _, names in spec.unhandled.lists()]
    return spec.error is not None or any(INTERNAL_ERROR in scope.handled(names) for names in used)


def _implied_payload(event: str) -> str | None:
    return "builtins:Exception" if event == INTERNAL_ERROR else None


def _barrier_at(spec: Spec) -> Position:
    first = spec.barrier_states()[0].barrier
    assert first is not None
    return first.at


def _rows(scope: Scope, states: tuple[StateModel, ...]) -> tuple[RowModel, ...]:
    """Every row, grouped by source in the order of the states; within one state in the order of the spec."""
    flat = [row for spec in scope.spec.transitions for row in _flat(spec, scope)]
    written = [redirected(row, scope) for row in _nearest(flat, scope)]
    by_state: dict[str, list[RowModel]] = {state.name: [] for state in states}
    for row in written:
        if row.source not in scope.inner:
            by_state[row.source].append(row)
    inside: dict[str, list[RowModel]] = {state.name.text: [] for state in scope.spec.barrier_states()}
    for row in written:
        if row.source in scope.inner:
            inside[scope.inner[row.source].name.text].append(row)
    for state in scope.spec.barrier_states():
        for row in inner_rows(state, scope, tuple(inside[state.name.text])):
            by_state[row.source].append(row)
    add_wildcards(scope, states, by_state)
    return tuple(row for rows in by_state.values() for row in rows)


def _flat(row: RowSpec, scope: Scope) -> Iterable[RowModel]:
    """One row for each source and event, source by source; `on` that names nothing known gives none."""
    events: tuple[str | None, ...] = scope.handled(row.event) if row.event else (None,)
    for source in scope.sources(row.source):
        for event in events:
            yield RowModel(
                source=source,
                event=event,
                target=row.target.text if row.target is not None else None,
                at=row.at,
                when=_texts(row.when),
                unless=_texts(row.unless),
                do=_texts(row.do),
            )


def _nearest(rows: list[RowModel], scope: Scope) -> list[RowModel]:
    """Without the rows of a fragment for a state and event that the user of the fragment has rows for."""
    if not scope.used:
        return rows
    depths: dict[tuple[str, str | None], int] = {}
    for row in rows:
        pair, depth = (row.source, row.event), scope.depth(row.at)
        depths[pair] = min(depth, depths.get(pair, depth))
    return [row for row in rows if scope.depth(row.at) == depths[row.source, row.event]]


def _actions(states: tuple[StateModel, ...], rows: tuple[RowModel, ...]) -> Iterable[str]:
    """Action names in the order in which a reader of the table meets them."""
    by_state: dict[str, list[str]] = {state.name: list(state.enter) for state in states}
    for row in rows:
        by_state[row.source] += row.do
    return (name for names in by_state.values() for name in names)


def _action_docs(scope: Scope) -> dict[str, str]:
    if scope.protocol is None:
        return {}
    docs = dict(scope.protocol.machine.actions)
    for state in scope.spec.barrier_states():
        assert state.barrier is not None
        docs[f"{PREPARE}{state.barrier.text}"] = f"Make the command of the barrier {state.barrier.text}."
        docs[f"{APPLY_PREFIX}{state.barrier.text}"] = docs[APPLY]
    return docs


def _listed(spec: Spec, kind: str) -> dict[str, MethodSpec]:
    """What the machine and its fragments say about their guards, actions or delays; the machine has the last word."""
    found: dict[str, MethodSpec] = {}
    for _, part in reversed(spec.parts()):
        found |= {name: method for name, method in (getattr(part, kind) or {}).items() if method.doc is not None}
    return found


def _documented(used: Iterable[str], declared: dict[str, MethodSpec], brought: dict[str, str]) -> dict[str, str]:
    docs = brought | {name: _text(method.doc) for name, method in declared.items()}
    return {name: docs.get(name, "") for name in dict.fromkeys(used)}


def _texts(names: Iterable[Scalar]) -> tuple[str, ...]:
    return tuple(name.text for name in names)


def _text(text: Scalar | None) -> str:
    return text.text if text is not None else ""
