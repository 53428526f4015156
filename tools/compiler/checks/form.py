"""Y15, E03, E04: keys that do not go together, and machines without one beginning or with life after the end."""

from __future__ import annotations

from collections.abc import Iterator

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.findings import line_of, listed, quoted
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.spec import StateSpec, keys


def mismatched(subject: Subject) -> Found:
    """Y15: keys of a state, a row or a group that exclude each other, or that need one that is missing."""
    spec, scope = subject.spec, subject.scope
    for state in spec.states.values():
        yield from ((state.at, f"{quoted(state.name.text)} {problem}") for problem in _state(state))
        if state.after is not None and state.auto and not subject.graph.waits(state.name.text):
            never = f"{quoted(state.name.text)} never waits, its last automatic row has no guard"
            yield state.after.at, f"{never}; remove the timer, or guard that row"
    for row in spec.transitions:
        if not row.event and any(map(scope.is_wildcard, row.source)):
            yield row.at, "a row from a wildcard is taken on an event; add `on`, or name the states"
        elif not row.event:
            eventful = [
                name for name in scope.sources(row.source) if name not in spec.states or not spec.states[name].auto
            ]
            if eventful:
                yield (
                    row.at,
                    f"a row without `on` leaves {listed(eventful)}, not automatic; add `on`, or `auto: true` there",
                )
    for group in spec.groups.values():
        names = [name.text for name in group.members]
        states = [name for name in names if name in scope.states and name not in scope.events]
        events = [name for name in names if name in scope.events and name not in scope.states]
        if states and events:
            yield (
                group.name.at,
                f"the group {quoted(group.name.text)} mixes states ({listed(states)}) and events ({listed(events)}); "
                "split it",
            )


def initial(subject: Subject) -> Found:
    """E03: no initial state, or more than one."""
    spec = subject.spec
    marked = [state for state in spec.states.values() if state.initial]
    if not marked:
        yield spec.machine.at, f"{quoted(spec.machine.text)} has no initial state; mark one with `initial: true`"
    for state in marked[1:]:
        yield (
            state.at,
            f"{quoted(state.name.text)} is initial, and so is {quoted(marked[0].name.text)} "
            f"({line_of(marked[0].at, state.at)}); keep one",
        )


def final_exits(subject: Subject) -> Found:
    """E04: a final state with a row or a timer."""
    found: dict[Position, list[str]] = {}
    for row in subject.model.rows:
        state = subject.graph.states[row.source]
        if state.kind is Kind.FINAL and state.name not in found.setdefault(row.at, []):
            found[row.at].append(state.name)
    for at, names in found.items():
        if names:
            yield at, f"this row leaves {listed(names)}, which is final; remove the row, or `final: true` there"
    for declared in subject.spec.states.values():
        if declared.final and declared.after is not None:
            yield declared.after.at, f"{quoted(declared.name.text)} is final and has a timer; remove one of the two"


_OF_BARRIERS = [word for word, field in keys(StateSpec).items() if field.metadata.get("needs") == "barrier"]
"""Keys of a state that mean something beside `barrier` alone."""


def _state(state: StateSpec) -> Iterator[str]:
    kinds = [flag for flag in ("auto", "wait", "final", "halt") if getattr(state, flag)]
    if len(kinds) > 1:
        yield f"is {listed(kinds)} at once; keep one"
    if state.barrier is None:
        orphans = [word for word in _OF_BARRIERS if getattr(state, word)]
        if orphans:
            yield f"has {listed(orphans)} but no barrier; add `barrier: NAME` or remove them"
    if state.records and state.barrier is not None and (state.stop is not None or state.unwritten is not None):
        yield "records something that happened, so it takes no `stop` or `unwritten`; remove them, or `records`"
    if state.behind is not None and state.effect is None:
        yield "has `behind` but no effect; add `effect: NAME` or remove it"
    if state.behind is not None and state.barrier is not None:
        yield "has a barrier of its own; remove `behind`"
    if state.outcome is not None and not state.final:
        yield "has an outcome and is not final; add `final: true` or remove it"
