"""DOT of one machine, through the `graphviz` package, with the current state and the path taken on top if asked for.

Node ids are opaque (n0, n1, …) and every text is escaped: no name of a spec becomes DOT or HTML.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from itertools import pairwise

import graphviz

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import Overlay
from pawl.tools.compiler.picture import Edge, Node, Picture, Shared, picture
from pawl.tools.compiler.write import mark

FONT = "Helvetica"
"""The one family whose widths every Graphviz knows; browsers take Arial or their own sans for it."""

_INK, _LINES, _QUIET, _ACCENT, _GLOW = "#1f2933", "#4a5568", "#a3a9b3", "#c2185b", "#fde7f0"
_PAPER = {
    Kind.AUTO: "#eaf1fb",
    Kind.PLAIN: "#ffffff",
    Kind.WAIT: "#fff3d1",
    Kind.FINAL: "#e3f4e8",
    Kind.HALT: "#fde4e1",
}
_BORDER = {
    Kind.AUTO: "#5b82b8",
    Kind.PLAIN: "#4a5568",
    Kind.WAIT: "#b7860b",
    Kind.FINAL: "#2f855a",
    Kind.HALT: "#c0392b",
}
_BARRIER, _EFFECT = "#5a4a91", "#b4531a"
_LABEL_WIDTH = 34
_LIST_WIDTH = 44


def emit_dot(model: MachineModel, expand: bool = False, over: Overlay | None = None) -> str:
    """The DOT text; `over` comes from `overlay()`, made with the same `expand`."""
    shown, over = picture(model, expand), over or Overlay()
    ids = {node.name: f"n{index}" for index, node in enumerate(shown.nodes)}
    graph = _graph(f"{model.name}, version {model.version}", model.doc)
    graph.node("start", "", shape="circle", style="filled", fillcolor=_INK, color=_INK, width="0.16", height="0.16")
    _nodes(graph, shown, ids, over)
    graph.edge("start", ids[shown.initial])
    following = dict(pairwise(node.name for node in shown.nodes))
    for edge in shown.edges:
        _edge(graph, edge, ids, over, spine=following.get(edge.source) == edge.target)
    for index, shared in enumerate(shown.shared):
        _shared(graph, shared, f"s{index}", ids)
    drawn = {(edge.source, edge.target) for edge in shown.edges}
    for source, target in dict.fromkeys(over.path):
        if (source, target) not in drawn:  # it is in a shared arrow, or it is the way of `error:`
            graph.edge(ids[source], ids[target], color=_ACCENT, penwidth="2.2")
    return f"{mark(model.file, '//')}\n{graph.source}"


def _graph(title: str, doc: str) -> graphviz.Digraph:
    small = "".join(
        f'<tr><td><font point-size="11" color="{_LINES}">{_html(line)}</font></td></tr>' for line in _fold(doc, 90)
    )
    head = f'<table border="0" cellspacing="0" cellpadding="2"><tr><td><b>{_html(title)}</b></td></tr>{small}</table>'
    return graphviz.Digraph(
        graph_attr={
            "label": f"<{head}>", "labelloc": "t", "fontname": FONT, "fontsize": "17",
            "fontcolor": _INK, "bgcolor": "white", "pad": "0.3", "nodesep": "0.4", "ranksep": "0.55",
        },
        node_attr={
            "shape": "box", "style": "rounded,filled", "fontname": FONT, "fontsize": "13", "fontcolor": _INK,
            "margin": "0.13,0.07", "height": "0.4", "width": "0.6",
        },
        edge_attr={
            "fontname": FONT, "fontsize": "10", "fontcolor": _INK, "color": _LINES, "arrowsize": "0.75",
        },
    )  # fmt: skip


def _nodes(graph: graphviz.Digraph, shown: Picture, ids: dict[str, str], over: Overlay) -> None:
    """Every state; a barrier's inner states in a frame with their state."""
    framed: dict[str, list[Node]] = {}
    for node in shown.nodes:
        if node.inside is not None:
            framed.setdefault(node.inside, []).append(node)
    for node in shown.nodes:
        if node.name in framed:
            with graph.subgraph(name=f"cluster_{ids[node.name]}") as frame:
                frame.attr(
                    label=f"<<b>barrier {_html(node.barrier or '')}</b>>", labeljust="l", fontsize="11",
                    fontcolor=_BARRIER, color=_BARRIER, style="rounded,dashed", bgcolor="#f7f5fc", penwidth="1.2",
                )  # fmt: skip
                for inner in (node, *framed[node.name]):
                    _node(frame, inner, ids[inner.name], over)
        elif node.inside is None:
            _node(graph, node, ids[node.name], over)


