"""Which payload types each guard, action and row can meet: the payload of an event travels through its whole step.

An event's payload is what its row's guards and actions get, the entry actions of the target, and the automatic rows
that follow. Entering the initial state (and a state that no row leads to) carries None.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind
from pawl.tools.compiler.model import MachineModel, RowModel

ERROR_PAYLOAD = "builtins:Exception"
Payload = str | None
"""`package.module:Class`, or None for an event without a payload."""


@attrs.frozen
class Payloads:
    """Guard or action name to the payload types that it can be called with, in the order of the spec, None last."""

    guards: dict[str, tuple[Payload, ...]]
    actions: dict[str, tuple[Payload, ...]]


def payloads(model: MachineModel) -> Payloads:
    """Follow every payload through the machine until nothing new is met."""
    of_event: dict[str, Payload] = {event.name: event.payload for event in model.events}
    if of_event.get(INTERNAL_ERROR) is None:
        of_event[INTERNAL_ERROR] = ERROR_PAYLOAD
    order = [*dict.fromkeys(of_event.values()), None]
    guards: dict[str, set[Payload]] = {name: set() for name in model.guards}
    actions: dict[str, set[Payload]] = {name: set() for name in model.actions}
    entry = _entries(model, of_event)

    def call(row: RowModel, met: Iterable[Payload]) -> None:
        target = next((state for state in model.states if state.name == row.target), None)
        for name in (*row.when, *row.unless):
            guards.setdefault(name, set()).update(met)
        for name in (*row.do, *(target.enter if target is not None else ())):
            actions.setdefault(name, set()).update(met)

    for row in model.rows:
        call(row, (of_event.get(row.event),) if row.event is not None else entry[row.source])
    for state in model.states:
        for name in state.enter:
            actions.setdefault(name, set()).update(entry[state.name])
    return Payloads(
        guards={name: _ordered(met, order) for name, met in guards.items()},
        actions={name: _ordered(met, order) for name, met in actions.items()},
    )


def _entries(model: MachineModel, of_event: dict[str, Payload]) -> dict[str, set[Payload]]:
    """State to the payloads with which it can be entered."""
    reached = {row.target for row in model.rows} | {model.error}
    entry: dict[str, set[Payload]] = {
        state.name: {None} if state.name == model.initial or state.name not in reached else set()
        for state in model.states
    }
    if model.error is not None:
        entry[model.error].add(of_event[INTERNAL_ERROR])
    for row in model.rows:
        if row.event is not None and row.target is not None:
            entry[row.target].add(of_event.get(row.event))
    auto = {state.name for state in model.states if state.kind is Kind.AUTO}
    chains = [row for row in model.rows if row.event is None and row.target is not None and row.source in auto]
    grown = True
    while grown:
        grown = False
        for row in chains:
            assert row.target is not None
            if not entry[row.source] <= entry[row.target]:
                entry[row.target] |= entry[row.source]
                grown = True
    return entry


def _ordered(met: set[Payload], order: list[Payload]) -> tuple[Payload, ...]:
    return tuple(sorted(met, key=lambda payload: (payload is None, order.index(payload))))
