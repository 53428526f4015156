"""DOT of one machine, through the `graphviz` package, with a session's path or an overlay in colours if asked for.

Node ids are opaque (n0, n1, …) and every text is escaped: no name of a spec becomes DOT or HTML.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from itertools import pairwise

import attrs
import graphviz

from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import Overlay
from pawl.tools.compiler.paint import Paint
from pawl.tools.compiler.picture import Edge, Line, Node, Picture, Shared, picture
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


@attrs.frozen
class _Ink:
    """What is drawn with: the ids of states, the overlays, and the prefix of the elements' ids in an SVG."""

    ids: dict[str, str]
    over: Overlay
    paint: Paint | None
    prefix: str | None

    def id(self, name: str) -> dict[str, str]:
        return {} if self.prefix is None else {"id": f"{self.prefix}-{name}"}


def emit_dot(
    model: MachineModel,
    expand: bool = False,
    over: Overlay | None = None,
    paint: Paint | None = None,
    prefix: str | None = None,
) -> str:  # fmt: skip
    """The DOT text; `over` comes from `overlay()`, and `paint` from an overlay, made with the same `expand`.

    With `prefix` the elements of an SVG have ids: `PREFIX-n0` (states), `-e0` (edges) and `-s0` (notes, and their
    arrows `-s0-arrow`), each numbered as `picture` orders them.
    """
    shown, over = picture(model, expand, paint.tone if paint is not None else None), over or Overlay()
    ids = {node.name: f"n{index}" for index, node in enumerate(shown.nodes)}
    ink = _Ink(ids, over, paint, prefix)
    graph = _graph(f"{model.name}, version {model.version}", model.doc, paint)
    graph.node("start", "", shape="circle", style="filled", fillcolor=_INK, color=_INK, width="0.16", height="0.16")
    _nodes(graph, shown, ink)
    graph.edge("start", ids[shown.initial])
    following = dict(pairwise(node.name for node in shown.nodes))
    for index, edge in enumerate(shown.edges):
        _edge(graph, edge, f"e{index}", ink, spine=following.get(edge.source) == edge.target)
    for index, shared in enumerate(shown.shared):
        _shared(graph, shared, f"s{index}", ink)
    drawn = {(edge.source, edge.target) for edge in shown.edges}
    for source, target in dict.fromkeys(over.path):
        if (source, target) not in drawn:  # it is in a shared arrow, or it is the way of `error:`
            graph.edge(ids[source], ids[target], color=_ACCENT, penwidth="2.2")
    return f"{mark(model.file, '//')}\n{graph.source}"


def _graph(title: str, doc: str, paint: Paint | None) -> graphviz.Digraph:
    small = "".join(
        f'<tr><td><font point-size="11" color="{_LINES}">{_html(line)}</font></td></tr>' for line in _fold(doc, 90)
    )
    head = f'<table border="0" cellspacing="0" cellpadding="2"><tr><td><b>{_html(title)}</b></td></tr>{small}'
    head += f"{_legend(paint)}</table>"
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


def _legend(paint: Paint | None) -> str:
    """What the overlay is, and its colours in words, in the head of the picture: there it moves nothing."""
    if paint is None:
        return ""
    keys = ""
    for brush in paint.brushes.values():
        words = _html(f"{brush.sign} {brush.label}".strip())
        keys += f'<td bgcolor="{brush.paper}" color="{brush.ink}" border="1">'
        keys += f'<font point-size="11" color="{brush.ink}">&#160;{words}&#160;</font></td>'
    return (
        f'<tr><td><font point-size="13">{_html(paint.title)}</font></td></tr>'
        f'<tr><td><table border="0" cellspacing="6" cellpadding="3"><tr>{keys}</tr></table></td></tr>'
    )


def _nodes(graph: graphviz.Digraph, shown: Picture, ink: _Ink) -> None:
    """Every state; a barrier's inner states in a frame with their state."""
    ids = ink.ids
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
                    _node(frame, inner, ids[inner.name], ink)
        elif node.inside is None:
            _node(graph, node, ids[node.name], ink)


