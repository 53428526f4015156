"""`pawl diagram`: pictures and pages of machines, with a session on top if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import assert_never

import attrs

from pawl.tools.cli.compiling import compile_specs, settle
from pawl.tools.cli.covering import read
from pawl.tools.cli.output import Misuse, raw
from pawl.tools.cli.project import project
from pawl.tools.cli.specs import Format
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_markdown import emit_markdown
from pawl.tools.compiler.emit_mermaid import emit_mermaid
from pawl.tools.compiler.emit_svg import CannotDraw, dot_hash, emit_svg, hash_in, hash_line
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import Overlay, UnknownPlace, overlay
from pawl.tools.compiler.paint import Paint
from pawl.tools.compiler.write import Output
from pawl.tools.coverage.counts import Counts
from pawl.tools.coverage.overlay import paint
from pawl.tools.coverage.tally import tally

_SUFFIX = {Format.SVG: ".svg", Format.DOT: ".dot", Format.MERMAID: ".mmd", Format.MARKDOWN: ".md"}


@attrs.frozen
class Wish:
    """The options of the command, as they were given."""

    check: bool
    prune: bool
    expand: bool
    format: Format | None
    state: str | None
    path: tuple[str, ...]
    coverage: tuple[Path, ...] = ()

    @property
    def session(self) -> bool:
        """Whether a session is drawn on top."""
        return self.state is not None or bool(self.path)

    @property
    def formats(self) -> tuple[Format, ...]:
        """What is written: colours of rows are in drawings only. Raises Misuse."""
        if self.coverage and self.format in (Format.MERMAID, Format.MARKDOWN):
            raise Misuse("coverage is drawn in colours: with --coverage use --format svg or dot")
        if self.format is not None:
            return (self.format,)
        return (Format.DOT, Format.SVG) if self.coverage else (Format.DOT, Format.SVG, Format.MARKDOWN)


@attrs.frozen
class _Drawn:
    """A machine and what is drawn on top of it."""

    model: MachineModel
    over: Overlay
    paint: Paint | None
    expand: bool

    @property
    def dot(self) -> str:
        return emit_dot(self.model, self.expand, self.over, self.paint)


def draw(given: Sequence[Path], out: Path | None, wish: Wish) -> None:
    """Draw `given` (or the project's specs) into `out` (or the project's folder), or one format to stdout."""
    known = project()
    work = compile_specs(given, known)
    if not work.ok:
        work.end()
    if wish.session and len(work.machines) != 1:
        raise Misuse("--state and --path are about one machine: name its spec")
    folder = out or known.diagrams
    try:
        recorded = read(wish.coverage)
        drawn = [
            _Drawn(model, _over(model, wish), _paint(model, recorded, wish), wish.expand) for model in work.machines
        ]
        if wish.format is not None and out is None and not wish.check:
            _to_stdout(drawn, wish)
            return
        if folder is None:
            raise Misuse("no folder: give --out, or set `diagrams` under [tool.pawl], or use --format for stdout")
        if (wish.session or wish.coverage) and out is None:
            what = "one session" if wish.session else "coverage"
            raise Misuse(f"a picture of {what} does not belong in the diagrams folder: give --out or --format")
        outputs = [made for each in drawn for made in _files(each, folder, wish)]
    except (UnknownPlace, CannotDraw) as error:
        raise Misuse(str(error)) from None
    settle(work, outputs, wish.check, wish.prune, _command(given, out, wish))


def drawings(model: MachineModel, folder: Path) -> list[Output]:
    """The files of one machine as `pawl diagram` writes them without options, drawn only when it is not on disk."""
    wish = Wish(check=False, prune=False, expand=False, format=None, state=None, path=())
    drawn = _Drawn(model, Overlay(), None, False)
    svg = folder / f"{model.name}{_SUFFIX[Format.SVG]}"
    try:
        fresh = hash_in(svg.read_text(encoding="utf-8")) == dot_hash(drawn.dot)
    except (OSError, UnicodeDecodeError):
        fresh = False
    kinds = [kind for kind in wish.formats if not (fresh and kind is Format.SVG)]
    return [Output(folder / f"{model.name}{_SUFFIX[kind]}", _text(drawn, kind, f"{model.name}.svg")) for kind in kinds]


def _over(model: MachineModel, wish: Wish) -> Overlay:
    hops = [hop for path in wish.path for hop in pairwise(part.strip() for part in path.split(","))]
    return overlay(model, wish.state, hops, wish.expand)


def _paint(model: MachineModel, recorded: Sequence[Counts], wish: Wish) -> Paint | None:
    return paint(tally(model, recorded), wish.expand) if wish.coverage else None


def _to_stdout(drawn: Sequence[_Drawn], wish: Wish) -> None:
    if len(drawn) != 1:
        raise Misuse(f"--format writes one machine to stdout, and here are {len(drawn)}: name one spec, or give --out")
    (kind,) = wish.formats
    raw(_text(drawn[0], kind))


def _files(drawn: _Drawn, folder: Path, wish: Wish) -> list[Output]:
    files = []
    name = drawn.model.name
    for kind in wish.formats:
        path = folder / f"{name}{_SUFFIX[kind]}"
        if kind is Format.SVG and wish.check:
            # Compared by the hash of its DOT, so that a check need not draw.
            files.append(Output(path, hash_line(drawn.dot), essence=_hash_only))
        else:
            files.append(Output(path, _text(drawn, kind, f"{name}.svg" if wish.format is None else None)))
    return files


def _text(drawn: _Drawn, kind: Format, beside: str | None = None) -> str:
    """The file; `beside` is an SVG for a page to link to."""
    match kind:
        case Format.DOT:
            return drawn.dot
        case Format.SVG:
            return emit_svg(drawn.dot, drawn.model.file)
        case Format.MERMAID:
            return emit_mermaid(drawn.model, drawn.expand, drawn.over)
        case Format.MARKDOWN:
            return emit_markdown(drawn.model, drawn.expand, drawn.over, beside)
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
    options += [part for file in wish.coverage for part in ("--coverage", str(file))]
    return ["pawl", "diagram", *map(str, given), *options]
