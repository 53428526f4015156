"""The golden cases of the generator: a folder each, with `spec.yaml` and what is made of it."""

from __future__ import annotations

from pathlib import Path

from pawl.tools.compiler.compile import compile_files
from pawl.tools.compiler.model import MachineModel

GOLDEN = Path(__file__).parents[1] / "golden" / "generated"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())


def model_of(case: str) -> MachineModel:
    """The model of a case's spec, which has no error; nothing that is made of it depends on where the checkout is."""
    compiled = compile_files([GOLDEN / case / "spec.yaml"])
    assert not compiled.errors, "\n".join(map(str, compiled.errors))
    (model,) = compiled.machines
    return model


def agrees(path: Path, text: str, rewrite: bool) -> None:
    """`text` is what the golden file holds; with --rewrite it becomes that."""
    if rewrite:
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), f"{path} is missing: run pytest --rewrite, then read it"
    assert path.read_text(encoding="utf-8") == text, f"{path} differs: run pytest --rewrite, then read the diff"
