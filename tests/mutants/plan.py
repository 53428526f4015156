"""Mutants as data: which text of which file is replaced by which, why that is a fault, and the tests that must notice.

A TOML file of this folder holds some of them, each a table `[[mutant]]`:

* `name`: a word for it, unique in all files. `why`: what is wrong with the code then, in one line.
* `edits`: a list of {file, old, new}: `old` stands exactly once in the file, whose path is from the root.
* `tests`: what pytest is told, as on a command line; one of them has to fail.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SPECS = "fsm_specs/"


class Unplanted(Exception):
    """A mutant does not fit the sources any more; the message says which, and what to do."""


@attrs.frozen
class Edit:
    """One replacement in one file."""

    file: str
    old: str
    new: str

    def made(self, text: str) -> str:
        """`text` with the fault in it. Raises Unplanted."""
        found = text.count(self.old)
        if found != 1:
            where = "is not there any more" if not found else f"is there {found} times"
            raise Unplanted(f"{self.file}: this text {where}:\n{self.old}")
        return text.replace(self.old, self.new)


@attrs.frozen
class Mutant:
    """One fault."""

    name: str
    why: str
    edits: tuple[Edit, ...]
    tests: str

    @property
    def of_specs(self) -> bool:
        """Whether code has to be generated anew for it."""
        return any(edit.file.startswith(SPECS) for edit in self.edits)

    def planted(self, root: Path) -> dict[str, str]:
        """Its files as they are with the fault in them, by path from the root. Raises Unplanted."""
        texts: dict[str, str] = {}
        for edit in self.edits:
            before = texts.get(edit.file) or (root / edit.file).read_text(encoding="utf-8")
            try:
                texts[edit.file] = edit.made(before)
            except Unplanted as error:
                raise Unplanted(f"mutant {self.name!r} can not be planted; write it anew. {error}") from None
        for file, text in texts.items():
            if file.endswith(".py"):
                compile(text, file, "exec")
        return texts


def mutants(folder: Path = HERE) -> tuple[Mutant, ...]:
    """All of them, in order of files and names. Raises Unplanted for what is written wrongly."""
    found: dict[str, Mutant] = {}
    for path in sorted(folder.glob("*.toml")):
        for said in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            mutant = _mutant(path, said)
            if mutant.name in found:
                raise Unplanted(f"{path.name}: there are two mutants {mutant.name!r}")
            found[mutant.name] = mutant
    return tuple(found.values())


def _mutant(path: Path, said: Mapping[str, Any]) -> Mutant:
    keys = {"name", "why", "edits", "tests"}
    if set(said) != keys:
        raise Unplanted(f"{path.name}: mutant {said.get('name')!r} has {sorted(said)}, and not {sorted(keys)}")
    edits: Sequence[Mapping[str, str]] = said["edits"]
    return Mutant(said["name"], said["why"], tuple(Edit(**edit) for edit in edits), said["tests"])
