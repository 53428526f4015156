"""`pawl generate`: specs to modules, verified before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pawl.tools.cli.compiling import Work, compile_specs, settle
from pawl.tools.cli.project import project
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.literal import UnsafeText
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.verify import GeneratedDiffers, verify
from pawl.tools.compiler.write import Output


def generate(given: Sequence[Path], out: Path | None, check: bool, prune: bool, json: bool) -> None:
    """Compile `given` (or the project's specs) into `out` (or the project's, or beside each spec)."""
    known = project()
    work = compile_specs(given, known, json)
    folder = out or known.out
    outputs = [made for model in work.machines for made in module(work, model, folder)]
    if not work.ok:
        work.end(files=[])
    command = ["pawl", "generate", *map(str, given), *(["--out", str(out)] if out is not None else [])]
    settle(work, outputs, check, prune, command)


def module(work: Work, model: MachineModel, folder: Path | None) -> list[Output]:
    """The verified module of one machine, or none, and the fault is told."""
    try:
        text = emit_python(model)
        verify(model, text)
    except (GeneratedDiffers, UnsafeText) as error:
        work.fail(f"{model.file}:1:1: {error}")
        return []
    return [Output((folder or Path(model.file).parent) / f"{model.name}.py", text)]
