"""Machine models made by hand, so that the back of the compiler is tested without its front."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pawl.runtime.fsm.table import Kind, Unhandled
from pawl.tools.compiler.model import EventModel, MachineModel, Position, RowModel, StateModel, TimerModel


def at(line: int = 1) -> Position:
    return Position("shop/order.yaml", line, 3)


def state(name: str, kind: Kind = Kind.PLAIN, **more: Any) -> StateModel:
    return StateModel(name, kind, at(), **more)


def event(name: str, payload: str | None = None, **more: Any) -> EventModel:
    return EventModel(name, at(), payload, **more)


def row(source: str, on: str | None, target: str | None, line: int = 1, **more: Any) -> RowModel:
    return RowModel(source, on, target, at(line), **more)


def machine(
    states: Iterable[StateModel], events: Iterable[EventModel], rows: Iterable[RowModel], **more: Any
) -> MachineModel:
    """A model whose guards, actions and delays are those that its rows and states use."""
    states, rows = tuple(states), tuple(rows)
    guards = {name: "" for each in rows for name in (*each.when, *each.unless)}
    actions = {name: "" for each in rows for name in each.do} | {name: "" for each in states for name in each.enter}
    delays = {each.after.delay: "" for each in states if each.after is not None}
    fields: dict[str, Any] = {
        "name": "order", "version": 1, "file": "shop/order.yaml", "spec_hash": "0" * 64, "doc": "", "context": None,
        "initial": states[0].name, "states": states, "events": tuple(events), "rows": rows, "guards": guards,
        "actions": actions, "delays": delays, "groups": {},
    }  # fmt: skip
    return MachineModel(**fields | more)


def order(**more: Any) -> MachineModel:
    """A small machine with every construct but a barrier."""
    return machine(
        [
            state("cart", doc="Still being filled."),
            state("paying", enter=("ask_payment",), after=TimerModel("payment_timeout", "payment_late")),
            state("checking", Kind.AUTO),
            state("packing", enter=("reserve", "print_label"), effect="parcel", label="Packing | boxing"),
            state("on_hold", Kind.WAIT, enter=("call_customer",)),
            state("delivered", Kind.FINAL, outcome="delivered"),
            state("cancelled", Kind.FINAL, outcome="cancelled"),
            state("stuck", Kind.HALT, doc="A person has to look."),
        ],
        [
            event("add", "builtins:str"),
            event("checkout"),
            event("paid", "builtins:int", authority=("session",), correlate="payment_id"),
            event("payment_late", unhandled=Unhandled.STALE),
            event("packed", unhandled=Unhandled.STALE),
            event("cancel", unhandled=Unhandled.IGNORE),
            event("deadline", unhandled=Unhandled.IGNORE),
        ],
        [
            row("cart", "add", None, 20, do=("put",)),
            row("cart", "checkout", "paying", 21, unless=("empty",)),
            row("cart", "cancel", "cancelled", 22),
            row("cart", "deadline", "cancelled", 22),
            row("paying", "paid", "checking", 23, do=("book",)),
            row("paying", "payment_late", "cancelled", 24),
            row("paying", "cancel", "cancelled", 25),
            row("paying", "deadline", "cancelled", 25),
            row("checking", None, "packing", 26, when=("in_stock", "address_known")),
            row("checking", None, "on_hold", 27),
            row("packing", "packed", "delivered", 28),
            row("packing", "cancel", "on_hold", 29),
            row("on_hold", "packed", "packing", 30, when=("in_stock",)),
            row("on_hold", "cancel", "cancelled", 31),
        ],
        **{"doc": "From a basket to a parcel.", "error": "stuck", "groups": {"STOP": ("cancel", "deadline")}} | more,
    )
