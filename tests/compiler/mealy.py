"""Mealy machines from `.dot` files, as their learners write them, and the specs that say the same.

Reads plain text only: one edge a line, `s0 -> s1 [label="IN / OUT"]`; the start is what `__start0` leads to, else the
first node. Names that are no names of the language are mapped one to one: what they were is their `doc`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import attrs
import pytest

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"

_EDGE = re.compile(r'^\s*"?([\w.]+)"?\s*->\s*"?([\w.]+)"?\s*(?:\[\s*label\s*=\s*"((?:[^"\\]|\\.)*)".*\])?\s*;?\s*$')
_NODE = re.compile(r'^\s*"?([\w.]+)"?\s*(?:\[.*\])?\s*;?\s*$')
_START = "__start0"
_WORDS = frozenset({"digraph", "graph", "node", "edge", "subgraph"})


class Move(NamedTuple):
    """One edge."""

    source: str
    input: str
    output: str
    target: str


@attrs.frozen
class Mealy:
    """A machine with outputs; names are as in the file."""

    initial: str
    states: tuple[str, ...]
    moves: tuple[Move, ...]

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Input to its name in a spec."""
        return _named((move.input for move in self.moves), "in_")

    @cached_property
    def outputs(self) -> dict[str, str]:
        """Output to the name of the action that stands for it."""
        return _named((move.output for move in self.moves), "out_")

    def walk(self, word: Iterable[str]) -> list[tuple[str, str] | None]:
        """(state, output) after each input; None where the machine has no edge, and stays."""
        state, found = self.initial, list[tuple[str, str] | None]()
        first = {(move.source, move.input): move for move in reversed(self.moves)}
        for letter in word:
            move = first.get((state, letter))
            state = move.target if move is not None else state
            found.append((state, move.output) if move is not None else None)
        return found

    def spec(self, name: str) -> str:
        """The machine as a spec, with one row for each edge."""
        states = "".join(f"  {state}: {{{'initial: true' * (state == self.initial)}}}\n" for state in self.states)
        events = "".join(f"  {name}: {{doc: {json.dumps(text)}}}\n" for text, name in self.inputs.items())
        actions = "".join(f"  {name}: {json.dumps(text)}\n" for text, name in self.outputs.items())
        rows = "".join(
            f"  - {{from: {m.source}, on: {self.inputs[m.input]}, to: {m.target}, do: [{self.outputs[m.output]}]}}\n"
            for m in self.moves
        )
        pairs = {(move.source, move.input) for move in self.moves}
        whole = len(pairs) == len(self.states) * len(self.inputs)
        return (
            f"pawl: 1\nmachine: {name}\nversion: 1\nstates:\n{states}events:\n{events}actions:\n{actions}"
            f"transitions:\n{rows}" + ("" if whole else 'unhandled: {refuse: "*"}\n')
        )


def read(path: Path) -> Mealy:
    """The machine in a file. Raises ValueError for a line that is not understood."""
    states: dict[str, None] = {}
    moves: list[Move] = []
    initial = None
    for line in path.read_text(encoding="utf-8").splitlines():
        edge, node = _EDGE.match(line), _NODE.match(line)
        if edge is not None and edge[1] == _START:
            initial = edge[2]
        elif edge is not None:
            said = re.sub(r"\\(.)", r"\1", edge[3])
            before, _, after = said.partition(" / ")
            moves.append(Move(edge[1], before.strip(), after.strip(), edge[2]))
            states |= dict.fromkeys((edge[1], edge[2]))
        elif node is not None and node[1] not in _WORDS | {_START}:
            states[node[1]] = None
        elif line.strip() and node is None and not re.fullmatch(r"\s*(digraph.*\{|\}|//.*)\s*", line):
            raise ValueError(f"{path.name}: {line!r}")
    return Mealy(initial or next(iter(states)), tuple(states), tuple(moves))


def corpus(folder: str) -> Path:
    """A folder of the corpora; the test is skipped where they are not."""
    path = CORPORA / folder
    if not path.is_dir():
        pytest.skip("the corpora are not here")
    return path


def _named(texts: Iterable[str], prefix: str) -> dict[str, str]:
    """Text to a name that no other text has, the same for the same texts; letters of both cases are one letter."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for text in sorted(set(texts)):
        base = prefix + (re.sub(r"[^a-z0-9]+", "_", text.lower())[:48].strip("_") or "x")
        name, number = base, 1
        while name in used:
            number += 1
            name = f"{base}_{number}"
        used.add(name)
        names[text] = name
    return names
