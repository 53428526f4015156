"""`advance`: one event through a machine. Pure: it reads no clock, awaits nothing, holds no lock.

Rows are tried in order and the first whose guards agree wins. Entry actions run after the state change.
Automatic rows follow in the same call, then the events that actions raised, each to rest, before the caller
may bring the next outside event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence
from math import isfinite
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import attrs

from pawl.runtime.fsm.errors import AutomaticLoop, InvalidAction, InvalidGuard, StepFailed, UnhandledEvent, UnknownState
from pawl.runtime.fsm.table import (
    INTERNAL_ERROR,
    After,
    Compiled,
    E,
    Kind,
    Machine,
    Row,
    S,
    StateInfo,
    Taken,
    Unhandled,
)

C = TypeVar("C")


@attrs.frozen(slots=True)
class Raise:
    """Effect: deliver `event` to this same machine after the current step, before any outside event."""

    event: str
    payload: object = None


@attrs.frozen(slots=True)
class Arm:
    """Effect: arm the timer of `state`; `event` is due after `seconds`."""

    state: str
    event: str
    seconds: float


@attrs.frozen(slots=True)
class Disarm:
    """Effect: the timer of `state` no longer matters."""

    state: str


class Step(NamedTuple, Generic[S, C]):
    """What one event did: the new state and context, the effects asked for, in order, and the rows taken."""

    state: S
    context: C
    effects: tuple[object, ...]
    taken: Taken
    rows: tuple[Row[Any, Any], ...]


_QUIET: tuple[object, ...] = ()
_MOVED, _STAYED = Taken.MOVED, Taken.STAYED  # Python 3.11 takes 80 ns to find a member in its class
_new: Any = tuple.__new__

_Rows: TypeAlias = tuple[Row[Any, Any], ...]

_Tried: TypeAlias = tuple[_Rows, S, C, tuple[object, ...], object, str, Exception | None]
"""A `_Run` without its names, which cost as much again to make."""


class _Run(NamedTuple, Generic[S, C]):
    """What trying some rows came to: no `rows`, no guard agreed; an `error`, the method `name` raised it."""

    rows: _Rows
    state: S
    context: C
    effects: tuple[object, ...]
    payload: object
    name: str = ""
    error: Exception | None = None


def advance(machine: Machine[S, E], state: S, context: C, event: E | str, payload: object = None) -> Step[S, C]:
    """Take `event` in `state` and go on to rest.

    `context` has the guards (`name(payload) -> bool`) and actions (`name(payload) -> None | (context, effects)`).
    Raises UnhandledEvent (no row, and the spec does not say ignore or stale), UnknownState, StepFailed (user code
    raised and the spec names no way out), AutomaticLoop, InvalidAction, InvalidGuard.
    """
    try:
        cell = machine.dispatch[state][event]
    except KeyError:
        cell = None
    if cell is None:
        return _unhandled(machine, state, context, event)
    begun: tuple[Row[Any, Any], ...] = ()
    at, effects = state, _QUIET
    try:
        # The hot path of the library: `_attempt` written out, measured by `pawl bench advance`.
        for guards, target, actions, taken, row in cell:
            for name, wanted in guards:
                value = getattr(context, name)(payload)
                if value is not wanted and (value is (not wanted) or _truth(machine, name, value) is not wanted):
                    break
            else:
                if taken is None:
                    break
                begun, at = row, target
                for name in actions:
                    result = getattr(context, name)(payload)
                    if result is not None:
                        if type(result) is not tuple or len(result) != 2 or type(result[1]) is not tuple:
                            raise _misuse(machine, name, result)
                        context, asked = result
                        effects = effects + asked if effects else asked
                break
        else:
            return Step(state, context, _QUIET, Taken.BLOCKED, ())
    except (InvalidAction, InvalidGuard):
        raise
    except Exception as error:
        return _settle(machine, (begun, at, context, effects, payload, name, error), state)
    if taken is None:  # automatic rows or timers follow
        return _settle(
            machine, _attempt(machine, (((), row[0].target, actions, None, row),), state, context, payload), state
        )
    if effects:
        for effect in effects:
            if type(effect) is Raise:
                return _settle(machine, (begun, at, context, effects, payload, "", None), state)
    return _new(Step, (at, context, effects, taken, row))  # type: ignore[no-any-return]


def start(machine: Machine[S, E], context: C, payload: object = None) -> Step[S, C]:
    """Enter the initial state: its entry actions, its timer, then automatic rows to rest."""
    return enter(machine, machine.initial, context, payload)


def enter(machine: Machine[S, E], state: S, context: C, payload: object = None) -> Step[S, C]:
    """Enter `state` as a new session does: its entry actions, its timer, then automatic rows to rest."""
    _state(machine, state)
    return _settle(machine, _attempt(machine, (machine.entry[state],), state, context, payload), None)


def _enters(rows: _Rows) -> bool:
    """Whether a state was entered (the same one again counts)."""
    return any(row.target is not None for row in rows)


def _attempt(
    machine: Machine[S, E], cell: Sequence[Compiled[S, E]], state: S, context: C, payload: object, entered: bool = False
) -> _Tried[S, C]:
    """The first row whose guards agree, and what its actions made, or what raised.

    `entered`: `state` was entered just now and its timer is not armed yet.
    """
    begun: tuple[Row[Any, Any], ...] = ()
    effects = _QUIET
    at, name = state, ""
    try:
        for guards, target, actions, _taken, row in cell:
            for name, wanted in guards:
                value = getattr(context, name)(payload)
                if value is not wanted and (value is (not wanted) or _truth(machine, name, value) is not wanted):
                    break
            else:
                begun, at = row, target
                for name in actions:
                    result = getattr(context, name)(payload)
                    if result is not None:
                        if type(result) is not tuple or len(result) != 2 or type(result[1]) is not tuple:
                            raise _misuse(machine, name, result)
                        context, asked = result
                        effects = effects + asked if effects else asked
                after = machine.timed.get(target) if entered or row[0].target is not None else None
                if after is not None:
                    name = after.delay
                    effects = (*_arm(target, after, getattr(context, name)()), *effects)
                break
    except (InvalidAction, InvalidGuard):
        raise
    except Exception as error:
        return begun, at, context, effects, payload, name, error
    return begun, at, context, effects, payload, "", None


def _recover(machine: Machine[S, E], failed: _Run[S, C]) -> _Run[S, C]:
    """Raise `internal_error` where the failure left the session; a second failure, or no row, is StepFailed."""
    cell = machine.dispatch[failed.state].get(INTERNAL_ERROR, ())
    run = _Run(*_attempt(machine, cell, failed.state, failed.context, failed.error, entered=_enters(failed.rows)))
    rows, effects = failed.rows + run.rows, failed.effects + run.effects
    if run.error is None and run.rows:
        return run._replace(rows=rows, effects=effects)
    last = run if run.error is not None else failed
    assert last.error is not None
    raise StepFailed(machine.name, run.state, last.name, last.error, run.context, effects) from last.error


def _truth(machine: Machine[S, E], name: str, value: object) -> bool:
    """What a guard means that did not answer True or False; a coroutine would always mean yes."""
    if isinstance(value, Awaitable):
        _close(value)
        raise InvalidGuard(machine.name, name, value)
    return bool(value)


def _misuse(machine: Machine[S, E], name: str, result: object) -> InvalidAction:
    _close(result)
    return InvalidAction(machine.name, name, result)


def _close(value: object) -> None:
    if isinstance(value, Coroutine):
        value.close()  # no second warning, about an un-awaited coroutine, on top of the error


def _arm(state: str, after: After[Any], seconds: float | None) -> tuple[Arm, ...]:
    if seconds is None:
        return ()
    if not isfinite(seconds):
        raise ValueError(f"delay '{after.delay}' is {seconds}; return a finite number of seconds, or None for no timer")
    return (Arm(str(state), str(after.event), float(seconds)),)


def _settle(machine: Machine[S, E], run: _Tried[S, C], source: S | None) -> Step[S, C]:
    """Automatic rows, then raised events, until nothing is left to do here; what raises goes to `internal_error`.

    `source` None: a first entry.
    """
    taken = _STAYED
    rows: list[Row[Any, Any]] = []
    out: list[object] = []
    raised: deque[Raise] = deque()
    timed, automatics = machine.timed, machine.automatic
    hops, automatic = 0, False
    while True:
        if run[-1] is not None:
            run = _recover(machine, _Run(*run))
        begun, state, context, effects, payload, _, _ = run
        if automatic and begun:
            hops += 1
            if hops > 4 * len(machine.states):
                raise AutomaticLoop(machine.name, _cycle(rows))
        rows += begun
        entered = begun[0].target is not None if len(begun) == 1 else _enters(begun)
        if entered:
            taken = _MOVED
            if source is not None and source in timed:
                out.append(Disarm(str(source)))
        for effect in effects:
            if type(effect) is Raise:
                raised.append(effect)
            else:
                out.append(effect)
        source = state
        automatic = entered and source in automatics
        if automatic:
            run = _attempt(machine, automatics[source], source, context, payload)
        elif raised:
            hops = 0
            run = _deliver(machine, raised.popleft(), source, context)
        else:
            return _new(Step, (source, context, tuple(out), taken, tuple(rows)))  # type: ignore[no-any-return]


def _deliver(machine: Machine[S, E], inner: Raise, state: S, context: C) -> _Tried[S, C]:
    """Take a raised event. Nobody outside can be told that it is refused here: that is an error inside."""
    cell = machine.dispatch[state].get(inner.event)
    if cell is not None:
        return _attempt(machine, cell, state, context, inner.payload)
    refused: UnhandledEvent | None = None
    if machine.state[state].kind not in (Kind.FINAL, Kind.HALT):  # there, late is nothing
        try:
            _unhandled(machine, state, context, inner.event)
        except UnhandledEvent as error:
            refused = error
    return (), state, context, _QUIET, inner.payload, str(inner.event), refused


def _cycle(rows: list[Row[Any, Any]]) -> tuple[str, ...]:
    """The states from the last time that the last one was left until it came again."""
    last = str(rows[-1].target or rows[-1].source)
    names = [str(row.source) for row in rows]
    begin = len(names) - 1 - names[::-1].index(last) if last in names else 0
    return (*names[begin:], last)


def _unhandled(machine: Machine[S, E], state: S, context: C, event: E | str) -> Step[S, C]:
    _state(machine, state)
    info = machine.event.get(event)
    match info.unhandled if info is not None else None:
        case Unhandled.IGNORE:
            return Step(state, context, _QUIET, Taken.IGNORED, ())
        case Unhandled.STALE:
            return Step(state, context, _QUIET, Taken.STALE, ())
        case _:
            raise UnhandledEvent(machine.name, state, event, allowed(machine, state))


def _state(machine: Machine[S, E], state: S) -> StateInfo[S, E]:
    info = machine.state.get(state)
    if info is None:
        raise UnknownState(machine.name, state, machine.state)
    return info


def allowed(machine: Machine[S, E], state: S) -> tuple[str, ...]:
    """The events that have a row in `state`, in the order of the rows; `internal_error` is nobody's to send."""
    _state(machine, state)
    return tuple(str(event) for event in machine.dispatch[state] if event != INTERNAL_ERROR)


