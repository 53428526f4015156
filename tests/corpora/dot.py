"""A small reader of machines in Graphviz files, whose edges say `IN / OUT`, `IN`, or `IN:PROBABILITY`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

_STATEMENT = re.compile(
    r"""(?P<source>"(?:[^"\\]|\\.)*"|[\w.]+)\s*(?:->\s*(?P<target>"(?:[^"\\]|\\.)*"|[\w.]+)\s*)?"""
    r"""(?:\[(?P<attributes>(?:"(?:[^"\\]|\\.)*"|<(?:[^<>]|<[^<>]*>)*>|[^\]"<])*)\])?\s*;?""",
    re.DOTALL,
)
_LABEL = re.compile(r"""\blabel\s*=\s*("(?:[^"\\]|\\.)*"|<(?:[^<>]|<[^<>]*>)*>|[^\s,;\]]+)""", re.DOTALL)
_START = "__start0"
_WORDS = frozenset({"node", "edge", "graph", "digraph"})


@attrs.frozen
class Edge:
    """One transition; `output` is '' where the file has none."""

    source: str
    event: str
    output: str
    target: str


@attrs.frozen
class Dot:
    """A machine as its file has it."""

    initial: str
    states: tuple[str, ...]
    edges: tuple[Edge, ...]

    def events(self) -> tuple[str, ...]:
        """The inputs, in order of first use."""
        return tuple(dict.fromkeys(edge.event for edge in self.edges))

    def outputs(self) -> tuple[str, ...]:
        """The outputs, in order of first use."""
        return tuple(dict.fromkeys(edge.output for edge in self.edges if edge.output))

    def is_deterministic(self) -> bool:
        """Whether no state has two ways for one input."""
        return len({(edge.source, edge.event) for edge in self.edges}) == len(self.edges)


def read(path: Path) -> Dot:
    """The machine in the file at `path`; the initial state is where `__start0` leads, else the first node."""
    text = path.read_text(encoding="utf-8")
    body = text[text.index("{") + 1 : text.rindex("}")]
    states: dict[str, None] = {}
    edges: list[Edge] = []
    initial = None
    for source, target, label in _statements(body):
        if source in _WORDS:
            continue
        if target is None:
            states.update({source: None} if source != _START else {})
        elif source == _START:
            initial = target
        else:
            states.update({source: None, target: None})
            edges += [Edge(source, event, output, target) for event, output in _parts(label)]
    return Dot(initial if initial is not None else next(iter(states)), tuple(states), tuple(dict.fromkeys(edges)))


def _statements(body: str) -> Iterator[tuple[str, str | None, str]]:
    """Source, target (None for a node) and label; a label in HTML keeps its angles."""
    place = 0
    while (found := _STATEMENT.search(body, place)) is not None:
        place = found.end()
        label = _LABEL.search(found["attributes"] or "")
        yield _text(found["source"]), _text(found["target"]) if found["target"] else None, label[1] if label else '""'


def _text(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.startswith('"') else token


def _parts(label: str) -> list[tuple[str, str]]:
    """The (input, output) pairs of an edge: an HTML label lists inputs in its first line, its output in the second."""
    if label.startswith("<"):
        inputs, _, output = re.sub(r"<br\s*/?>", "\n", label[1:-1]).partition("\n")
        return [(html.unescape(each.strip()), html.unescape(output.strip())) for each in inputs.split(" | ")]
    text = _text(label)
    if re.fullmatch(r".*:[0-9.]+(e-[0-9]+)?", text):
        return [(text.rpartition(":")[0], "")]  # a probability is no output
    event, _, output = text.partition(" / ") if " / " in text else text.partition("/")
    return [(event.strip(), output.strip())]
