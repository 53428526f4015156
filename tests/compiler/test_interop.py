"""A machine handed to pytransitions behaves as with `advance`, but for what the module says it does not carry."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import transitions
from transitions.extensions import LockedMachine

from compiler.by_hand import event, machine, order, row, state
from compiler.golden import model_of
from pawl.runtime.fsm import step
from pawl.runtime.fsm.errors import UnhandledEvent
from pawl.runtime.fsm.table import Kind, Machine
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.interop import AUTOMATIC, Carrier, definitions, start, to_transitions
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.verify import verify


@attrs.frozen
class Context:
    """Guards answer from `holds`; every action notes itself in a new context and asks for an effect of its name."""

    holds: frozenset[str] = frozenset()
    done: tuple[tuple[str, object], ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(payload: object = None) -> Any:
            if name in GUARDS:
                return name in self.holds
            return attrs.evolve(self, done=(*self.done, (name, payload))), (f"effect of {name}",)

        return call

    def payment_timeout(self) -> None:
        return None

    def packing_timeout(self) -> None:
        return None


GUARDS = {*order().guards, *model_of("order").guards}
STORIES = [
    [("add", "pawl"), ("checkout", None), ("paid", 3), ("packed", None)],
    [("checkout", None), ("deadline", None)],
    [("checkout", None), ("internal_error", ValueError("x"))],
    [("internal_error", ValueError("x"))],
    [("cancel", None)],
]


def made(model: MachineModel) -> Machine[Any, Any]:
    return verify(model, emit_python(model))


@pytest.mark.parametrize("holds", [set(), {"in_stock"}, {"in_stock", "address_known"}, {"empty"}])
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("as_table", [False, True])
def test_both_engines_live_through_the_same_story(
    holds: set[str], story: list[tuple[str, object]], as_table: bool
) -> None:
    model = model_of("order")
    table, context = made(model), Context(frozenset(holds))
    theirs: Any = to_transitions(table if as_table else model, context)
    ours: Any = step.start(table, context)
    effects: list[object] = []
    start(theirs)

    for name, payload in story:
        try:
            ours = step.advance(table, ours.state, ours.context, name, payload)
        except UnhandledEvent:
            with pytest.raises(transitions.MachineError):
                theirs.model.trigger(name, payload)
            continue
        effects += [effect for effect in ours.effects if not isinstance(effect, step.Disarm)]
        theirs.model.trigger(name, payload)

        assert theirs.model.state == ours.state
        assert theirs.model.context == ours.context
        assert theirs.model.effects == effects


def test_an_event_without_a_row_is_ignored_or_refused_as_the_spec_says() -> None:
    theirs: Any = to_transitions(order(), Context())

    assert theirs.model.trigger("packed") is False
    assert theirs.model.state == "cart"
    with pytest.raises(transitions.MachineError, match="paid"):
        theirs.model.trigger("paid", 1)
    with pytest.raises(UnhandledEvent):
        step.advance(made(order()), "cart", Context(), "paid", 1)


def test_models_of_ones_own_are_called_with_what_the_trigger_was_called_with() -> None:
    class Order:
        calls: list[tuple[Any, ...]]

        def __init__(self) -> None:
            self.calls = []

        def put(self, *arguments: object) -> None:
            self.calls.append(arguments)

    theirs: Any = to_transitions(order())
    model = Order()
    theirs.add_model(model)

    model.add("pawl", 2)  # type: ignore[attr-defined]

    assert model.calls == [("pawl", 2)]


def test_another_class_of_pytransitions_can_be_asked_for() -> None:
    theirs: Any = to_transitions(order(), Context(), machine_class=LockedMachine, queued=True)

    assert isinstance(theirs, LockedMachine)
    model: Any = theirs.model
    model.trigger("checkout")
    assert model.state == "paying"


def test_automatic_rows_that_do_not_come_to_rest_are_an_error() -> None:
    model = machine(
        [state("a"), state("b", Kind.AUTO), state("c", Kind.AUTO)],
        [event("x")],
        [row("a", "x", "b"), row("b", None, "c"), row("c", None, "b")],
    )
    theirs: Any = to_transitions(model, Context())

    with pytest.raises(transitions.MachineError, match="do not come to rest"):
        theirs.model.trigger("x")


def test_names_of_a_spec_do_not_meet_names_of_pytransitions() -> None:
    """An event and an action may have one name, and a guard may be called as a method of the carrier is."""
    model = machine(
        [state("a"), state("b", enter=("refuse", "trigger"))],
        [event("refuse")],
        [row("a", "refuse", "b", unless=("method",))],
    )

    class Odd(Carrier):
        pass

    calls: list[str] = []
    context = type("C", (), {})()
    context.method = lambda _=None: False
    context.refuse = lambda _=None: calls.append("refuse")
    context.trigger = lambda _=None: calls.append("trigger")
    theirs: Any = to_transitions(model)
    theirs.add_model(Odd(context))

    theirs.model.trigger("refuse")

    assert calls == ["refuse", "trigger"]
    assert theirs.model.state == "b"


def test_an_event_called_state_needs_another_model_attribute() -> None:
    model = machine([state("a"), state("b")], [event("state")], [row("a", "state", "b")])

    with pytest.raises(ValueError, match="model attribute"):
        to_transitions(model)
    theirs: Any = to_transitions(model, Context(), model_attribute="place")
    theirs.model.trigger("state")
    assert theirs.model.place == "b"


def test_definitions_are_plain_data_in_spec_order() -> None:
    plain = definitions(order())

    assert plain.initial == "cart"
    assert plain.states[1] == {"name": "paying", "on_enter": ["ask_payment"], "final": False}
    assert [move["trigger"] for move in plain.transitions[:3]] == ["add", "checkout", "cancel"]
    assert {move["source"] for move in plain.transitions if move["trigger"] == AUTOMATIC} == {"checking"}
    assert plain == definitions(made(order()))
