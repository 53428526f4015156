"""`pawl docs`: one page about some machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from pawl.tools.cli.compiling import compile_specs, settle
from pawl.tools.cli.output import STDOUT, Misuse, raw
from pawl.tools.cli.project import project
from pawl.tools.compiler.emit_svg import CannotDraw
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.write import Output
from pawl.tools.docs.page import page


def docs(given: Sequence[Path], out: Path | None, title: str | None, check: bool, json: bool) -> None:
    """Write a page about `given`, or the project's specs; nothing while any spec has an error."""
    work = compile_specs(given, project(), json)
    if not work.ok:
        work.end(files=[])
    models = work.machines
    if not models:
        raise Misuse("no machine here, only fragments; name the specs of machines")
    path = out or Path(f"{models[0].name}.html" if len(models) == 1 else "machines.html")
    named = title or (models[0].name if len(models) == 1 else "State machines")
    try:
        text = page(models, sources(models), named)
    except CannotDraw as error:
        raise Misuse(str(error)) from None
    work.specs = attrs.evolve(work.specs, folders=())  # a page is one file, and others beside it are none of its own
    if path == STDOUT:
        raw(text)
        return
    options = [*(["--out", str(out)] if out is not None else []), *(["--title", title] if title is not None else [])]
    settle(work, [Output(path, text)], check, False, ["pawl", "docs", *map(str, given), *options])


def sources(models: Iterable[MachineModel]) -> dict[str, str]:
    """The text of every file that something of `models` stands in, by its name in positions. Raises Misuse."""
    named: dict[str, None] = {}
    for model in models:
        places = (each.at.file for part in (model.states, model.events, model.rows) for each in part)
        named |= dict.fromkeys((model.file, *places))
    try:
        return {file: Path(file).read_text(encoding="utf-8") for file in named}
    except OSError as error:
        raise Misuse(f"cannot read {error.filename}: {error.strerror or error}") from None
