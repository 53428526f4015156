"""What `pawl diff` says to people: what is different, section by section, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pawl.runtime.fsm.table import INTERNAL_ERROR
from pawl.tools.cli.words import count
from pawl.tools.compiler.model import RowModel
from pawl.tools.compiler.outline import guard_text
from pawl.tools.diff.cells import Change, RowChange
from pawl.tools.diff.difference import Difference, Part
from pawl.tools.diff.overlay import shown
from pawl.tools.diff.verdict import Break, Verdict, Witness

_SIGNS = {Change.ADDED: "+", Change.REMOVED: "-", Change.CHANGED: "~", Change.MOVED: "~"}
_STYLES = {Change.ADDED: "green", Change.REMOVED: "red", Change.CHANGED: "yellow", Change.MOVED: "yellow"}

Told = tuple[str, str]
"""A line and its style."""


def word(found: Difference, judged: Verdict) -> str:
    """The verdict in a word."""
    if found.empty:
        return "the same"
    return "compatible" if judged.compatible else "not compatible"


def summary(found: Difference) -> str:
    """How much is different."""
    pieces = [_counted(found.states, "state"), _counted(found.events, "event"), _counted(found.rows, "row")]
    return "; ".join(filter(None, pieces)) or "no state, event or row is different"


def _counted(parts: Sequence[Part] | Sequence[RowChange], what: str) -> str:
    counts = [(change, sum(part.change is change for part in parts)) for change in Change]
    told = ", ".join(f"{number} {change}" for change, number in counts if number)
    return f"{what}s: {told}" if told else ""


def lines(found: Difference, judged: Verdict) -> Iterator[Told]:
    """All of it, section by section."""
    style = "bold green" if judged.compatible else "bold red"
    yield f"{found.old.file} -> {found.new.file}: {word(found, judged)}", style
    if found.empty:
        return
    yield f"{summary(found)}", ""
    yield from section("machine", [(f"~ {f.name}: {shown(f.old)} -> {shown(f.new)}", "yellow") for f in found.machine])
    yield from section("states", [line for part in found.states if part.inside is None for line in _part(part)])
    yield from section("events", [line for part in found.events for line in _part(part)])
    yield from section("rows", _rows(found))
    for kind, (added, removed) in found.names.items():
        lines = [(f"+ {name}  (the context needs it now)", "green") for name in added]
        yield from section(kind, lines + [(f"- {name}  (not needed any more)", "red") for name in removed])
    yield from section("verdict", list(_verdict(found, judged)))


def section(name: str, lines: Sequence[Told]) -> Iterator[Told]:
    """Lines under a heading; nothing where there are none."""
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
    for text in unjudged(found):
        yield f"not judged: {text}", ""


_MOST = 20


def _told(witness: Witness) -> str:
    path = "".join(f"{row.source} --{row.event or 'at once'}--> " for row in witness.path)
    return f"{path}{witness.broken.state}: {_break(witness.broken)}"


def _break(broken: Break) -> str:
    if broken.event is None and not broken.answers:
        return broken.reason
    answers = ", ".join(name if yes else f"not {name}" for name, yes in broken.answers)
    event = "an error" if broken.event == INTERNAL_ERROR else f"'{broken.event}'" if broken.event else "at once"
    return f"{event}{f' [{answers}]' if answers else ''}: {broken.reason}"


def unjudged(found: Difference) -> Iterator[str]:
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
