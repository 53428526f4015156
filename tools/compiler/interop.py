"""Hand a machine to pytransitions (`transitions`), for its ecosystem: graphs, locking, other people's tools.

    machine = to_transitions(MACHINE, Order(...))     # MACHINE from a generated module, or a machine model
    start(machine)                                    # entry actions of the initial state, then automatic rows
    machine.model.trigger("checkout", payload)
    machine.model.state, machine.model.context, machine.model.effects

What carries over: states, rows in order with their guards, row and entry actions, automatic rows, what an event
without a row means, the default way of `internal_error`. What does not: timers (their event is an ordinary trigger),
and catching: an exception from a guard or an action propagates, as pytransitions does. Row actions run just before
the state changes, not just after. Any class of `transitions` with synchronous, flat states will do:
`to_transitions(MACHINE, order, machine_class=transitions.extensions.LockedMachine)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import attrs
import transitions

from pawl.runtime.fsm.table import INTERNAL_ERROR, Kind, Machine, Unhandled
from pawl.tools.compiler.model import MachineModel

AUTOMATIC = "take_automatic_rows__"
"""The trigger that stands for eventless rows; no event of a spec can have this name."""

M = TypeVar("M", bound=transitions.Machine)


@attrs.frozen
class Definitions:
    """A machine in the vocabulary of pytransitions: what `transitions.Machine(states=…, transitions=…)` takes."""

    initial: str
    states: list[dict[str, Any]]
    transitions: list[dict[str, Any]]
    """In spec order; the last ones may be the default way of `internal_error`, which no row of the spec is."""


@attrs.define(eq=False, slots=False)
class Carrier:
    """The pytransitions model that holds an immutable context: guards and actions are called on it.

    `state` is set by pytransitions; `effects` grows by what actions ask for.
    """

    context: Any
    effects: list[object] = attrs.field(factory=list)

    def method(self, name: str) -> Callable[..., Any]:
        """The guard or action `name` of the current context, its result taken as `advance` would."""

        def call(payload: object = None) -> Any:
            result = getattr(self.context, name)(payload)
            if type(result) is tuple:
                self.context, asked = result
                self.effects.extend(asked)
                return None
            return result

        return call


def definitions(machine: MachineModel | Machine[Any, Any]) -> Definitions:
    """The states and transitions of `machine` as plain dictionaries; guards and actions are names."""
    states = [
        {"name": str(state.name), "on_enter": list(state.enter), "final": state.kind is Kind.FINAL}
        for state in machine.states
    ]
    moves = [
        _move(row.source, row.event, row.target, row.when, row.unless, row.do) for row in machine.rows
    ]  # fmt: skip
    if machine.error is not None:
        handled = {str(row.source) for row in machine.rows if row.event == INTERNAL_ERROR}
        ends = (Kind.FINAL, Kind.HALT)
        moves += [
            _move(state.name, INTERNAL_ERROR, machine.error, (), (), ())
            for state in machine.states
            if state.kind not in ends and state.name not in handled
        ]
    return Definitions(str(machine.initial), states, moves)


@overload
def to_transitions(
    machine: MachineModel | Machine[Any, Any], context: object = None, *, machine_class: type[M], **options: Any
) -> M: ...


@overload
def to_transitions(
    machine: MachineModel | Machine[Any, Any], context: object = None, **options: Any
) -> transitions.Machine: ...


def to_transitions(
    machine: MachineModel | Machine[Any, Any],
    context: object = None,
    *,
    machine_class: type[transitions.Machine] = transitions.Machine,
    **options: Any,
) -> transitions.Machine:
    """Build a pytransitions machine of `machine_class`; `options` go to it (`queued=True`, …).

    With `context`, `machine.model` is a Carrier of it. Without, add models of your own with `add_model`: objects
    with a method for each guard and action, called with what the trigger was called with. When an event is called
    `state`, pass another `model_attribute`, as pytransitions wants a name of its own there.
    """
    made = definitions(machine)
    unhandled = {str(event.name): event.unhandled for event in machine.events}
    built = _class(machine_class, unhandled)(
        model=None,
        states=made.states,
        initial=made.initial,
        transitions=made.transitions,
        auto_transitions=False,
        **{"name": machine.name} | options,
    )
    for name in unhandled:
        if name not in built.events:
            built.events[name] = built.event_cls(name, built)
    if context is not None:
        built.add_model(Carrier(context))
    return built


def start(machine: transitions.Machine, model: object = None, payload: object = None) -> None:
    """Do what entering the initial state does (pytransitions does not): entry actions, then automatic rows."""
    chosen = machine.model if model is None else model
    state = machine.get_model_state(chosen)
    data = transitions.EventData(
        state, transitions.Event("start", machine), machine, chosen, () if payload is None else (payload,), {}
    )
    state.enter(data)
    _follow(data)


def _move(source: str, event: str | None, target: str | None, when: Any, unless: Any, do: Any) -> dict[str, Any]:
    return {
        "trigger": AUTOMATIC if event is None else str(event),
        "source": str(source),
        "dest": None if target is None else str(target),
        "conditions": list(when),
        "unless": list(unless),
        "before": list(do),
    }


def _class(base: type[M], unhandled: dict[str, Unhandled | None]) -> type[M]:
    """`base` whose transitions are followed by automatic rows and whose events may be ignored by name."""
    parent_event: Any = base.event_cls
    parent_transition: Any = base.transition_cls

    class Following(parent_transition):  # type: ignore[misc]
        def execute(self, event_data: transitions.EventData) -> bool:
            taken = bool(super().execute(event_data))
            if taken and self.dest is not None and event_data.event.name != AUTOMATIC:
                _follow(event_data)
            return taken

    class Deciding(parent_event):  # type: ignore[misc]
        def _is_valid_source(self, state: transitions.State) -> bool:
            if state.name not in self.transitions and unhandled.get(self.name) in (Unhandled.IGNORE, Unhandled.STALE):
                return False
            return bool(super()._is_valid_source(state))

    def resolve_callable(func: Any, event_data: transitions.EventData) -> Any:
        if isinstance(event_data.model, Carrier) and isinstance(func, str):
            return event_data.model.method(func)
        return base.resolve_callable(func, event_data)

    return type(
        f"Pawl{base.__name__}",
        (base,),
        {"transition_cls": Following, "event_cls": Deciding, "resolve_callable": staticmethod(resolve_callable)},
    )


def _follow(event_data: transitions.EventData) -> None:
    """Take automatic rows until none applies, with the payload of the event that led here."""
    machine, model = event_data.machine, event_data.model
    event = machine.events.get(AUTOMATIC)
    if event is None:
        return
    for _ in range(4 * len(machine.states) + 1):
        state = machine.get_model_state(model)
        data = transitions.EventData(state, event, machine, model, event_data.args, event_data.kwargs)
        rows = event.transitions.get(state.name, ())
        moved = any(row.execute(data) and row.dest is not None for row in rows)
        if not moved:
            return
    raise transitions.MachineError(f"{machine.name}automatic rows do not come to rest in '{state.name}'")
