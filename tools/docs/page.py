"""`page`: machines to one HTML file that needs nothing else: no network, no other file, and no script to be read.

The one script that it has only lights up what belongs together; a policy in the head lets no other run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import jinja2

from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_svg import emit_svg
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.picture import picture
from pawl.tools.compiler.write import mark
from pawl.tools.docs.anchors import anchors
from pawl.tools.docs.drawing import inline
from pawl.tools.docs.text import broken, shown
from pawl.tools.docs.view import KINDS, MachineView, Viewer, links

_TEMPLATES = Path(__file__).parent / "templates"


@attrs.frozen
class Source:
    """The text of a spec on the page, line by line."""

    id: str
    file: str
    lines: tuple[str, ...]


def page(models: Sequence[MachineModel], sources: Mapping[str, str], title: str) -> str:
    """The whole page; `sources` maps files, as positions name them, to their text. Raises CannotDraw."""
    files = {file: f"file{number}" for number, file in enumerate(sources)}
    text = {name: (_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")}
    script = text["page.js"]
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            mark=_mark(models),
            title=title,
            machines=[_machine(model, files) for model in models],
            sources=[Source(files[file], file, tuple(_lines(source))) for file, source in sources.items()],
            kinds=KINDS,
            style=text["page.css"],
            script=script,
            allowed=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _machine(model: MachineModel, files: Mapping[str, str]) -> MachineView:
    drawn = picture(model)
    at = anchors(model, drawn, files)
    numbers = {node.name: number for number, node in enumerate(drawn.nodes)}
    svg = emit_svg(emit_dot(model, prefix=f"{at.prefix}-d"), model.file)
    label = f"Diagram of {model.name}: {len(drawn.nodes)} states"
    return Viewer(model, at).view(inline(svg, label, links(model, at, numbers)))


def _lines(source: str) -> list[str]:
    return source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")


def _mark(models: Sequence[MachineModel]) -> str:
    more = f" and {len(models) - 1} more" if len(models) > 1 else ""
    return mark(f"{Path(models[0].file).name}{more}", "<!--", " -->").replace("`pawl diagram`", "`pawl docs`")


@functools.cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"shown": shown, "broken": broken}
    return made