def can(machine: Machine[S, E], state: S, context: object, event: E | str, payload: object = None) -> bool:
    """Whether a row would be taken. Calls guards only; nothing changes."""
    return explain(machine, state, context, event, payload).row is not None


class Explanation(NamedTuple):
    """Why an event would or would not move: the row that would be taken, and each guard tried."""

    row: Row[Any, Any] | None
    tried: tuple[tuple[Row[Any, Any], tuple[tuple[str, bool, bool], ...]], ...]
    """Each row tried, with (guard, value, wanted) as far as it was evaluated."""
    unhandled: Unhandled | None

    def __str__(self) -> str:
        lines = []
        for row, guards in self.tried:
            verdict = "taken" if row is self.row else "passed over"
            facts = ", ".join(f"{name} is {value}" for name, value, _ in guards) or "no guard"
            lines.append(f"line {row.line}: {row.source} -> {row.target or 'stay'}: {verdict} ({facts})")
        if not self.tried:
            lines.append(f"no row here: {self.unhandled or Unhandled.REFUSE}")
        return "\n".join(lines)


def explain(machine: Machine[S, E], state: S, context: object, event: E | str, payload: object = None) -> Explanation:
    """Try the rows as `advance` would, calling guards only, and say what each one answered."""
    _state(machine, state)
    tried = []
    for guards, _target, _actions, _taken, (row,) in machine.dispatch[state].get(event, ()):
        facts: list[tuple[str, bool, bool]] = []
        for name, wanted in guards:
            value = _truth(machine, name, getattr(context, name)(payload))
            facts.append((name, value, wanted))
            if value is not wanted:
                break
        tried.append((row, tuple(facts)))
        if all(value is wanted for _, value, wanted in facts):
            return Explanation(row, tuple(tried), None)
    info = machine.event.get(event)
    return Explanation(None, tuple(tried), info.unhandled if info is not None else None)
