"""`pawl check`: the findings of the compiler, and the opinion of a second engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pawl.tools.cli.compiling import Work, compile_specs
from pawl.tools.cli.output import err, out
from pawl.tools.cli.project import project
from pawl.tools.compiler.crosscheck import CrossCheck, cross_check
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.emit_rows import emit_rows, rows_data
from pawl.tools.compiler.literal import UnsafeText
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.verify import GeneratedDiffers, verify

_MOST = 20
"""How many differences of a machine are told; they have one cause more often than not."""


def check(given: Sequence[Path], strict: bool, json: bool, expand: bool = False) -> None:
    """Check `given`, or the project's specs; `strict` makes warnings count, `expand` shows every row as compiled."""
    work = compile_specs(given, project(), json)
    checked = {model.name: result for model in work.machines if (result := cross_checked(work, model)) is not None}
    warnings = len(work.compiled.findings) - len(work.compiled.errors)
    if strict and warnings:
        work.fail(f"{warnings} warning{'s' * (warnings != 1)}, and --strict was given")
    if not json:
        if expand:
            out("\n".join(emit_rows(model) for model in work.machines))
        _summary(work, checked, warnings)
    machines: list[dict[str, Any]] = [
        {"machine": name, "cells": result.cells, "answers": result.answers, "differences": len(result.differences)}
        for name, result in checked.items()
    ]
    if expand:
        rows = {model.name: rows_data(model) for model in work.machines}
        machines = [each | {"rows": rows[each["machine"]]} for each in machines]
    work.end(machines=machines)


def cross_checked(work: Work, model: MachineModel) -> CrossCheck | None:
    """Compare one machine with the second engine, and tell how they differ; None when its module is wrong."""
    try:
        result = cross_check(model, verify(model, emit_python(model)))
    except (GeneratedDiffers, UnsafeText) as error:
        work.fail(f"{model.file}:1:1: {error}")
        return None
    for difference in result.differences[:_MOST]:
        work.fail(str(difference))
    if len(result.differences) > _MOST:
        err(f"{model.file}: and {len(result.differences) - _MOST} more like these")
    return result


def _summary(work: Work, checked: dict[str, CrossCheck], warnings: int) -> None:
    for name, result in checked.items():
        differ = f"{len(result.differences)} differ" if result.differences else "no difference"
        out(f"{name}: {_count(result.cells, 'cell')} compared with pytransitions in {result.answers} ways, {differ}")
    errors = len(work.compiled.errors)
    counts = f"{_count(len(work.specs.files), 'spec')}, {_count(errors, 'error')}, {_count(warnings, 'warning')}"
    out(counts, "green" if work.ok else "red")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
