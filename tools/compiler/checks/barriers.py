"""E13, E14: effects that nothing holds back, and barriers that do not say where they lead."""

from __future__ import annotations

from pawl.tools.compiler.checks.subject import Found, Subject
from pawl.tools.compiler.expand import targets
from pawl.tools.compiler.findings import listed, quoted, suggest
from pawl.tools.compiler.graph import looping, path, reachable
from pawl.tools.compiler.model import StateModel
from pawl.tools.compiler.protocol import APPLY_PREFIX
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import RowSpec

_ADVICE = {
    "refused": "`refused: STATE`",
    "stop": "`stop: STATE` (or `records: true` where it writes what has happened already)",
    "conflict": "`conflict: STATE` (here or in `barriers`)",
    "superseded": "`superseded: STATE` (here or in `barriers`)",
}


def incomplete_barrier(subject: Subject) -> Found:
    """E14: a barrier without all its targets, or one that can be entered without its commit."""
    scope, spec = subject.scope, subject.spec
    for state in spec.barrier_states():
        assert state.barrier is not None
        ends = targets(state, scope)
        missing = {key: advice for key, advice in _ADVICE.items() if key != "stop" and ends[key] is None}
        if not state.records and state.stop is None:
            missing["stop"] = _ADVICE["stop"]
        if missing:
            what = f"the barrier {quoted(state.barrier.text)} does not say where it leads for {listed(missing)}"
            yield state.barrier.at, f"{what}; add {', '.join(missing.values())}"
        if not state.records and (spec.barriers is None or not spec.barriers.stop):
            yield (
                state.barrier.at,
                "the barrier takes a stop, and the machine names none; add `barriers: {stop: GROUP}`",
            )
        if state.initial:
            yield (
                state.at,
                f"{quoted(state.name.text)} is initial and has a barrier; begin in an automatic state before it",
            )
        own = [
            key for key, name in ends.items() if key != "applied" and name is not None and name.text == state.name.text
        ]
        if own:
            keys = [{"stopped": "stop", "withdrawn": "unwritten"}.get(key, key) for key in own]
            where = f"for {listed(keys)} the barrier leads to its own state, as if it had committed"
            yield state.barrier.at, f"{where}; name another state"
    for row in spec.transitions:
        yield from _unconfirmed(row, scope)
    if spec.error is not None and spec.error.text in spec.states and spec.states[spec.error.text].barrier is not None:
        yield spec.error.at, f"`error` leads around the barrier of {quoted(spec.error.text)}; lead to a state before it"
    if spec.barriers is not None:
        for name in spec.barriers.stop:
            answers = [event for event in scope.events_of(name.text) if event in scope.protocol_events]
            if answers:
                yield name.at, f"{listed(answers)} is an answer that barriers wait for; stop with another event"
        lost = spec.barriers.lost
        if lost is not None and lost.text in scope.events and lost.text not in scope.stops:
            yield lost.at, f"{quoted(lost.text)} is not one of the `stop` events; add it to their group"


def unguarded_effect(subject: Subject) -> Found:
    """E13: an effect that can begin without a commit before it.

    The barrier states have to dominate the effect: no way from the initial state leads around them, and none from
    the effect back to itself.
    """
    graph, model = subject.graph, subject.model
    barriers = {state.name for state in model.states if state.barrier is not None}
    open_to_start = reachable(graph.possible, [model.initial], barriers)
    open_to_itself = looping(graph.possible, set(graph.states) - barriers)
    for state in model.states:
        if state.effect is None or state.barrier is not None:
            continue
        if state.behind is not None:
            yield from _behind(state, subject)
            continue
        if state.name in open_to_start:
            around = path(graph.possible, [model.initial], state.name, barriers)
            yield (
                state.at,
                f"the effect of {quoted(state.name)} is not behind a barrier: {_way(around or ())}; put a state with "
                "`barrier: NAME` before it, or name the one of another machine with `behind: MACHINE.BARRIER`",
            )
        elif state.name in open_to_itself:
            again = path(graph.possible, graph.possible[state.name], state.name, barriers)
            yield (
                state.at,
                f"the effect of {quoted(state.name)} can begin again without a new commit: "
                f"{_way((state.name, *(again or ())))}; lead through the barrier again",
            )


def _behind(state: StateModel, subject: Subject) -> Found:
    assert state.behind is not None
    declared = subject.spec.states[state.name].behind
    assert declared is not None
    machine, _, barrier = state.behind.partition(".")
    others = [spec for spec in subject.run if spec.machine.text == machine]
    known = {s.barrier.text for spec in others for s in spec.barrier_states() if s.barrier is not None}
    if others and barrier not in known:
        advice = suggest(barrier, known, f"it has {listed(sorted(known)) or 'no barrier'}")
        yield declared.at, f"{quoted(machine)} has no barrier {quoted(barrier)}; {advice}"


def _unconfirmed(row: RowSpec, scope: Scope) -> Found:
    """A written row from inside a barrier to its state that does not confirm the write, or does not apply it."""
    if scope.protocol is None or row.target is None:
        return
    for source in scope.sources(row.source):
        host = scope.inner.get(source)
        if host is None or host.barrier is None or host.name.text != row.target.text:
            continue
        inner, apply = source.rpartition(".")[2], f"{APPLY_PREFIX}{host.barrier.text}"
        wrong = [name for name in scope.handled(row.event) if not scope.protocol.confirms(inner, name)]
        if wrong:
            what = f"{listed(wrong)} in {quoted(source)} does not say that the write is on disk"
            yield row.target.at, f"{what}; lead to another state"
        elif apply not in [name.text for name in row.do]:
            yield row.target.at, f"live state would not know what is on disk; add `do: [{apply}]`"


def _way(states: tuple[str, ...]) -> str:
    shown = states if len(states) <= 8 else (*states[:4], "…", *states[-3:])
    return " → ".join(shown)
