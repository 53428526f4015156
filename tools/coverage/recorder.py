"""`Recorder`: counts the rows that machines take while it is on, in this process, whoever drives them.

    recorder = Recorder()
    with recorder:
        ...                                  # sessions, agents, plain `advance`
    recorder.save("rows.json")               # then: pawl coverage my_specs rows.json

It stands in for `advance` and `enter` of the table engine wherever a loaded module holds them, and steps back
when it is off. A step that raised has no rows to count. Machines that the compiler drives are not counted.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pawl.runtime.fsm import step as engine
from pawl.runtime.fsm.step import Step
from pawl.runtime.fsm.table import Machine, Row
from pawl.tools.coverage.counts import Counts, RowKey, merged, save

_NAMES = ("advance", "enter")  # `start` goes through `enter`
_ORIGINALS: dict[str, Callable[..., Any]] = {name: getattr(engine, name) for name in _NAMES}
_on: list[Recorder] = []
_lock = threading.RLock()


class Recorder:
    """Counts, by machine. Several may be on at once; each counts everything."""

    def __init__(self) -> None:
        self._rows: dict[Machine[Any, Any], Counter[int]] = {}
        self._started: dict[Machine[Any, Any], Counter[str]] = {}
        self._places: dict[Machine[Any, Any], dict[int, int]] = {}

    def __enter__(self) -> Recorder:
        with _lock:
            _on.append(self)
            if len(_on) == 1:
                _put({_ORIGINALS[name]: _watched(name) for name in _NAMES})
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _on.remove(self)
            if not _on:
                _put({_watched(name): _ORIGINALS[name] for name in _NAMES})

    def note(self, machine: Machine[Any, Any], step: Step[Any, Any]) -> None:
        """Count the rows of one step by hand; no need to while the recorder is on."""
        with _lock:
            places = self._places.get(machine)
            if places is None:
                places = self._places[machine] = {id(row): place for place, row in enumerate(machine.rows)}
                self._rows[machine], self._started[machine] = Counter(), Counter()
            for row in step.rows:
                place = places.get(id(row))
                if place is not None:
                    self._rows[machine][place] += 1
                elif row.event is None and row.source == row.target:  # how the engine writes a first entry
                    self._started[machine][str(row.source)] += 1

    def counts(self) -> list[Counts]:
        """What was counted so far; every machine that did anything is there, with all of its rows."""
        with _lock:
            return merged(self._counts(machine) for machine in self._places)

    def save(self, path: Path | str) -> None:
        """Write a coverage file. Raises OSError."""
        save(Path(path), self.counts())

    def _counts(self, machine: Machine[Any, Any]) -> Counts:
        taken = self._rows[machine]
        rows = Counter({_key(row): taken[place] for place, row in enumerate(machine.rows)})
        return Counts(machine.name, machine.version, machine.spec_hash, rows, Counter(self._started[machine]))


@functools.cache
def _watched(name: str) -> Callable[..., Any]:
    original = _ORIGINALS[name]

    @functools.wraps(original)
    def step(machine: Machine[Any, Any], *arguments: Any, **more: Any) -> Step[Any, Any]:
        done: Step[Any, Any] = original(machine, *arguments, **more)
        for recorder in tuple(_on):
            recorder.note(machine, done)
        return done

    return step


def _put(instead: dict[Callable[..., Any], Callable[..., Any]]) -> None:
    for module, name in _holders():
        held = module.__dict__.get(name)
        new = next((after for before, after in instead.items() if before is held), None)
        if new is not None:
            setattr(module, name, new)


def _holders() -> Iterator[tuple[ModuleType, str]]:
    for label, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and not label.startswith("pawl.tools."):
            for name, held in list(module.__dict__.items()):
                if callable(held) and getattr(held, "__module__", None) == engine.__name__:
                    yield module, name


def _key(row: Row[Any, Any]) -> RowKey:
    return RowKey(
        str(row.source),
        None if row.event is None else str(row.event),
        None if row.target is None else str(row.target),
        row.when,
        row.unless,
    )
