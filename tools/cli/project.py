"""Where specs are and where files go: arguments first, then `[tool.pawl]` of the nearest pyproject.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from pawl.tools.cli.output import Misuse

SUFFIXES = (".yaml", ".yml")
_KEYS = ("specs", "out", "diagrams")


@attrs.frozen
class Project:
    """The `[tool.pawl]` table, its paths as they are written from the current folder; all None without a table."""

    specs: tuple[Path, ...] | None = None
    out: Path | None = None
    diagrams: Path | None = None


@attrs.frozen
class Specs:
    """What a command works on: spec files in order, and the folders that were given whole."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...]


def project(start: Path | None = None) -> Project:
    """Read the table from the nearest pyproject.toml that has one, from `start` (default: here) upwards.

    Raises Misuse when the file is no TOML or the table holds something else.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _project(table, file)
    return Project()


def find_specs(given: Sequence[Path], known: Project) -> Specs:
    """The spec files that `given` paths mean (files, or folders searched for *.yaml and *.yml), else the project's.

    Raises Misuse for a path that does not exist, a folder without specs, or nothing to work on.
    """
    paths = tuple(given) or known.specs
    if not paths:
        raise Misuse("no specs: name files or folders, or set `specs` under [tool.pawl] in pyproject.toml")
    files: dict[Path, Path] = {}
    folders = []
    for path in paths:
        if path.is_dir():
            folders.append(path)
            found = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES and each.is_file())
            if not found:
                raise Misuse(f"{path} has no specs (*.yaml, *.yml); `pawl new NAME --out {path}` writes one")
        elif path.is_file():
            found = [path]
        else:
            raise Misuse(f"{path}: no such file or folder")
        for each in found:
            files.setdefault(each.resolve(), each)
    return Specs(tuple(files.values()), tuple(folders))


def _table(file: Path) -> dict[str, Any] | None:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("pawl")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError) as error:
        raise Misuse(f"{file} cannot be read: {error}") from None
    if table is not None and not isinstance(table, dict):
        raise Misuse(f"{file}: `pawl` under [tool] is not a table; write [tool.pawl]")
    return table


def _project(table: dict[str, Any], file: Path) -> Project:
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        raise Misuse(f"{file}: [tool.pawl] has no key '{unknown[0]}'; the keys are {', '.join(_KEYS)}")
    specs = table.get("specs")
    many = [specs] if isinstance(specs, str) else specs
    for key, value in (("specs", many), ("out", table.get("out")), ("diagrams", table.get("diagrams"))):
        texts = value if key == "specs" else [value]
        if value is not None and not (isinstance(texts, list) and all(isinstance(each, str) for each in texts)):
            raise Misuse(f"{file}: `{key}` under [tool.pawl] is {value!r}; write a path in quotes")
    folder = file.parent

    def path(value: str | None) -> Path | None:
        return None if value is None else _from_here(folder / value)

    return Project(
        specs=None if many is None else tuple(_from_here(folder / each) for each in many),
        out=path(table.get("out")),
        diagrams=path(table.get("diagrams")),
    )


def _from_here(path: Path) -> Path:
    try:
        return Path(os.path.relpath(path))
    except ValueError:  # another drive
        return path
