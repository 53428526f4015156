"""`pawl diagram`: pictures and pages of machines, with a session on top if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import assert_never

import attrs

from pawl.tools.cli.compiling import compile_specs, settle
from pawl.tools.cli.output import Misuse, raw
from pawl.tools.cli.project import project
from pawl.tools.cli.specs import Format
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_markdown import emit_markdown
from pawl.tools.compiler.emit_mermaid import emit_mermaid
from pawl.tools.compiler.emit_svg import CannotDraw, emit_svg, hash_in, hash_line
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import Overlay, UnknownPlace, overlay
from pawl.tools.compiler.write import Output

_SUFFIX = {Format.SVG: ".svg", Format.DOT: ".dot", Format.MERMAID: ".mmd", Format.MARKDOWN: ".md"}
_ALL = (Format.DOT, Format.SVG, Format.MARKDOWN)


@attrs.frozen
class Wish:
    """The options of the command, as they were given."""

    check: bool
    prune: bool
    expand: bool
    format: Format | None
    state: str | None
    path: Sequence[str]

    @property
    def overlaid(self) -> bool:
        """Whether a session is drawn on top."""
        return self.state is not None or bool(self.path)


def draw(given: Sequence[Path], out: Path | None, wish: Wish) -> None:
    """Draw `given` (or the project's specs) into `out` (or the project's folder), or one format to stdout."""
    known = project()
    work = compile_specs(given, known)
    if not work.ok:
        work.end()
    if wish.overlaid and len(work.machines) != 1:
        raise Misuse("--state and --path are about one machine: name its spec")
    folder = out or known.diagrams
    try:
        drawn = [(model, _over(model, wish)) for model in work.machines]
        if wish.format is not None and out is None and not wish.check:
            _to_stdout(drawn, wish)
            return
        if folder is None:
            raise Misuse("no folder: give --out, or set `diagrams` under [tool.pawl], or use --format for stdout")
        if wish.overlaid and out is None:
            raise Misuse("a picture of one session does not belong in the diagrams folder: give --out or --format")
        outputs = [made for model, over in drawn for made in _files(model, over, folder, wish)]
    except (UnknownPlace, CannotDraw) as error:
        raise Misuse(str(error)) from None
    settle(work, outputs, wish.check, wish.prune, _command(given, out, wish))


def _over(model: MachineModel, wish: Wish) -> Overlay:
    hops = [hop for path in wish.path for hop in pairwise(part.strip() for part in path.split(","))]
    return overlay(model, wish.state, hops, wish.expand)


def _to_stdout(drawn: Sequence[tuple[MachineModel, Overlay]], wish: Wish) -> None:
    if len(drawn) != 1:
        raise Misuse(f"--format writes one machine to stdout, and here are {len(drawn)}: name one spec, or give --out")
    model, over = drawn[0]
    assert wish.format is not None
    raw(_text(model, over, wish.format, wish))


def _files(model: MachineModel, over: Overlay, folder: Path, wish: Wish) -> list[Output]:
    files = []
    for kind in _ALL if wish.format is None else (wish.format,):
        path = folder / f"{model.name}{_SUFFIX[kind]}"
        if kind is Format.SVG and wish.check:
            # Compared by the hash of its DOT, so that a check need not draw.
            dot = emit_dot(model, wish.expand, over)
            files.append(Output(path, hash_line(dot), essence=_hash_only))
        else:
            files.append(Output(path, _text(model, over, kind, wish)))
    return files


def _text(model: MachineModel, over: Overlay, kind: Format, wish: Wish) -> str:
    match kind:
        case Format.DOT:
            return emit_dot(model, wish.expand, over)
        case Format.SVG:
            return emit_svg(emit_dot(model, wish.expand, over), model.file)
        case Format.MERMAID:
            return emit_mermaid(model, wish.expand, over)
        case Format.MARKDOWN:
            beside = f"{model.name}.svg" if wish.format is None else None
            return emit_markdown(model, wish.expand, over, beside)
        case _:
            assert_never(kind)


def _hash_only(svg: str) -> str:
    return f"<!-- dot sha256: {hash_in(svg)} -->\n"


def _command(given: Sequence[Path], out: Path | None, wish: Wish) -> list[str]:
    """The command that makes what this one checks."""
    options = ["--out", str(out)] if out is not None else []
    options += ["--expand"] if wish.expand else []
    options += ["--format", str(wish.format)] if wish.format is not None else []
    options += ["--state", wish.state] if wish.state is not None else []
    options += [part for path in wish.path for part in ("--path", path)]
    return ["pawl", "diagram", *map(str, given), *options]
