"""How long a step takes, beside the same table written by hand and beside pytransitions."""

from __future__ import annotations

from typing import Any

from pawl.runtime.fsm.step import advance
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.lifecycle import DAY, MACHINE, ROWS, ByHand, Counting, Returning, State
from pawl.tools.bench.paired import Work, ratios

DAYS = 40

_BATCHES = 15
"""The limits are near: another program's work must not hide the best batch."""


def guard_action_ratio() -> Figure:
    """A step with about one guard and one entry action that returns None; times the hand-written table."""
    value = min(ratios(_stepping(Counting), _by_hand(DAYS), batches=_BATCHES))
    note = "methods are looked up by name in the context of each step, and the step is a value"
    return Figure("advance_guard_action_ratio", value, 3.0, "times", note=note)


def context_effect_ratio() -> Figure:
    """The same with an action that returns a new frozen context and an effect."""
    value = min(ratios(_stepping(Returning), _by_hand(DAYS), batches=_BATCHES))
    note = "half of it is the action's own: a new context and an effect, which the table by hand does not make"
    return Figure("advance_context_effect_ratio", value, 6.0, "times", note=note)


def versus_transitions() -> Figure:
    """How many times faster than pytransitions on the same machine and the same day."""
    value = max(ratios(_by_transitions(4), _stepping(Counting, 4), batches=5))
    note = "the reference: what pytransitions makes for each event"
    return Figure("advance_vs_transitions", value, 5.0, "times", "at_least", note=note)


def _stepping(context_class: type[Any], days: int = DAYS) -> Work:
    def work() -> None:
        state, context = MACHINE.initial, context_class()
        for _ in range(days):
            for event, size in DAY:
                step = advance(MACHINE, state, context, event, size)
                state, context = step.state, step.context
        _check(state, context, days)

    return work


def _by_hand(days: int) -> Work:
    day = [(event.value, size) for event, size in DAY]

    def work() -> None:
        agent = ByHand()
        fire = agent.fire
        for _ in range(days):
            for event, size in day:
                fire(event, size)
        _check(agent.state, agent, days)

    return work


def _by_transitions(days: int) -> Work:
    from transitions import Machine

    rows = [
        {"source": source.value, "trigger": event.value, "conditions": guard, "dest": target.value}
        for source, event, guard, target in ROWS
    ]
    shared = Machine(
        model=None,
        states=[{"name": state.value, "on_enter": "arrive"} for state in State],
        transitions=rows,
        initial=State.IDLE.value,
        auto_transitions=False,
    )
    day = [(event.value, size) for event, size in DAY]

    class Model(Counting):
        """The context again, with room for what pytransitions hangs on it."""

    def work() -> None:
        model: Any = Model()
        shared.add_model(model)
        trigger = model.trigger
        for _ in range(days):
            for event, size in day:
                trigger(event, size)
        shared.remove_model(model)
        _check(model.state, model, days)

    return work


def _check(state: str, context: Any, days: int) -> None:
    """A competitor that did something else would win for nothing."""
    if state != State.IDLE or context.arrivals != days * len(DAY):
        raise AssertionError(f"ended in '{state}' after {context.arrivals} entries")
