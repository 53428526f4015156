"""How every command on specs begins (find, compile, tell what is wrong) and ends (write, or tell how files differ)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from pawl.tools.cli.output import Misuse, as_json, diff, err, finding, leave, out
from pawl.tools.cli.project import Project, Specs, find_specs
from pawl.tools.compiler.compile import Compiled, compile_files
from pawl.tools.compiler.findings import Finding
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.write import Change, Drift, ForeignFile, Output, drifts, stale, write


@attrs.define
class Work:
    """One run over some specs: what was found, compiled and reported so far."""

    specs: Specs
    compiled: Compiled
    json: bool = False
    wrong: list[str] = attrs.field(factory=list)
    """Sentences about faults that are no findings; each makes the run fail."""

    @property
    def machines(self) -> tuple[MachineModel, ...]:
        """The machines without an error, by name."""
        return self.compiled.machines

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong so far."""
        return not self.compiled.errors and not self.wrong

    def fail(self, sentence: str) -> None:
        """Note a fault and tell it."""
        self.wrong.append(sentence)
        err(sentence, "red")

    def end(self, **more: Any) -> None:
        """Print the JSON object when it was asked for, and leave with 1 when anything is wrong."""
        if self.json:
            findings = [as_data(each) for each in self.compiled.findings]
            as_json({"ok": self.ok, "findings": findings, "faults": self.wrong} | more)
        if not self.ok:
            leave(1)


def compile_specs(given: Sequence[Path], known: Project, json: bool = False) -> Work:
    """Find and compile; every finding is told, and two machines of one name are a fault."""
    specs = find_specs(given, known)
    work = Work(specs, compile_files(specs.files), json)
    for each in work.compiled.findings:
        finding(each)
    named: dict[str, str] = {}
    for model in work.machines:
        first = named.setdefault(model.name, model.file)
        if first != model.file:
            work.fail(f"{model.file}:1:1: machine '{model.name}' is in {first}, too; rename one of them")
    return work


def settle(work: Work, outputs: Sequence[Output], check: bool, prune: bool, command: Sequence[str]) -> None:
    """Write the outputs, or with `check` tell how the files differ; then end the run.

    Generated files whose spec is gone count as drift, are removed with `prune`, and are told otherwise.
    """
    try:
        left = _stale(work, outputs)
        if check:
            drifted = drifts(outputs)
            _tell_drift(work, drifted, left, command)
            work.end(files=[{"path": str(d.path), "change": d.change, "diff": d.diff} for d in drifted])
            return
        changes = write(outputs)
        if prune:
            for path in left:
                path.unlink()
                changes[path] = Change.REMOVED
    except ForeignFile as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise Misuse(f"cannot write{where}: {error.strerror or error}; choose another --out") from None
    _tell_changes(work, changes, [] if prune else left)
    work.end(files=[{"path": str(path), "change": change} for path, change in changes.items()])


def _stale(work: Work, outputs: Sequence[Output]) -> list[Path]:
    """Only when whole folders were given is a spec that is not among them gone."""
    if not work.specs.folders:
        return []
    names = {Path(model.file).name for model in work.machines}  # a fragment makes nothing
    made = [output.path for output in outputs]
    suffixes = {path.suffix for path in made}
    folders = dict.fromkeys(path.parent for path in made)
    return [path for folder in folders for path in stale(folder, suffixes, names, made)]


def _tell_drift(work: Work, drifted: list[Drift], left: list[Path], command: Sequence[str]) -> None:
    for each in drifted:
        if not work.json:
            diff(each.diff)
        work.fail(f"{each.path}: {'missing' if each.change is Change.CREATED else 'not what the spec says'}")
    for path in left:
        work.fail(f"{path}: its spec is gone")
    if work.wrong:
        err(f"run `{shlex.join([*command, '--prune'] if left else command)}` and commit the result")


def _tell_changes(work: Work, changes: dict[Path, Change], left: list[Path]) -> None:
    styles = {Change.CREATED: "green", Change.UPDATED: "yellow", Change.REMOVED: "red", Change.UNCHANGED: "dim"}
    if not work.json:
        for path, change in changes.items():
            out(f"{change:<9} {path}", styles[change])
    for path in left:
        err(f"note: {path} was generated from a spec that is gone; remove it, or run with --prune")


def as_data(found: Finding) -> dict[str, Any]:
    """A finding as JSON data."""
    at = found.position
    return {
        "rule": found.rule, "severity": str(found.severity), "file": at.file, "line": at.line, "column": at.column,
        "message": found.message, "used_in": [str(place) for place in at.uses],
    }  # fmt: skip
