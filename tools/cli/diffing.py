"""`pawl diff`: two versions of a machine, part by part, and whether runs of the old one can go on in the new one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from pawl.runtime.fsm.table import INTERNAL_ERROR
from pawl.tools.cli.compiling import as_data
from pawl.tools.cli.in_flight import flight_data, flight_lines
from pawl.tools.cli.output import Misuse, as_json, finding, leave, out
from pawl.tools.cli.picturing import write_drawing
from pawl.tools.cli.words import count
from pawl.tools.compiler.compile import Compiled, compile_files, compile_text
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.model import MachineModel, RowModel
from pawl.tools.compiler.outline import guard_text
from pawl.tools.diff.cells import Change, RowChange
from pawl.tools.diff.difference import Difference, Part, difference
from pawl.tools.diff.flight import flight, renames
from pawl.tools.diff.overlay import both, paint, shown
from pawl.tools.diff.verdict import Break, Verdict, Witness, verdict

STDIN = Path("-")
_SIGNS = {Change.ADDED: "+", Change.REMOVED: "-", Change.CHANGED: "~", Change.MOVED: "~"}
_STYLES = {Change.ADDED: "green", Change.REMOVED: "red", Change.CHANGED: "yellow", Change.MOVED: "yellow"}

Told = tuple[str, str]
"""A line and its style."""


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
        title = f"{names}: {_word(found, judged)}. {_summary(found)}"
        dot = emit_dot(both(found), wish.expand, paint=paint(found, title))
        write_drawing(wish.diagram, dot, after.file)
    if wish.json:
        as_json(_as_data(found, judged) | {"in_flight": flight_data(fates)})
    else:
        for text, style in (
            *_lines(found, judged),
            *_section("sessions in flight", list(flight_lines(before, after, fates))),
        ):
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


def _word(found: Difference, judged: Verdict) -> str:
    if found.empty:
        return "the same"
    return "compatible" if judged.compatible else "not compatible"


def _summary(found: Difference) -> str:
    pieces = [_counted(found.states, "state"), _counted(found.events, "event"), _counted(found.rows, "row")]
    return "; ".join(filter(None, pieces)) or "no state, event or row is different"


def _counted(parts: Sequence[Part] | Sequence[RowChange], what: str) -> str:
    counts = [(change, sum(part.change is change for part in parts)) for change in Change]
    told = ", ".join(f"{number} {change}" for change, number in counts if number)
    return f"{what}s: {told}" if told else ""


def _lines(found: Difference, judged: Verdict) -> Iterator[Told]:
    word = _word(found, judged)
    yield f"{found.old.file} -> {found.new.file}: {word}", "bold green" if judged.compatible else "bold red"
    if found.empty:
        return
    yield f"{_summary(found)}", ""
    yield from _section("machine", [(f"~ {f.name}: {shown(f.old)} -> {shown(f.new)}", "yellow") for f in found.machine])
    yield from _section("states", [line for part in found.states if part.inside is None for line in _part(part)])
    yield from _section("events", [line for part in found.events for line in _part(part)])
    yield from _section("rows", _rows(found))
    for kind, (added, removed) in found.names.items():
        lines = [(f"+ {name}  (the context needs it now)", "green") for name in added]
        yield from _section(kind, lines + [(f"- {name}  (not needed any more)", "red") for name in removed])
    yield from _section("verdict", list(_verdict(found, judged)))


def _section(name: str, lines: Sequence[Told]) -> Iterator[Told]:
    if lines:
        yield "", ""
        yield name, "bold"
        for text, style in lines:
            yield f"  {text}", style


def _part(part: Part) -> Iterator[Told]:
    fields = "; ".join(f"{field.name} {shown(field.old)} -> {shown(field.new)}" for field in part.fields)
    yield f"{_SIGNS[part.change]} {part.name}{': ' if fields else ''}{fields}", _STYLES[part.change]


def _rows(found: Difference) -> list[Told]:
    """Row by row, but for the protocol of barriers, and for states that are gone or new as a whole."""
    lines, protocol = [], 0
    whole = {part.name: part.change for part in found.states if part.change is not Change.CHANGED}
    skipped: dict[str, int] = {}
    for each in found.rows:
        if each.row.expanded:
            protocol += 1
        elif whole.get(each.row.source) is Change.REMOVED:
            skipped[each.row.source] = skipped.get(each.row.source, 0) + 1
        else:
            lines.append((_row(each), _STYLES[each.change]))
    lines += [(f"- all {number} of {name}, with it", "red") for name, number in skipped.items()]
    if protocol:
        lines.append((f"~ {count(protocol, 'row')} of the protocol of barriers", "yellow"))
    return lines


def _row(each: RowChange) -> str:
    row, sign = each.row, _SIGNS[each.change]
    place = f"{row.at.file}:{row.at.line}"
    if each.change is Change.CHANGED and each.old is not None:
        said = f"{_asked(each.old)}{_done(each.old)}  =>  {f'{guard_text(row)}{_done(row)}'.strip()}"
    else:
        said = f"{_asked(row)}{_done(row)}"
    if each.moved and each.old_place is not None and each.new_place is not None:
        said += f"  (number {each.old_place + 1} before, {each.new_place + 1} now)"
    return f"{sign} {said}  {place}"


def _asked(row: RowModel) -> str:
    return " ".join(filter(None, (row.source, row.event or "at once", guard_text(row))))


def _done(row: RowModel) -> str:
    actions = f" / {', '.join(row.do)}" if row.do else ""
    return f" -> {row.target}{actions}" if row.target is not None else f" stays{actions}"


def _verdict(found: Difference, judged: Verdict) -> Iterator[Told]:
    if judged.compatible:
        yield (
            "compatible: what the old machine accepts, the new one accepts, through the same states",
            "green",
        )
    elif judged.initial is not None:
        yield f"not compatible: {judged.initial}", "red"
    elif judged.witness is not None:
        yield f"not compatible: {_told(judged.witness)}", "red"
    broken = [(name, each) for name, each in judged.states.items() if each is not None]
    here = [(name, each) for name, each in broken if not each.path]
    for name, each in here[:_MOST]:
        if each is not judged.witness:
            yield f"{name}: {_break(each.broken)}", "red"
    if len(here) > _MOST:
        yield f"and {count(len(here) - _MOST, 'state')} more", "red"
    if broken and len(broken) < len(judged.states):
        good = [name for name, each in judged.states.items() if each is None]
        yield f"runs can go on from: {', '.join(good)}", "green"
    elif broken:
        yield "there is no state from which every word holds", ""
    for text in _unjudged(found):
        yield f"not judged: {text}", ""


_MOST = 20


def _told(witness: Witness) -> str:
    word = "".join(f"{row.source} --{row.event or 'at once'}--> " for row in witness.path)
    return f"{word}{witness.broken.state}: {_break(witness.broken)}"


def _break(broken: Break) -> str:
    if broken.event is None and not broken.answers:
        return broken.reason
    answers = ", ".join(name if yes else f"not {name}" for name, yes in broken.answers)
    event = "an error" if broken.event == INTERNAL_ERROR else f"'{broken.event}'" if broken.event else "at once"
    return f"{event}{f' [{answers}]' if answers else ''}: {broken.reason}"


def _unjudged(found: Difference) -> Iterator[str]:
    """What is different and no part of the verdict."""
    rows = [each for each in found.rows if each.old is not None and each.new is not None and each.old.do != each.new.do]
    if rows:
        yield f"the actions of {count(len(rows), 'row')}"
    for fields, what in ((("enter",), "entry actions"), (("after",), "timers"), (("effect", "behind"), "effects")):
        states = _with(found.states, fields)
        if states:
            yield f"the {what} of {', '.join(states)}"
    events = _with(found.events, ("payload", "authority", "correlate"))
    if events:
        yield f"what comes with {', '.join(events)}"


def _with(parts: Iterable[Part], fields: Iterable[str]) -> list[str]:
    return [part.name for part in parts if any(field.name in fields for field in part.fields)]


def _as_data(found: Difference, judged: Verdict) -> dict[str, Any]:
    return {
        "ok": True, "same": found.empty, "compatible": judged.compatible,
        "old": _head(found.old), "new": _head(found.new),
        "machine": [_field(field) for field in found.machine],
        "states": [_named(part) for part in found.states],
        "events": [_named(part) for part in found.events],
        "rows": [_changed(each) for each in found.rows],
        "names": {kind: {"added": added, "removed": removed} for kind, (added, removed) in found.names.items()},
        "verdict": {
            "initial": judged.initial,
            "states": {name: {"compatible": each is None} | _why(each) for name, each in judged.states.items()},
            "not_judged": list(_unjudged(found)),
        },
    }  # fmt: skip


def _head(model: MachineModel) -> dict[str, Any]:
    return {"machine": model.name, "version": model.version, "file": model.file, "spec_hash": model.spec_hash}


def _field(field: Any) -> dict[str, Any]:
    return {"name": field.name, "old": _value(field.old), "new": _value(field.new)}


def _value(value: Any) -> Any:
    return attrs.asdict(value) if attrs.has(type(value)) else value


def _named(part: Part) -> dict[str, Any]:
    fields = [_field(field) for field in part.fields]
    return {"change": part.change, "name": part.name, "inside": part.inside, "fields": fields}


def _changed(each: RowChange) -> dict[str, Any]:
    return {
        "change": each.change, "from": each.row.source, "on": each.row.event, "moved": each.moved,
        "old_place": each.old_place, "new_place": each.new_place,
        "old": _row_data(each.old), "new": _row_data(each.new),
    }  # fmt: skip


def _row_data(row: RowModel | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "to": row.target, "when": row.when, "unless": row.unless, "do": row.do,
        "file": row.at.file, "line": row.at.line, "protocol": row.expanded,
    }  # fmt: skip


def _why(witness: Witness | None) -> dict[str, Any]:
    if witness is None:
        return {}
    broken = witness.broken
    word = [{"from": row.source, "on": row.event, "to": row.target} for row in witness.path]
    at = {"state": broken.state, "on": broken.event, "answers": dict(broken.answers), "reason": broken.reason}
    return {"word": word, "break": at}
