"""A page about one machine: the diagram (Mermaid), its states, and its table, every text escaped."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Sequence

from pawl.runtime.fsm.table import Unhandled
from pawl.tools.compiler.emit_mermaid import emit_mermaid, too_large
from pawl.tools.compiler.model import MachineModel, RowModel, StateModel
from pawl.tools.compiler.outline import fold_groups, neighbours, notes, prepared, seen_target
from pawl.tools.compiler.overlay import Overlay
from pawl.tools.compiler.write import mark

MATRIX_EVENTS = 8
"""The most events that are columns of one table; a machine with more gets a list, which can be read."""

_LEGEND = (
    "Blue states go on by themselves (dashed arrows), white ones wait for an event, yellow ones end the session and "
    "are resumed, green ones are the end, red ones stop the process. `[guard]` must hold; `/ action` is done."
)
_MARKUP = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown might take as markup; an underscore inside a word is none."""
_NUMBER = re.compile(r"\A(\d+)([.)])")
_UNHANDLED = {
    Unhandled.IGNORE: "ignored",
    Unhandled.STALE: "stale",
    Unhandled.REFUSE: "refused",
    None: "refused",
}


def emit_markdown(
    model: MachineModel, expand: bool = False, over: Overlay | None = None, svg: str | None = None
) -> str:
    """The page; `svg` is a file beside it to link to. Without `expand`, the protocol of a barrier is left out."""
    mermaid = emit_mermaid(model, expand, over)
    parts = [mark(model.file, "<!--", " -->"), f"# {_text(model.name)}", _text(model.doc)]
    if svg is not None:
        parts.append(f"Drawing: [{_text(svg)}](<{_target(svg)}>)")
    if too_large(mermaid):
        parts.append("Too large for Mermaid on GitHub: see the drawing.")
    else:
        body = mermaid.partition("\n")[2]
        parts.append(f"```mermaid\n{body}```")
    parts += [_LEGEND, "## States", _states(model, expand), "## Transitions"]
    if len(model.events) <= MATRIX_EVENTS:
        parts.append(_matrix(model, expand))
    else:
        parts += ["The first row of a state and event whose guards hold is taken.", _list(model, expand)]
    parts.append(_unhandled(model))
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(model: MachineModel, expand: bool) -> list[StateModel]:
    return [state for state in model.states if expand or state.inside is None or _rows(model, state, expand)]


def _rows(model: MachineModel, state: StateModel, expand: bool) -> list[RowModel]:
    return [row for row in model.rows_of(state.name) if expand or not row.expanded]


def _states(model: MachineModel, expand: bool) -> str:
    lines = [
        (_code(state.name), state.kind.value, "; ".join(map(_text, notes(model, state))), _text(_described(state)))
        for state in _shown(model, expand)
    ]
    return _table(("State", "Kind", "Notes", "Meaning"), lines)


def _described(state: StateModel) -> str:
    return f"{state.label}: {state.doc}" if state.label and state.doc else state.label or state.doc


def _matrix(model: MachineModel, expand: bool) -> str:
    events = [event.name for event in model.events if any(row.event == event.name for row in model.rows)]
    automatic = any(row.event is None for row in model.rows)
    lines = []
    for state in _shown(model, expand):
        cells = [_code(state.name)]
        for event in [None] * automatic + events:
            rows = [row for row in _rows(model, state, expand) if row.event == event]
            cells.append("<br>".join(_move(model, row, expand) for row in rows))
        if any(cells[1:]):
            lines.append(tuple(cells))
    return _table(("State", *["at once"] * automatic, *map(_code, events)), lines)


def _list(model: MachineModel, expand: bool) -> str:
    lines = []
    for state in _shown(model, expand):
        for rows in neighbours(_rows(model, state, expand)):
            events = fold_groups(model, [row.event for row in rows if row.event is not None])
            named = ", ".join(map(_code, events)) or "*at once*"
            numbers = ", ".join(dict.fromkeys(str(row.at.line) for row in rows))
            row = rows[0]
            cells = (
                _code(state.name),
                named,
                _guards(row),
                _target_of(model, row, expand),
                _names(_done(model, row, expand)),
                numbers,
            )
            lines.append(cells)
    return _table(("State", "Event", "If", "Then", "Do", "Line"), lines)


def _move(model: MachineModel, row: RowModel, expand: bool) -> str:
    guards = f"[{_guards(row)}] " if row.when or row.unless else ""
    done = _done(model, row, expand)
    return f"{guards}{_target_of(model, row, expand)}{' / ' + _names(done) if done else ''}"


def _done(model: MachineModel, row: RowModel, expand: bool) -> list[str]:
    return [name for name in row.do if expand or name != prepared(model, row)]


def _target_of(model: MachineModel, row: RowModel, expand: bool) -> str:
    target = row.target if expand else seen_target(model, row)
    return "stay" if target is None else f"→ {_code(target)}"


def _guards(row: RowModel) -> str:
    return ", ".join([*map(_code, row.when), *(f"not {_code(name)}" for name in row.unless)])


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(_code, names))


def _unhandled(model: MachineModel) -> str:
    told: dict[str, list[str]] = {}
    for event in model.events:
        told.setdefault(_UNHANDLED[event.unhandled], []).append(_code(event.name))
    lines = [f"* {what}: {', '.join(events)}" for what, events in told.items()]
    rest = f"`internal_error` without a row leads to {_code(model.error)}." if model.error is not None else ""
    return "\n".join(["In a state without a row for it, an event is", "", *lines, *(["", rest] if rest else [])])


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _code(name: str) -> str:
    return f"`{name}`" if all(c.isalnum() or c in "_." for c in name) else _text(name)


def _text(text: str) -> str:
    """Free text on one line that stays text, also at the start of a line and in a table cell."""
    line = " ".join(text.split())
    escaped = _MARKUP.sub(lambda found: "\\" + found[0], "".join(c for c in line if c.isprintable()))
    return f"\\{escaped}" if escaped[:1] in {"#", "-", "+", "="} else _NUMBER.sub(r"\1\\\2", escaped)


def _target(name: str) -> str:
    return urllib.parse.quote(name)
