"""Mermaid (`stateDiagram-v2`) of one machine: what GitHub and most editors draw from text.

Ids are opaque and every character that Mermaid might read as syntax is written as an entity.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import Overlay
from pawl.tools.compiler.picture import Node, picture
from pawl.tools.compiler.write import mark

MAX_EDGES = 500
MAX_TEXT = 50_000
"""What GitHub draws at most; a larger diagram is shown as an error box there."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _.,/()[]-")
_WIDTH = 34
_STYLES = {
    Kind.AUTO: "fill:#eaf1fb,stroke:#5b82b8,color:#1f2933",
    Kind.PLAIN: "fill:#ffffff,stroke:#4a5568,color:#1f2933",
    Kind.WAIT: "fill:#fff3d1,stroke:#b7860b,color:#1f2933",
    Kind.FINAL: "fill:#e3f4e8,stroke:#2f855a,stroke-width:3px,color:#1f2933",
    Kind.HALT: "fill:#fde4e1,stroke:#c0392b,stroke-width:3px,color:#1f2933",
}
_NOTE = "fill:#f7f8fa,stroke:#a3a9b3,color:#6b7280,font-size:11px"
_HERE = "fill:#fde7f0,stroke:#c2185b,stroke-width:4px,color:#1f2933"


def emit_mermaid(model: MachineModel, expand: bool = False, over: Overlay | None = None) -> str:
    """The Mermaid text. Of `over` the current state is shown; Mermaid cannot colour arrows here."""
    shown, over = picture(model, expand), over or Overlay()
    ids = {node.name: f"n{index}" for index, node in enumerate(shown.nodes)}
    lines = [mark(model.file, "%%"), "stateDiagram-v2", "    direction TB"]
    framed = [node.inside for node in shown.nodes if node.inside is not None]
    free = [node for node in shown.nodes if node.inside is None and node.name not in framed]
    lines.extend(f"    {_state(node, ids[node.name])}" for node in free)
    for outer in dict.fromkeys(framed):
        # Edges join the inner states, so the frame has an id of its own.
        barrier = next(node.barrier for node in shown.nodes if node.name == outer)
        lines.append(f'    state "{_text(f"barrier {barrier}")}" as f{ids[outer]} {{')
        lines.extend(
            f"        {_state(node, ids[node.name])}" for node in shown.nodes if outer in (node.name, node.inside)
        )
        lines.append("    }")
    lines.append(f"    [*] --> {ids[shown.initial]}")
    lines.extend(f"    {ids[edge.source]} --> {ids[edge.target]}{_label(edge.lines)}" for edge in shown.edges)
    for index, shared in enumerate(shown.shared):
        listed = [(", ".join(moves), f"from {', '.join(sources)}") for moves, sources in shared.moves]
        lines.append(f'    state "{_folded(part for pair in listed for part in pair)}" as s{index}')
        lines.append(f"    s{index} --> {ids[shared.target]}")
    lines.extend(f"    {ids[node.name]} --> [*]" for node in shown.nodes if node.kind is Kind.FINAL)
    lines.extend(_classes(shown.nodes, ids, [f"s{index}" for index in range(len(shown.shared))], over))
    return "\n".join(lines) + "\n"


def too_large(text: str) -> bool:
    """Whether GitHub would refuse to draw `text`."""
    return len(text) > MAX_TEXT or text.count(" --> ") > MAX_EDGES


def _state(node: Node, name: str) -> str:
    facts = [node.title]
    facts += [f"barrier {node.barrier}"] if node.barrier is not None else []
    facts += [f"effect {node.effect}"] if node.effect is not None else []
    return f'state "{_folded((*facts, *node.lines))}" as {name}'


def _classes(nodes: Iterable[Node], ids: dict[str, str], notes: list[str], over: Overlay) -> list[str]:
    lines, members = [], {kind: [ids[node.name] for node in nodes if node.kind is kind] for kind in Kind}
    for kind, names in members.items():
        if names:
            lines += [f"    classDef kind_{kind} {_STYLES[kind]}", f"    class {','.join(names)} kind_{kind}"]
    if notes:
        lines += [f"    classDef kind_note {_NOTE}", f"    class {','.join(notes)} kind_note"]
    if over.state is not None:
        lines += [f"    classDef kind_here {_HERE}", f"    class {ids[over.state]} kind_here"]
    return lines


def _label(lines: tuple[str, ...]) -> str:
    return f" : {_folded(lines)}" if lines else ""


def _folded(lines: Iterable[str]) -> str:
    pieces = [
        _text(piece)
        for line in lines
        for piece in textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
    return "<br/>".join(pieces)


def _text(text: str) -> str:
    return "".join(c if c in _PLAIN or (ord(c) > 127 and c.isprintable()) else f"#{ord(c)};" for c in text)
