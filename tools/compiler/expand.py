"""Barriers to rows: every state with `barrier:` gets the protocol's states, and rows into it pass through them."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pawl.tools.compiler.model import RowModel, StateModel
from pawl.tools.compiler.protocol import (
    APPLIED,
    APPLY,
    APPLY_PREFIX,
    LOST,
    PREPARE,
    STOP,
    STOP_NOTED,
    STOPPED,
    WITHDRAWN,
    Protocol,
)
from pawl.tools.compiler.scope import Scope
from pawl.tools.compiler.spec import Name, StateSpec


def inner_states(state: StateSpec, protocol: Protocol) -> Iterator[StateModel]:
    """The states between a row into barrier state `state` and the state itself."""
    assert state.barrier is not None
    for info in protocol.machine.states:
        if info.name in protocol.inner:
            yield attrs.evolve(info, name=f"{state.name.text}.{info.name}", at=state.barrier.at, inside=state.name.text)


def redirected(row: RowModel, scope: Scope) -> RowModel:
    """`row`, through the barrier of its target where that has one and the row does not come from inside it."""
    target = scope.spec.states.get(row.target) if row.target is not None else None
    if scope.protocol is None or target is None or target.barrier is None or scope.inner.get(row.source) is target:
        return row
    first = f"{target.name.text}.{scope.protocol.machine.initial}"
    return attrs.evolve(row, target=first, do=(*row.do, f"{PREPARE}{target.barrier.text}"))


def inner_rows(state: StateSpec, scope: Scope, written: tuple[RowModel, ...]) -> tuple[RowModel, ...]:
    """The rows of the inner states of `state`: the protocol's, with `written` ones in place of theirs."""
    assert scope.protocol is not None
    rows: list[RowModel] = []
    for name in scope.protocol.inner:
        source = f"{state.name.text}.{name}"
        own = [row for row in written if row.source == source]
        replaced = {row.event for row in own}
        seen: set[str | None] = set()
        for row in _protocol_rows(state, name, scope):
            if row.event not in replaced:
                rows.append(redirected(row, scope))
            elif row.event not in seen:
                seen.add(row.event)
                rows += [other for other in own if other.event == row.event]
        rows += [row for row in own if row.event not in seen]
    return tuple(rows)


def targets(state: StateSpec, scope: Scope) -> dict[str, Name | None]:
    """Final state of the protocol to what stands for it in `state`; None where the spec leaves it out."""
    shared = scope.spec.barriers
    stop = None if state.records else state.stop
    return {
        APPLIED: state.name,
        STOPPED: stop,
        WITHDRAWN: None if state.records else (state.unwritten or stop),
        "refused": state.refused,
        "conflict": state.conflict or (shared.conflict if shared is not None else None),
        "superseded": state.superseded or (shared.superseded if shared is not None else None),
    }


def _protocol_rows(state: StateSpec, inner: str, scope: Scope) -> Iterator[RowModel]:
    assert scope.protocol is not None
    assert state.barrier is not None
    ends = targets(state, scope)
    for row in scope.protocol.machine.rows_of(inner):
        if state.records and (row.event in (STOP, LOST) or STOP_NOTED in row.when):
            continue
        target: str | None = row.target
        if target in scope.protocol.inner:
            target = f"{state.name.text}.{target}"
        elif target is not None:
            end = ends[target]
            if end is None:
                continue
            target = end.text
        for event in _events(row.event, scope):
            yield RowModel(
                source=f"{state.name.text}.{inner}",
                event=event,
                target=target,
                at=state.barrier.at,
                when=row.when,
                unless=tuple(name for name in row.unless if not (state.records and name == STOP_NOTED)),
                do=tuple(f"{APPLY_PREFIX}{state.barrier.text}" if name == APPLY else name for name in row.do),
                expanded=True,
            )


def _events(event: str | None, scope: Scope) -> tuple[str | None, ...]:
    """What an event of the protocol is called in this machine."""
    if event == STOP:
        return tuple(name for name in scope.stops if name != scope.lost)
    if event == LOST:
        return (scope.lost,) if scope.lost is not None else ()
    return (event,)
