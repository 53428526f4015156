"""The day of a support agent on each library of state machines: the same rows, guards and entries, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from pawl.runtime.fsm.session import Session
from pawl.runtime.fsm.step import advance
from pawl.tools.bench.lifecycle import DAY, MACHINE, ROWS, ByHand, Counting, Event, State


class Contestant(Protocol):
    """One library with the machine built."""

    def new(self) -> Any:
        """One instance, at the beginning."""

    def day(self, instance: Any) -> None:
        """Let it live the day once."""

    def seen(self, instance: Any) -> tuple[str, int]:
        """The state that it is in, and how often a state was entered."""


class Bare:
    """A table of dicts as a person would write it for speed: the reference."""

    _day = tuple((event.value, size) for event, size in DAY)

    def new(self) -> ByHand:
        """One object with two slots."""
        return ByHand()

    def day(self, instance: ByHand) -> None:
        """One call an event."""
        fire = instance.fire
        for event, size in self._day:
            fire(event, size)

    def seen(self, instance: ByHand) -> tuple[str, int]:
        """Its attributes."""
        return instance.state, instance.arrivals


class PawlAdvance:
    """`advance`, the pure step; the instance is a state and a context."""

    def new(self) -> list[Any]:
        """What a caller keeps."""
        return [MACHINE.initial, Counting()]

    def day(self, instance: list[Any]) -> None:
        """A Step an event."""
        state, context = instance
        for event, size in DAY:
            step = advance(MACHINE, state, context, event, size)
            state, context = step.state, step.context
        instance[0] = state

    def seen(self, instance: list[Any]) -> tuple[str, int]:
        """What is kept."""
        return str(instance[0]), instance[1].arrivals


class PawlSession:
    """`Session`, which keeps the state, queues events and knows when it is re-entered."""

    def new(self) -> Session[State, Event, Counting]:
        """Started, which enters the first state."""
        session: Session[State, Event, Counting] = Session(MACHINE, Counting())
        session.start()
        return session

    def day(self, instance: Session[State, Event, Counting]) -> None:
        """One call an event."""
        send = instance.send
        for event, size in DAY:
            send(event, size)

    def seen(self, instance: Session[State, Event, Counting]) -> tuple[str, int]:
        """Of its context."""
        return str(instance.state), instance.context.arrivals


class Transitions:
    """pytransitions: one Machine that models are added to, as it advises for many of them."""

    def __init__(self) -> None:
        from transitions import Machine

        rows = [
            {"source": source.value, "trigger": event.value, "conditions": guard, "dest": target.value}
            for source, event, guard, target in ROWS
        ]
        states = [{"name": state.value, "on_enter": "arrive"} for state in State]
        self._machine = Machine(None, states=states, transitions=rows, initial="idle", auto_transitions=False)
        self._day = [(event.value, size) for event, size in DAY]

    def new(self) -> Any:
        """A model, with what the machine binds to it."""

        class Model(Counting):
            __slots__ = ("__dict__",)

        model = Model()
        self._machine.add_model(model)
        return model

    def day(self, instance: Any) -> None:
        """One trigger an event."""
        trigger = instance.trigger
        for event, size in self._day:
            trigger(event, size)

    def seen(self, instance: Any) -> tuple[str, int]:
        """Its attributes."""
        return instance.state, instance.arrivals


class PythonStateMachine:
    """python-statemachine: a class built from its declarations, guards and the entry by name."""

    def __init__(self) -> None:
        from statemachine import State as Declared
        from statemachine import StateMachine

        states = {state: Declared(initial=state is State.IDLE) for state in State}
        body: dict[str, Any] = {state.value: declared for state, declared in states.items()}
        events: dict[str, Any] = {}
        for source, event, guard, target in ROWS:
            row = states[source].to(states[target], cond=guard) if guard else states[source].to(states[target])
            events[event.value] = events[event.value] | row if event.value in events else row
        body |= events

        def __init__(self: Any) -> None:
            self.arrivals = 0
            StateMachine.__init__(self)

        def on_enter_state(self: Any) -> None:
            self.arrivals += 1

        guards = {name: _keyword(getattr(Counting, name)) for _, _, name, _ in ROWS if name}
        body |= {"__init__": __init__, "on_enter_state": on_enter_state, **guards}
        self._kind = type("Agent", (StateMachine,), body)
        self._day = [(event.value, size) for event, size in DAY]

    def new(self) -> Any:
        """It enters the first state."""
        return self._kind()

    def day(self, instance: Any) -> None:
        """One send an event."""
        send = instance.send
        for event, size in self._day:
            send(event, size=size)

    def seen(self, instance: Any) -> tuple[str, int]:
        """Its attributes."""
        return next(iter(instance.configuration)).id, instance.arrivals


def _keyword(guard: Callable[[Any, int], bool]) -> Callable[..., bool]:
    def asked(self: Any, size: int) -> bool:
        return guard(self, size)

    return asked


class Automat:
    """Automat has no guards: the caller asks them and picks one of the inputs, in the order of the rows."""

    def __init__(self) -> None:
        from automat import TypeMachineBuilder

        inputs = {_input(event, guard): _wanted(_input(event, guard)) for _, event, guard, _ in ROWS}
        protocol: Any = type("Inputs", (Protocol,), dict(inputs))

        class Core(Counting):
            __slots__ = ("state",)

            def __init__(self) -> None:
                super().__init__()
                self.state = State.IDLE.value

        builder = TypeMachineBuilder(protocol, Core)
        states = {state: builder.state(state.value) for state in State}
        for source, event, guard, target in ROWS:
            states[source].upon(getattr(protocol, _input(event, guard))).to(states[target])(_entering(target.value))
        self._core, self._make = Core, builder.build()
        self._inputs: dict[tuple[str, str], tuple[tuple[Callable[..., bool] | None, str], ...]] = {}
        for source, event, guard, _ in ROWS:
            choice = (getattr(Counting, guard) if guard else None, _input(event, guard))
            place = (source.value, event.value)
            self._inputs[place] = (*self._inputs.get(place, ()), choice)
        self._day = [(event.value, size) for event, size in DAY]

    def new(self) -> Any:
        """The machine and the core that it moves."""
        core = self._core()
        return self._make(core), core

    def day(self, instance: Any) -> None:
        """The guards of an event, then one input."""
        machine, core = instance
        for event, size in self._day:
            for guard, name in self._inputs[core.state, event]:
                if guard is None or guard(core, size):
                    getattr(machine, name)(size)
                    break

    def seen(self, instance: Any) -> tuple[str, int]:
        """Of its core."""
        return instance[1].state, instance[1].arrivals


def _wanted(name: str) -> Callable[..., None]:
    """A method of the protocol of inputs, which is known by its name."""

    def wanted(self: Any, size: int) -> None: ...

    wanted.__name__ = name
    return wanted


def _input(event: Event, guard: str | None) -> str:
    return f"{event.value}_{guard}" if guard else event.value


def _entering(state: str) -> Callable[..., None]:
    def entered(inputs: Any, core: Any, size: int) -> None:
        core.state = state
        core.arrive(size)

    return entered


CONTESTANTS: Final[dict[str, tuple[str, Callable[[], Contestant]]]] = {
    "bare: nested dicts": ("", Bare),
    "Pawl: advance": ("", PawlAdvance),
    "Pawl: Session": ("", PawlSession),
    "Automat": ("Automat", Automat),
    "pytransitions": ("pytransitions", Transitions),
    "python-statemachine": ("python-statemachine", PythonStateMachine),
}
"""Name in the table to the peer that it needs, and to what makes it."""