def _node(graph: graphviz.Digraph, node: Node, name: str, ink: _Ink) -> None:
    over, brush = ink.over, None if ink.paint is None else ink.paint.of_state(node.name)
    rows = [f"<tr><td><b>{_html(node.title)}</b></td></tr>"]
    if node.barrier is not None:
        rows.append(_badge(f"barrier {node.barrier}", _BARRIER))
    if node.effect is not None:
        rows.append(_badge(f"effect {node.effect}", _EFFECT))
    for colour, lines in _small(node, ink.paint):
        text = '<br align="left"/>'.join(_html(piece) for line in lines for piece in _fold(line, _LABEL_WIDTH))
        rows.append(
            f'<tr><td align="left" balign="left"><font point-size="10" color="{colour}">{text}</font></td></tr>'
        )
    label = f'<<table border="0" cellborder="0" cellspacing="2" cellpadding="1">{"".join(rows)}</table>>'
    here, visited = node.name == over.state, node.name in over.visited
    graph.node(
        name,
        label,
        tooltip=graphviz.escape(_printable(node.doc or node.name)),
        fillcolor=_GLOW if here else brush.paper if brush is not None else _PAPER[node.kind],
        color=_ACCENT if visited else brush.ink if brush is not None else _BORDER[node.kind],
        penwidth="3" if here else "2.2" if visited else "1.2",
        **({"peripheries": "2"} if node.kind in (Kind.FINAL, Kind.HALT) else {}),
        **ink.id(name),
    )


def _small(node: Node, paint: Paint | None) -> list[tuple[str, Sequence[str]]]:
    """The small print of a state, by colour."""
    if paint is None:
        return [(_LINES, node.lines)] if node.lines else []
    plain = len(node.lines) - sum(bool(line.text) for line in node.stays)
    found: list[tuple[str, Sequence[str]]] = [(_LINES, node.lines[:plain])] if plain else []
    found += [(paint.brushes[line.tone].ink, [paint.text(line)]) for line in node.stays]
    found += [(paint.of_state(node.name).ink, lines)] if (lines := paint.said.get(node.name)) else []
    hidden = paint.hidden(node.within)
    return [*found, (hidden[1].ink, [hidden[0]])] if hidden is not None else found


def _badge(text: str, colour: str) -> str:
    return f'<tr><td bgcolor="{colour}"><font point-size="9" color="white"> {_html(text)} </font></td></tr>'


def _edge(graph: graphviz.Digraph, edge: Edge, name: str, ink: _Ink, spine: bool) -> None:
    """`spine`: the spec names the target right after the source, so the two are drawn in line."""
    look: dict[str, str] = {"weight": "8"} if spine else {}
    label = _lines(edge.lines, _LABEL_WIDTH)
    if edge.automatic:
        look |= {"style": "dashed", "color": _BORDER[Kind.AUTO], "fontcolor": _BORDER[Kind.AUTO]}
    if edge.quiet:
        look |= {"color": _QUIET, "fontcolor": "#7b828d"}
    if ink.paint is not None:
        rows = [row for line in edge.told for row in line.rows]
        look |= {"color": ink.paint.of_lines(edge.told).ink, "penwidth": f"{ink.paint.width(rows):.1f}"}
        label = _coloured(edge.told, ink.paint)
    if (edge.source, edge.target) in ink.over.path:
        look |= {"color": _ACCENT, "fontcolor": _ACCENT, "penwidth": "2.2"}
    graph.edge(ink.ids[edge.source], ink.ids[edge.target], label, **look, **ink.id(name))


def _shared(graph: graphviz.Digraph, shared: Shared, name: str, ink: _Ink) -> None:
    """A note that lists the moves and the states that have them, and one arrow from it."""
    lines: list[str] = []
    arrow = {"color": _QUIET, "penwidth": "1.8"}
    for told, sources in shared.told:
        moves = ", ".join(line.text for line in told if line.text)
        opening, closing = "", ""
        if ink.paint is not None:
            brush = ink.paint.of_lines(told)
            opening, closing = f'<font color="{brush.ink}">', "</font>"
            moves = ", ".join(ink.paint.text(line) for line in told)
        lines.extend(f"{opening}<b>{_html(piece)}</b>{closing}" for piece in _fold(moves, _LIST_WIDTH))
        lines.extend(f"&#160;&#160;{_html(piece)}" for piece in _fold(f"from {', '.join(sources)}", _LIST_WIDTH))
    if ink.paint is not None:
        arrow["color"] = ink.paint.of_lines([line for told, _ in shared.told for line in told]).ink
    text = "".join(f'{line}<br align="left"/>' for line in lines)
    small = {"color": _QUIET, "fontcolor": "#6b7280", "fontsize": "10"}
    graph.node(
        name, f"<{text}>", shape="note", style="filled", fillcolor="#f7f8fa", margin="0.1,0.06", **small, **ink.id(name)
    )
    graph.edge(name, ink.ids[shared.target], **arrow, **ink.id(f"{name}-arrow"))


def _coloured(lines: Sequence[Line], paint: Paint) -> str:
    """A label in which every line has the colour of its rows; an edge that has nothing to say has no label."""
    pieces = [
        f'<font color="{paint.brushes[line.tone].ink}">&#160;{_html(piece)}</font><br align="left"/>'
        for line in lines
        for piece in _fold(paint.text(line), _LABEL_WIDTH)
    ]
    return f"<{''.join(pieces)}>" if pieces else ""


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
