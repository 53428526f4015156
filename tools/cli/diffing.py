"""`pawl diff`: two versions of a machine, part by part, and whether runs of the old one can go on in the new one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import attrs

from pawl.tools.cli.compiling import as_data
from pawl.tools.cli.diff_data import diff_data
from pawl.tools.cli.diff_text import lines, section, summary, word
from pawl.tools.cli.in_flight import flight_data, flight_lines
from pawl.tools.cli.output import Misuse, as_json, finding, leave, out
from pawl.tools.cli.picturing import write_drawing
from pawl.tools.compiler.compile import Compiled, compile_files, compile_text
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.model import MachineModel
from pawl.tools.diff.difference import Difference, difference
from pawl.tools.diff.flight import flight, renames
from pawl.tools.diff.overlay import both, paint
from pawl.tools.diff.verdict import verdict

STDIN = Path("-")


@attrs.frozen
class Wish:
    """The options of the command, as they were given."""

    renames: Sequence[str]
    diagram: Path | None
    expand: bool
    compatible: bool
    json: bool


def diff(old: Path, new: Path, wish: Wish) -> None:
    """Compare two specs, either of which may be stdin; 1 when one is wrong, or not compatible and that was asked."""
    if old == new == STDIN:
        raise Misuse("only one of the two can come from stdin")
    before, after = _machine(old, wish.json), _machine(new, wish.json)
    found = _found(before, after, wish)
    judged = verdict(found.old, found.new)
    fates = flight(before, found.old, after, judged)
    if wish.diagram is not None:
        names = " \u2192 ".join(dict.fromkeys(Path(model.file).name for model in (before, after)))
        title = f"{names}: {word(found, judged)}. {summary(found)}"
        dot = emit_dot(both(found), wish.expand, paint=paint(found, title))
        write_drawing(wish.diagram, dot, after.file)
    if wish.json:
        as_json(diff_data(found, judged) | {"in_flight": flight_data(fates)})
    else:
        sessions = list(flight_lines(before, after, fates))
        for text, style in (*lines(found, judged), *section("sessions in flight", sessions)):
            out(text, style)
    if wish.compatible and not judged.compatible:
        leave(1)


def _found(before: MachineModel, after: MachineModel, wish: Wish) -> Difference:
    """The difference, under the names that were asked for; else those to which the new spec leads the old ones."""
    try:
        if wish.renames:
            return difference(before, after, dict(map(_rename, wish.renames)))
    except ValueError as error:
        raise Misuse(str(error)) from None
    return difference(before, after, renames(before, after))


def _machine(path: Path, json: bool) -> MachineModel:
    compiled = _compiled(path)
    for each in compiled.errors:
        finding(each)
    if compiled.errors:
        if json:
            as_json({"ok": False, "findings": [as_data(each) for each in compiled.errors]})
        leave(1)
    if not compiled.machines:
        raise Misuse(f"{path} is a fragment; compare the machines that use it")
    return compiled.machines[0]


def _compiled(path: Path) -> Compiled:
    if path == STDIN:
        return compile_text(sys.stdin.buffer.read().decode("utf-8", errors="replace"), "stdin")
    if not path.is_file():
        raise Misuse(f"{path}: no such file; `git show HEAD:{path.name} | pawl diff - {path.name}` takes one from git")
    return compile_files([path])


def _rename(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise Misuse(f"--rename {text}: write OLD=NEW, two names of a state")
    return old.strip(), new.strip()