def _node(graph: graphviz.Digraph, node: Node, name: str, over: Overlay) -> None:
    rows = [f"<tr><td><b>{_html(node.title)}</b></td></tr>"]
    if node.barrier is not None:
        rows.append(_badge(f"barrier {node.barrier}", _BARRIER))
    if node.effect is not None:
        rows.append(_badge(f"effect {node.effect}", _EFFECT))
    small = [piece for line in node.lines for piece in _fold(line, _LABEL_WIDTH)]
    if small:
        text = '<br align="left"/>'.join(map(_html, small))
        rows.append(
            f'<tr><td align="left" balign="left"><font point-size="10" color="{_LINES}">{text}</font></td></tr>'
        )
    label = f'<<table border="0" cellborder="0" cellspacing="2" cellpadding="1">{"".join(rows)}</table>>'
    here, visited = node.name == over.state, node.name in over.visited
    graph.node(
        name,
        label,
        tooltip=graphviz.escape(_printable(node.doc or node.name)),
        fillcolor=_GLOW if here else _PAPER[node.kind],
        color=_ACCENT if visited else _BORDER[node.kind],
        penwidth="3" if here else "2.2" if visited else "1.2",
        **({"peripheries": "2"} if node.kind in (Kind.FINAL, Kind.HALT) else {}),
    )


def _badge(text: str, colour: str) -> str:
    return f'<tr><td bgcolor="{colour}"><font point-size="9" color="white"> {_html(text)} </font></td></tr>'


def _edge(graph: graphviz.Digraph, edge: Edge, ids: dict[str, str], over: Overlay, spine: bool) -> None:
    """`spine`: the spec names the target right after the source, so the two are drawn in line."""
    look: dict[str, str] = {"weight": "8"} if spine else {}
    if edge.automatic:
        look |= {"style": "dashed", "color": _BORDER[Kind.AUTO], "fontcolor": _BORDER[Kind.AUTO]}
    if edge.quiet:
        look |= {"color": _QUIET, "fontcolor": "#7b828d"}
    if (edge.source, edge.target) in over.path:
        look |= {"color": _ACCENT, "fontcolor": _ACCENT, "penwidth": "2.2"}
    graph.edge(ids[edge.source], ids[edge.target], _lines(edge.lines, _LABEL_WIDTH), **look)


def _shared(graph: graphviz.Digraph, shared: Shared, name: str, ids: dict[str, str]) -> None:
    """A note that lists the moves and the states that have them, and one arrow from it."""
    lines: list[str] = []
    for moves, sources in shared.moves:
        lines.extend(f"<b>{_html(piece)}</b>" for piece in _fold(", ".join(moves), _LIST_WIDTH))
        lines.extend(f"&#160;&#160;{_html(piece)}" for piece in _fold(f"from {', '.join(sources)}", _LIST_WIDTH))
    text = "".join(f'{line}<br align="left"/>' for line in lines)
    small = {"color": _QUIET, "fontcolor": "#6b7280", "fontsize": "10"}
    graph.node(name, f"<{text}>", shape="note", style="filled", fillcolor="#f7f8fa", margin="0.1,0.06", **small)
    graph.edge(name, ids[shared.target], color=_QUIET, penwidth="1.8")


def _lines(lines: Sequence[str], width: int) -> str:
    r"""Label text with left-aligned lines, each ended by DOT's `\l`."""
    folded = [piece for line in lines for piece in _fold(line, width)]
    return "".join(f" {graphviz.escape(piece)}\\l" for piece in folded)


def _fold(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        _printable(text), width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  "
    )


def _html(text: str) -> str:
    return html.escape(_printable(text)).replace("\\", "\\\\").replace("\n", "<br/>")  # \\N is a name here, too


def _printable(text: str) -> str:
    """Control characters as escapes: they are in no font, and not in XML."""
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)
