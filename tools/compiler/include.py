"""Which fragments the files of a spec bring: read once, never from outside the spec's folder, never round and round."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePath, PureWindowsPath

import attrs

from pawl.tools.compiler.findings import MOST_FINDINGS, Finding, Severity, quoted, suggest
from pawl.tools.compiler.load import load
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.nodes import Document
from pawl.tools.compiler.spec import File, Fragment, Part, Spec
from pawl.tools.compiler.structure import structure

MAX_DEPTH = 16
"""How many files deep an include may lead."""

MAX_FILES = 100
"""How many files one file may include."""

SUFFIXES = (".yaml", ".yml")


@attrs.frozen
class Included:
    """A fragment with those that its own file includes, by name. `whole`: nothing was wrong with any of the files."""

    fragment: Fragment
    included: dict[str, Included]
    whole: bool


@attrs.frozen
class Includes:
    """What a file includes: fragments by name, and whether every file could be used."""

    fragments: dict[str, Included]
    whole: bool


@attrs.define
class _File:
    """A file that was read."""

    part: Part | None
    findings: tuple[Finding, ...]


class Library:
    """The files of one run, each read once. `findings` grows by what is wrong with includes and included files."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._files: dict[Path, _File] = {}
        self._given: dict[int, _File] = {}
        self._included: dict[Path, Included | None] = {}
        self.findings: list[Finding] = []
        self.read: dict[str, None] = {}
        """The files that were read because another includes them, as messages name them."""
        for document in documents:
            self._given[id(document)] = self._structured(document)
            self._files.setdefault(_resolved(document.file), self._given[id(document)])

    def part(self, document: Document) -> Part | None:
        """What one of the given documents holds."""
        return self._given[id(document)].part

    def findings_of(self, document: Document) -> tuple[Finding, ...]:
        """What is wrong with the form of one of the given documents."""
        return self._given[id(document)].findings

    def includes(self, spec: Spec) -> Includes:
        """The fragments that `spec` includes."""
        place = _resolved(spec.file)
        self._included = {}  # what may be included depends on where the machine is
        return self._includes(spec, place.parent, (place,))

    def _includes(self, part: Part, root: Path, trail: tuple[Path, ...]) -> Includes:
        found: dict[str, Included] = {}
        seen: dict[Path, File] = {}
        whole = True
        if len(part.include) > MAX_FILES:
            message = f"more than {MAX_FILES} files are included here; put fragments together that are used together"
            self._wrong("Y16", part.include[MAX_FILES].at, message)
            whole = False
        for file in part.include[:MAX_FILES]:
            included = self._one(file, root, trail, seen)
            if included is None:
                whole = False
                continue
            name = included.fragment.fragment.text
            if name in found:
                other = found[name].fragment.file
                self._wrong("E02", file.at, f"the fragment {quoted(name)} is in {other}, too; rename one of them")
            found.setdefault(name, included)
            whole = whole and included.whole
        return Includes(found, whole)

    def _one(self, file: File, root: Path, trail: tuple[Path, ...], seen: dict[Path, File]) -> Included | None:
        """The fragment in one file of an `include` list; None, and a finding, where there is none."""
        path = Path(os.path.normpath(Path(file.at.file).parent / file.text))
        place = _resolved(path)
        problem = _unusual(file.text) or _outside(place, root, trail[0].name) or _missing(file.text, path, place)
        if problem is None and place in trail:
            problem = _round(place, trail)
        elif problem is None and place in self._included and place not in seen:
            seen[place] = file
            return self._included[place]
        if problem is None and len(trail) > MAX_DEPTH:
            problem = f"files include each other more than {MAX_DEPTH} deep; include it where it is used"
        if problem is not None:
            self._wrong("Y16", file.at, problem)
            return None
        if place in seen:
            self._wrong("E02", file.at, f"{quoted(file.text)} is included twice; remove one")
            return None
        seen[place] = file
        self._included[place] = self._fragment(file, path, place, root, trail)
        return self._included[place]

    def _fragment(self, file: File, path: Path, place: Path, root: Path, trail: tuple[Path, ...]) -> Included | None:
        """What the file at `path` holds, with what that one includes; None, and a finding, when it is no fragment."""
        loaded = self._load(path, place)
        if isinstance(loaded.part, Spec):
            message = f"{quoted(file.text)} is a machine; only a file that begins with `fragment: NAME` can be included"
            self._wrong("Y16", file.at, message)
            return None
        if loaded.part is None:
            return None  # what is wrong was said there
        inside = self._includes(loaded.part, root, (*trail, place))
        return Included(loaded.part, inside.fragments, inside.whole and not loaded.findings)

    def _load(self, path: Path, place: Path) -> _File:
        if place not in self._files:
            self._files[place] = self._structured(load(path))
            self.findings += self._files[place].findings
        found = self._files[place]
        self.read.setdefault(found.part.file if found.part is not None else str(path))
        return found

    def _structured(self, document: Document) -> _File:
        part, wrong = structure(document)
        return _File(part, (*document.findings, *wrong))

    def _wrong(self, rule: str, at: Position, message: str) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(rule, Severity.ERROR, at, message))


def _unusual(text: str) -> str | None:
    """Why `text` is no path that means the same everywhere."""
    if not text.strip():
        return "an empty path; name a file, such as fragments/retry.yaml"
    if PurePath(text).is_absolute() or PureWindowsPath(text).anchor or text.startswith("~"):
        return f"{quoted(text)} is not a path from this file's folder; write it as one, such as fragments/retry.yaml"
    if "\\" in text:
        return f"{quoted(text)} has a backslash; write / between folders"
    if not text.endswith(SUFFIXES):
        return f"{quoted(text)} is not a .yaml file; include a file with `fragment: NAME`"
    return None


def _outside(place: Path, root: Path, machine: str) -> str | None:
    """A spec reads nothing outside of its folder, whatever links lie there: it may come from anywhere."""
    if place.is_relative_to(root):
        return None
    return f"the file is outside of the folder of {machine}; move it there, or {machine} further up"


def _missing(text: str, path: Path, place: Path) -> str | None:
    """Why there is nothing to be read at `place`, where the links at `path` lead."""
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError) as error:
        return _unreached(text, path, place, error)
    if stat.S_ISREG(mode):
        return None
    what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
    return f"{quoted(text)} is {what}; include a file with `fragment: NAME`"


def _unreached(text: str, path: Path, place: Path, error: OSError | ValueError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ELOOP:
        return f"{quoted(text)} is a link that leads round to itself; include the file that it is meant to lead to"
    if number == errno.EACCES:
        return f"{quoted(text)} is in a folder that may not be read; allow it"
    if os.path.islink(path):
        return f"{quoted(text)} is a link to a file that is not there; include one that is"
    try:
        beside = [each.name for each in place.parent.iterdir() if each.suffix in SUFFIXES]
    except (OSError, ValueError):
        beside = []
    return f"there is no file {quoted(text)}; {suggest(place.name, beside, 'paths begin at the folder of this file')}"


def _round(place: Path, trail: tuple[Path, ...]) -> str:
    names = [each.name for each in (*trail[trail.index(place) :], place)]
    if len(names) == 2:
        return "the file includes itself; remove it here"
    return f"files include each other: {' → '.join(names)}; remove one of these includes"


def _resolved(file: str | Path) -> Path:
    """Where a file really is, links followed; for a name that is no path at all, the name."""
    try:
        return Path(file).resolve()
    except (OSError, ValueError, RuntimeError):
        return Path(os.path.abspath(str(file).replace("\0", "")))
