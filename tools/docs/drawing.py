"""The drawing inside a page: an SVG made anew from the few elements and attributes that a diagram needs.

Nothing else comes through, whatever a spec or the drawing program put there: no scripts, styles, links or entities.
"""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping

import attrs

from pawl.tools.compiler.emit_svg import CannotDraw
from pawl.tools.docs.text import shown

_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = frozenset({"g", "path", "polygon", "polyline", "ellipse", "text"})
_KEPT = (
    "class", "cx", "cy", "d", "fill", "font-size", "font-style", "font-weight", "points", "rx", "ry", "stroke",
    "stroke-dasharray", "stroke-width", "text-anchor", "transform", "x", "y",
)  # fmt: skip
_BOX = re.compile(r"0(?:\.0+)? 0(?:\.0+)? (\d+(?:\.\d+)?) (\d+(?:\.\d+)?)")
_CSS_PIXELS = 4 / 3
"""In one point, the unit of a drawing."""


@attrs.frozen
class Drawing:
    """Markup that stands inside a page as it is, and its natural size in CSS pixels."""

    markup: str
    width: int
    height: int


def inline(svg: str, label: str, links: Mapping[str, tuple[str, str]]) -> Drawing:
    """Rebuild `svg`; `links` maps ids of elements to where they lead in the page and what they are. Raises CannotDraw.

    Elements keep the ids that `links` names, and no others.
    """
    try:
        root = ET.fromstring(svg.encode())
    except ET.ParseError as error:
        raise CannotDraw(f"the drawing cannot be read: {error}; use `pawl diagram` to see it") from None
    box = _BOX.fullmatch(root.get("viewBox", ""))
    if root.tag != f"{_SVG}svg" or box is None:
        raise CannotDraw("the drawing has no size; use `pawl diagram` to see it")
    head = f'<svg viewBox="0 0 {box[1]} {box[2]}" role="img" aria-label="{_text(label)}">'
    body = "".join(_element(child, links) for child in root)
    size = (round(float(length) * _CSS_PIXELS) for length in box.groups())
    return Drawing(f"{head}{body}</svg>", *size)


def _element(element: ET.Element, links: Mapping[str, tuple[str, str]]) -> str:
    name = element.tag.removeprefix(_SVG)
    if name == "a":  # a tooltip of the drawing program
        return "".join(_element(child, links) for child in element)
    if name not in _SHAPES:
        return ""
    kept = "".join(f' {key}="{_text(element.attrib[key])}"' for key in _KEPT if key in element.attrib)
    link = links.get(element.get("id", ""))
    ours = f' id="{_text(element.attrib["id"])}"' if link is not None else ""
    inner = html.escape(element.text or "") if name == "text" else "".join(_element(child, links) for child in element)
    if link is None or not link[0]:
        title = f"<title>{_text(link[1])}</title>" if link is not None else ""
        return f"<{name}{ours}{kept}>{title}{inner}</{name}>"
    return f'<a href="#{_text(link[0])}"><{name}{ours}{kept}><title>{_text(link[1])}</title>{inner}</{name}></a>'


def _text(text: str) -> str:
    return html.escape(shown(text))
