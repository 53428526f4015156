"""Two engines, one machine: every cell of a machine driven through `advance` and through pytransitions.

One side is the table that the generated module makes (so the generator is on trial, too), the other a plain
`transitions.Machine` loaded from the model. For every state and event, and every way its guards can answer, both must
take the same row, run the same actions in the same order and end in the same state.

* Automatic rows are compared hop by hop: on both sides an eventless row is a row on one synthetic event, and no
  state goes on by itself. That a chain is followed to its end is the engine's own affair and tested there.
* A cell with at most EXHAUSTIVE guards is tried with all 2^n answers. Beyond, the answers are: for each row the ones
  that make it the first to pass, each of those with one guard turned round, and SAMPLES more drawn with a seed made
  of the names of machine, state and event, so a run repeats exactly.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import attrs
import transitions

from pawl.runtime.fsm.errors import UnhandledEvent
from pawl.runtime.fsm.step import advance
from pawl.runtime.fsm.table import INTERNAL_ERROR, EventInfo, Kind, Machine, Taken, Unhandled
from pawl.tools.compiler.interop import AUTOMATIC, definitions
from pawl.tools.compiler.model import MachineModel, Position

EXHAUSTIVE = 12
SAMPLES = 2000
_ATTRIBUTE = "state__"
"""Where pytransitions keeps the state; no event has this name, as one may have `state`."""


@attrs.frozen
class Difference:
    """One cell in which the engines disagree; `str()` is one line, in the form of a finding."""

    position: Position
    message: str

    def __str__(self) -> str:
        at = self.position
        return f"{at.file}:{at.line}:{at.column}: X01 {self.message}"


@attrs.frozen
class CrossCheck:
    """What was compared: how many (state, event) cells, how many guard answers in all, and the differences."""

    cells: int
    answers: int
    differences: tuple[Difference, ...]


@attrs.frozen
class _Outcome:
    """What one engine did in one cell with one set of answers."""

    state: str
    row: int | None
    """Index of the row taken, counted as in `definitions`; None: no guard passed."""
    actions: tuple[str, ...] = ()
    moved: bool = False
    unhandled: Unhandled | None = None
    """There is no row at all, and this is what the event then means; pytransitions has no word for it but the model."""

    def __str__(self) -> str:
        if self.unhandled is not None:
            return f"no row here, {self.unhandled.value}"
        if self.row is None:
            return f"no row, stays in '{self.state}'"
        way = f"to '{self.state}'" if self.moved else f"staying in '{self.state}'"
        return f"row {self.row} {way}" + (f" with {', '.join(self.actions)}" if self.actions else "")


Guarded = list[tuple[tuple[str, bool], ...]]
"""The rows of one cell in order, each as its (guard, wanted) pairs."""


def cross_check(model: MachineModel, machine: Machine[Any, Any]) -> CrossCheck:
    """Drive `machine` (made by the text generated for `model`) and pytransitions (loaded from it) through all cells."""
    return _Bench(model, machine).run()


class _Bench:
    """Both engines with the same guards and actions, shared by every cell."""

    def __init__(self, model: MachineModel, machine: Machine[Any, Any]) -> None:
        self.model = model
        self.answers: dict[str, bool] = {}
        self.done: list[str] = []
        self.taken: int | None = None
        self.moved = False
        self.unhandled = {event.name: event.unhandled or Unhandled.REFUSE for event in model.events}
        self.calls: dict[str, Callable[..., Any]] = {name: self._guard(name) for name in model.guards}
        self.calls |= {name: self._action(name) for name in model.actions}
        self.table = _by_hop(machine)
        self.context = _context(self.calls)
        self.indices = self._indices()
        self.oracle = self._oracle()

    def run(self) -> CrossCheck:
        differences: list[Difference] = []
        cells = tried = 0
        events = dict.fromkeys((*(event.name for event in self.model.events), INTERNAL_ERROR, AUTOMATIC))
        for state in self.model.states:
            for event in events:
                rows = self._cell(state.name, event)
                cells += bool(rows)
                seed = f"{self.model.name}/{state.name}/{event}"
                for answers in _valuations(rows, seed) if rows else ({},):
                    tried += 1
                    found = self._compare(state.name, event, answers, bool(rows))
                    if found is not None:
                        differences.append(found)
                        break  # one for a cell says enough
        return CrossCheck(cells, tried, tuple(differences))

    def _compare(self, state: str, event: str, answers: dict[str, bool], rows: bool) -> Difference | None:
        self.answers = answers
        ours, theirs = self._advance(state, event), self._trigger(state, event)
        if ours == theirs and (ours.unhandled is None) is rows:
            return None
        name = "the automatic rows" if event == AUTOMATIC else f"'{event}'"
        given = ", ".join(f"{guard} is {value}" for guard, value in answers.items()) or "no guards"
        message = f"{name} in '{state}' ({given}): the table says {ours}, pytransitions says {theirs}"
        return Difference(self._place(state, event), f"{message}; this is a fault of pawl, please report it")

    def _advance(self, state: str, event: str) -> _Outcome:
        self.done = []
        try:
            step = advance(self.table, state, self.context, event)
        except UnhandledEvent:
            return _Outcome(state, None, unhandled=Unhandled.REFUSE)
        match step.taken:
            case Taken.IGNORED:
                return _Outcome(str(step.state), None, unhandled=Unhandled.IGNORE)
            case Taken.STALE:
                return _Outcome(str(step.state), None, unhandled=Unhandled.STALE)
            case _:
                row = self.indices.get(id(step.rows[0]), -1) if step.rows else None
                return _Outcome(str(step.state), row, tuple(self.done), step.taken is Taken.MOVED)

    def _trigger(self, state: str, event: str) -> _Outcome:
        self.done, self.taken, self.moved = [], None, False
        known = self.oracle.events.get(event)
        if known is None or state not in known.transitions:
            return _Outcome(state, None, unhandled=self.unhandled.get(event, Unhandled.REFUSE))
        model = SimpleNamespace(**{_ATTRIBUTE: state})
        known.trigger(model, None)
        return _Outcome(getattr(model, _ATTRIBUTE), self.taken, tuple(self.done), self.moved)

    def _cell(self, state: str, event: str) -> Guarded:
        named = None if event == AUTOMATIC else event
        rows = [row for row in self.model.rows if row.source == state and row.event == named]
        if not rows and event == INTERNAL_ERROR and state in self.oracle.events[event].transitions:
            return [()]
        return [tuple([(g, True) for g in row.when] + [(g, False) for g in row.unless]) for row in rows]

    def _place(self, state: str, event: str) -> Position:
        named = None if event == AUTOMATIC else event
        rows = (row.at for row in self.model.rows if row.source == state and row.event == named)
        return next(rows, next(each.at for each in self.model.states if each.name == state))

    def _oracle(self) -> transitions.Machine:
        made = definitions(self.model)
        for state in made.states:
            state["on_enter"] = [self.calls[name] for name in state["on_enter"]]
            state["on_exit"] = [self._leaving]
        for index, move in enumerate(made.transitions):
            for key in ("conditions", "unless", "before"):
                move[key] = [self.calls[name] for name in move[key]]
            move["after"] = [self._noting(index)]
        machine = transitions.Machine(
            model=None,
            states=made.states,
            initial=made.initial,
            transitions=made.transitions,
            auto_transitions=False,
            model_attribute=_ATTRIBUTE,
        )
        machine.events.setdefault(INTERNAL_ERROR, transitions.Event(INTERNAL_ERROR, machine))
        return machine

    def _indices(self) -> dict[int, int]:
        """Row of the table to its index in `definitions`, the default rows of `internal_error` after the others."""
        found = {id(row): index for index, row in enumerate(self.table.rows)}
        extra = definitions(self.model).transitions[len(self.model.rows) :]
        for index, move in enumerate(extra, start=len(self.model.rows)):
            cell = self.table.dispatch[move["source"]].get(INTERNAL_ERROR, ())
            found |= {id(compiled[-1][0]): index for compiled in cell}
        return found

    def _guard(self, name: str) -> Callable[..., bool]:
        return lambda _payload=None: self.answers[name]

    def _action(self, name: str) -> Callable[..., None]:
        return lambda _payload=None: self.done.append(name)

    def _leaving(self, _payload: object = None) -> None:
        self.moved = True

    def _noting(self, index: int) -> Callable[..., None]:
        def note(_payload: object = None) -> None:
            self.taken = index

        return note


def _context(calls: dict[str, Callable[..., Any]]) -> object:
    """An object that has the guards and actions, and nothing else that a name could meet."""
    return type("Context", (), {name: staticmethod(call) for name, call in calls.items()})()


def _by_hop(machine: Machine[Any, Any]) -> Machine[Any, Any]:
    """The table with eventless rows on a synthetic event, so that each hop is one call; timers are left out."""
    kinds = {Kind.AUTO: Kind.PLAIN}
    return attrs.evolve(
        machine,
        states=tuple(attrs.evolve(each, kind=kinds.get(each.kind, each.kind), after=None) for each in machine.states),
        events=(*machine.events, EventInfo(AUTOMATIC)),
        rows=tuple(
            attrs.evolve(row, event=AUTOMATIC) if row.event is None else attrs.evolve(row) for row in machine.rows
        ),
    )


def _valuations(rows: Guarded, seed: str) -> Iterator[dict[str, bool]]:
    """Every way the guards of a cell can answer, or many of them (see above)."""
    guards = list(dict.fromkeys(name for row in rows for name, _ in row))
    if len(guards) <= EXHAUSTIVE:
        for values in itertools.product((False, True), repeat=len(guards)):
            yield dict(zip(guards, values, strict=True))
        return
    for index, row in enumerate(rows):
        first = dict.fromkeys(guards, False)
        for earlier in rows[:index]:
            free = [(name, wanted) for name, wanted in earlier if name not in dict(row)]
            first |= {name: not wanted for name, wanted in free[:1]}
        first |= dict(row)
        yield first
        for name in guards:
            yield first | {name: not first[name]}
    draw = random.Random(seed)
    for _ in range(SAMPLES):
        yield {name: draw.random() < 0.5 for name in guards}
