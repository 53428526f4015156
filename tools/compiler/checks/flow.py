"""E07, W13, W15, W16, W17, W19: where a machine can run for ever, or can never come."""

from __future__ import annotations

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.cover import Budget, cube, exhaustive
from pawl.tools.compiler.findings import listed, quoted
from pawl.tools.compiler.graph import Graph, backwards, cycles, reachable
from pawl.tools.compiler.model import Position, StateModel

_STOP_WORDS = ("cancel", "stop", "abort")
"""A machine without `barriers: {stop: …}` asks states to stop with an event that begins like this."""


def endless(subject: Subject) -> Found:
    """E07: automatic rows that lead round for ever, whatever the guards say."""
    graph = subject.graph
    for cycle in cycles(graph.automatic, _never_rests(graph)):
        yield (
            _row_at(graph, cycle),
            f"automatic rows never come to rest: {' → '.join(cycle)}; give one of them `on`, or a guard and another "
            "way out",
        )


def maybe_endless(subject: Subject) -> Found:
    """W17: automatic rows that lead round for as long as their guards agree."""
    graph = subject.graph
    certain = _never_rests(graph)
    others = set(graph.states) - certain
    for cycle in cycles(graph.automatic, others):
        yield (
            _row_at(graph, cycle),
            f"automatic rows may lead round: {' → '.join(cycle)}; make sure that an action on the way changes a guard",
        )


def unreachable(subject: Subject) -> Found:
    """W13: a state that nothing leads to."""
    graph, model = subject.graph, subject.model
    seen = reachable(graph.possible, [model.initial])
    for state in model.states:
        if state.name in seen:
            continue
        if state.inside is None:
            yield (
                state.at,
                f"no row leads from {quoted(model.initial)} to {quoted(state.name)}; add one, or remove the state",
            )
        elif f"{state.inside}.{_entry(subject)}" in seen:
            yield state.at, f"the written rows leave no way to {quoted(state.name)}; remove it from them, or lead there"


def trap(subject: Subject) -> Found:
    """W15: a state that is no end and that no row leaves."""
    graph = subject.graph
    for name, state in graph.states.items():
        if _is_trap(state, graph):
            yield state.at, f"no row leaves {quoted(name)}; add one, or mark it `final: true`"


def no_end(subject: Subject) -> Found:
    """W16: states from which no end can be reached, in a machine that has one."""
    graph = subject.graph
    ends = [name for name, state in graph.states.items() if state.kind in (Kind.FINAL, Kind.HALT)]
    if not ends:
        return
    good = reachable(backwards(graph.written), ends)
    lost = [state for name, state in graph.states.items() if name not in good and not _is_trap(state, graph)]
    if lost:
        names = listed(state.name for state in lost)
        yield lost[0].at, f"no way leads from {names} to a final state; add a row that leads out"


def helpless(subject: Subject) -> Found:
    """W19: a state that waits for an answer from outside, with no timer and no way to cancel it."""
    graph, scope = subject.graph, subject.scope
    stops = set(scope.stops) | {name for name in scope.events if name.startswith(_STOP_WORDS)}
    words = listed(sorted(stops)) if stops else f"an event whose name begins with {_either(_STOP_WORDS)}"
    for name, state in graph.states.items():
        asks = state.kind is Kind.WAIT or (state.kind is Kind.PLAIN and (state.enter or state.effect))
        if asks and state.inside is None and state.after is None and not stops & graph.events_of[name]:
            yield (
                state.at,
                f"{quoted(name)} waits for the outside with no timer and no event that stops it; add `after`, or a row "
                f"on {words}",
            )


def _never_rests(graph: Graph) -> set[str]:
    """The automatic states that only lead to each other: the greatest set that no guard lets out of."""
    budget, inside = Budget(), set()
    for name, state in graph.states.items():
        rows = graph.cells.get((name, None), [])
        leads = bool(rows) and all(row.target is not None for row in rows)
        if state.kind is Kind.AUTO and leads and exhaustive([cube(row) for row in rows], budget):
            inside.add(name)
    before = backwards(graph.automatic)
    work = [name for name in graph.states if name not in inside]
    while work:
        for name in before[work.pop()]:
            if name in inside:
                inside.discard(name)
                work.append(name)
    return inside


def _row_at(graph: Graph, cycle: tuple[str, ...]) -> Position:
    """The row that begins the cycle."""
    rows = graph.cells[cycle[0], None]
    return next(row.at for row in rows if row.target == cycle[1])


def _is_trap(state: StateModel, graph: Graph) -> bool:
    ended = state.kind in (Kind.FINAL, Kind.HALT)
    return not ended and all(target == state.name for target in graph.written[state.name])


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(map(quoted, words[:-1]))} or {quoted(words[-1])}"


def _entry(subject: Subject) -> str:
    protocol = subject.scope.protocol
    return protocol.machine.initial if protocol is not None else ""
