"""Specs of machines that other people drew: built as data, written as text, compiled and made by the real compiler."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from corpora.dot import Dot
from corpora.naming import names
from pawl.runtime.fsm.step import advance
from pawl.runtime.fsm.table import Machine
from pawl.tools.compiler.compile import Compiled, compile_text
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.verify import verify

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
"""Where the corpora are, beside the project; tests of a folder that is not there are skipped."""


def files(folder: str, pattern: str) -> list[Path]:
    """The files of one corpus, or none."""
    return sorted((CORPORA / folder).glob(pattern)) if (CORPORA / folder).is_dir() else []


@attrs.frozen
class Built:
    """A spec as text, and what the names in it stand for."""

    text: str
    states: dict[str, str]
    events: dict[str, str]
    outputs: dict[str, str] = attrs.field(factory=dict)

    def compiled(self) -> Compiled:
        """What the compiler says."""
        return compile_text(self.text)

    def model(self) -> MachineModel:
        """The model; the spec has no error."""
        result = self.compiled()
        assert result.errors == (), "\n".join(map(str, result.errors[:5]))
        return result.machines[0]


def written(states: dict[str, Any], events: dict[str, Any], rows: list[dict[str, Any]], **more: Any) -> str:
    """The text of a spec, one entry a line, so that positions tell something."""
    lines = ["pawl: 1", f"machine: {more.pop('machine', 'imported')}", "version: 1"]
    for key, table in (("states", states), ("events", events)):
        lines += [f"{key}:", *(f"  {_json(name)}: {_json(value)}" for name, value in table.items())]
    lines += ["transitions:", *(f"  - {_json(row)}" for row in rows)]
    lines += [f"{key}: {_json(value)}" for key, value in more.items()]
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    """JSON is YAML, but for characters that it writes in halves."""
    return json.dumps(value, ensure_ascii=False)


def from_dot(dot: Dot, **more: Any) -> Built:
    """Every node a state, every input an event, every output an action; all with the words of the file as labels."""
    states, events, outputs = names(dot.states, "s"), names(dot.events(), "e"), names(dot.outputs(), "out", always=True)
    rows = [
        {"from": states[edge.source], "on": events[edge.event], "to": states[edge.target]}
        | ({"do": [outputs[edge.output]]} if edge.output else {})
        for edge in dot.edges
    ]
    declared = {
        name: {"label": text} | ({"initial": True} if text == dot.initial else {}) for text, name in states.items()
    }
    actions = {name: text for text, name in outputs.items()}
    text = written(declared, {name: {"label": text} for text, name in events.items()}, rows, actions=actions, **more)
    return Built(text, states, events, outputs)


def made(model: MachineModel) -> Machine[Any, Any]:
    """The machine of the generated module."""
    return verify(model, emit_python(model))


class Recorder:
    """A context of which every action writes its name down, and every guard agrees."""

    def __init__(self, guards: Iterable[str] = ()) -> None:
        self._guards = frozenset(guards)
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._guards:
            return lambda payload=None: True
        return lambda payload=None: self.done.append(name)


def walk(machine: Machine[Any, Any], state: str, event: str) -> tuple[str, list[str]]:
    """One event: the next state, and the actions on the way."""
    context = Recorder()
    step = advance(machine, state, context, event)
    return str(step.state), context.done


def is_label(text: str | None) -> bool:
    """Whether there is something to read."""
    return text is not None and re.search(r"\S", text) is not None
