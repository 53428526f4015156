"""`advance`: one event through a machine. Pure: it reads no clock, awaits nothing, holds no lock.

Rows are tried in order and the first whose guards agree wins. Entry actions run after the state change.
Automatic rows follow in the same call, then the events that actions raised, each to rest, before the caller
may bring the next outside event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import attrs

from pawl.runtime.fsm.errors import AutomaticLoop, InvalidAction, MachineError, StepFailed, UnhandledEvent
from pawl.runtime.fsm.table import INTERNAL_ERROR, Compiled, E, Machine, Row, S, Taken, Unhandled

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
_new: Any = tuple.__new__


def advance(machine: Machine[S, E], state: S, context: C, event: E | str, payload: object = None) -> Step[S, C]:
    """Take `event` in `state` and go on to rest.

    `context` has the guards (`name(payload) -> bool`) and actions (`name(payload) -> None | (context, effects)`).
    Raises UnhandledEvent (no row, and the spec does not say ignore or stale), StepFailed (user code raised and
    the spec names no way out), AutomaticLoop, InvalidAction.
    """
    cell = machine.dispatch[state].get(event)
    if cell is None:
        return _unhandled(machine, state, context, event)
    at, name = state, ""
    try:
        # The hot path of the library: `_first` written out, measured by `pawl bench advance`.
        for guards, target, actions, taken, row in cell:
            for name, wanted in guards:
                if (not getattr(context, name)(payload)) is wanted:
                    break
            else:
                at, effects = target, _QUIET
                for name in actions:
                    result = getattr(context, name)(payload)
                    if result is not None:
                        if type(result) is not tuple or len(result) != 2 or type(result[1]) is not tuple:
                            raise _misuse(machine, name, result)
                        context, asked = result
                        effects = effects + asked if effects else asked
                if taken is not None:
                    for effect in effects:
                        if type(effect) is Raise:
                            break
                    else:
                        return _new(Step, (target, context, effects, taken, row))  # type: ignore[no-any-return]
                return _settle(machine, row[0], state, target, context, effects, payload)
        return Step(state, context, _QUIET, Taken.BLOCKED, ())
    except MachineError:
        raise
    except Exception as error:
        found, after, context, effects = _recover(machine, at, context, name, error)
        return _settle(machine, found, state, after, context, effects, error)


def start(machine: Machine[S, E], context: C, payload: object = None) -> Step[S, C]:
    """Enter the initial state: its entry actions, then automatic rows to rest."""
    return enter(machine, machine.initial, context, payload)


def enter(machine: Machine[S, E], state: S, context: C, payload: object = None) -> Step[S, C]:
    """Enter `state` as a new session does: its entry actions, its timer, then automatic rows to rest."""
    row: Row[S, E] = Row(state, None, state)
    entry: Compiled[S, E] = ((), state, machine.state[state].enter, None, (row,))
    found, at, context, effects = _first(machine, (entry,), state, context, payload)
    assert found is not None
    return _settle(machine, found, None, at, context, effects, payload)


def _first(
    machine: Machine[S, E], cell: Sequence[Compiled[S, E]], state: S, context: C, payload: object
) -> tuple[Row[S, E] | None, S, C, tuple[object, ...]]:
    """The first row whose guards agree, and what its actions made; what raises goes to `internal_error`."""
    at, name = state, ""
    try:
        for guards, target, actions, _taken, row in cell:
            for name, wanted in guards:
                if (not getattr(context, name)(payload)) is wanted:
                    break
            else:
                at, effects = target, _QUIET
                for name in actions:
                    result = getattr(context, name)(payload)
                    if result is not None:
                        if type(result) is not tuple or len(result) != 2 or type(result[1]) is not tuple:
                            raise _misuse(machine, name, result)
                        context, asked = result
                        effects += asked
                return row[0], target, context, effects
        return None, state, context, _QUIET
    except MachineError:
        raise
    except Exception as error:
        return _recover(machine, at, context, name, error)


def _misuse(machine: Machine[S, E], name: str, result: object) -> InvalidAction:
    if isinstance(result, Coroutine):
        result.close()  # no second warning, about an un-awaited coroutine, on top of the error
    return InvalidAction(machine.name, name, result)


def _recover(
    machine: Machine[S, E], state: S, context: C, name: str, error: Exception
) -> tuple[Row[S, E], S, C, tuple[object, ...]]:
    """Raise `internal_error` where the failure left the session; a second failure, or no row, is StepFailed."""
    try:
        for guards, target, actions, _taken, row in machine.dispatch[state].get(INTERNAL_ERROR, ()):
            if all(bool(getattr(context, guard)(error)) is wanted for guard, wanted in guards):
                effects = _QUIET
                for action in actions:
                    result = getattr(context, action)(error)
                    if result is not None:
                        context, asked = result
                        effects += asked
                return row[0], target, context, effects
    except Exception as second:
        raise StepFailed(machine.name, state, name, second) from second
    raise StepFailed(machine.name, state, name, error) from error


def _settle(
    machine: Machine[S, E],
    row: Row[S, E],
    source: S | None,
    state: S,
    context: C,
    effects: tuple[object, ...],
    payload: object,
) -> Step[S, C]:
    """Automatic rows, then raised events, until nothing is left to do here. `source` None: a first entry."""
    taken = Taken.MOVED if row.target is not None else Taken.STAYED
    rows: list[Row[S, E]] = []
    out: list[object] = []
    raised: deque[Raise] = deque()
    found: Row[S, E] | None = row
    hops = 0
    while True:
        if found is not None:
            rows.append(found)
            if found.target is not None:
                taken = Taken.MOVED
                _timers(machine, source, state, context, out)
            for effect in effects:
                if type(effect) is Raise:
                    raised.append(effect)
                else:
                    out.append(effect)
        source = state
        if found is not None and found.target is not None and state in machine.automatic:
            hops += 1
            if hops > 4 * len(machine.states):
                raise AutomaticLoop(machine.name, _cycle(rows))
            cell = machine.automatic[state]
        elif raised:
            hops, (event, payload) = 0, _take(raised)
            handled = machine.dispatch[state].get(event)
            cell = handled if handled is not None else ()
            if handled is None:
                _unhandled(machine, state, context, event)
        elif found is None or found.target is None or state not in machine.automatic:
            return Step(state, context, tuple(out), taken, tuple(rows))
        found, state, context, effects = _first(machine, cell, state, context, payload)


def _take(raised: deque[Raise]) -> tuple[str, object]:
    inner = raised.popleft()
    return inner.event, inner.payload


def _timers(machine: Machine[S, E], source: S | None, target: S, context: object, out: list[object]) -> None:
    """Disarm the timer of the state that was left, arm that of the state entered."""
    timed = machine.timed
    if source is not None and source in timed:
        out.append(Disarm(str(source)))
    after = timed.get(target)
    if after is not None:
        seconds = getattr(context, after.delay)()
        if seconds is not None:
            out.append(Arm(str(target), str(after.event), float(seconds)))


def _cycle(rows: list[Row[Any, Any]]) -> tuple[str, ...]:
    last = str(rows[-1].target)
    names = [str(row.source) for row in rows]
    start = len(names) - 1 - names[::-1].index(last) if last in names else 0
    return (*names[start:], last)


def _unhandled(machine: Machine[S, E], state: S, context: C, event: E | str) -> Step[S, C]:
    info = machine.event.get(event)
    match info.unhandled if info is not None else None:
        case Unhandled.IGNORE:
            return Step(state, context, _QUIET, Taken.IGNORED, ())
        case Unhandled.STALE:
            return Step(state, context, _QUIET, Taken.STALE, ())
        case _:
            raise UnhandledEvent(machine.name, state, event, machine.dispatch[state])


def allowed(machine: Machine[S, E], state: S) -> tuple[str, ...]:
    """The events that have a row in `state`, in spec order."""
    return tuple(str(event) for event in machine.dispatch[state])


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
    tried = []
    for guards, _target, _actions, _taken, (row,) in machine.dispatch[state].get(event, ()):
        facts: list[tuple[str, bool, bool]] = []
        for name, wanted in guards:
            value = bool(getattr(context, name)(payload))
            facts.append((name, value, wanted))
            if value is not wanted:
                break
        tried.append((row, tuple(facts)))
        if all(value is wanted for _, value, wanted in facts):
            return Explanation(row, tuple(tried), None)
    info = machine.event.get(event)
    return Explanation(None, tuple(tried), info.unhandled if info is not None else None)
