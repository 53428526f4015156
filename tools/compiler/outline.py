"""A machine as text on one screen: one paragraph a state, its rows in order, barriers folded into their state."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from pawl.tools.compiler.model import MachineModel, RowModel, StateModel

WIDTH = 112


def outline(model: MachineModel) -> str:
    """Lines `state  kind  (notes) row · row`, folded to WIDTH columns; inner states show only rows of the spec."""
    states = [state for state in model.states if state.inside is None or written(model, state)]
    names = max((len(state.name) for state in states), default=0)
    kinds = max((len(state.kind) for state in states), default=0)
    indent = " " * (names + kinds + 4)
    lines: list[str] = []
    for state in states:
        head = f"{state.name:<{names}}  {state.kind:<{kinds}}  "
        facts = "; ".join(notes(model, state))
        packed = _pack([f"({facts})"] * bool(facts), _moves(model, state), WIDTH - len(indent))
        lines.extend((head if number == 0 else indent) + text for number, text in enumerate(packed or [""]))
    return "\n".join(line.rstrip() for line in lines)


def notes(model: MachineModel, state: StateModel) -> list[str]:
    """What a state is beyond its kind: initial, barrier, effect, outcome, timer, entry actions."""
    found = []
    if state.name == model.initial:
        found.append("initial")
    if state.barrier is not None:
        found.append(f"barrier {state.barrier}")
    if state.effect is not None:
        found.append(f"effect {state.effect}" + (f" behind {state.behind}" if state.behind else ""))
    if state.outcome is not None:
        found.append(f"outcome {state.outcome}")
    if state.after is not None:
        found.append(f"after {state.after.delay}: {state.after.event}")
    if state.enter:
        found.append(f"enter {', '.join(state.enter)}")
    return found


def written(model: MachineModel, state: StateModel) -> list[RowModel]:
    """The rows of a state that the spec wrote, in order."""
    return [row for row in model.rows_of(state.name) if not row.expanded]


def guard_text(row: RowModel) -> str:
    """` [a, not b]`, or nothing."""
    guards = [*row.when, *(f"not {name}" for name in row.unless)]
    return f"[{', '.join(guards)}]" if guards else ""


def action_text(actions: Sequence[str]) -> str:
    """` / a, b`, or nothing."""
    return f"/ {', '.join(actions)}" if actions else ""


def fold_groups(model: MachineModel, events: Iterable[str]) -> list[str]:
    """Replace every whole group of events by the group's name; larger groups first."""
    left = list(dict.fromkeys(events))
    known = {event.name for event in model.events}
    groups = [(name, names) for name, names in model.groups.items() if len(names) > 1 and set(names) <= known]
    for name, names in sorted(groups, key=lambda group: -len(group[1])):
        if set(names) <= set(left):
            left[min(left.index(event) for event in names)] = name
            left = [event for event in left if event not in names]
    return left


def outer(model: MachineModel, name: str) -> str:
    """The state that a person would name: an inner state of a barrier is its barrier state."""
    found = next((state for state in model.states if state.name == name), None)
    return found.inside if found is not None and found.inside is not None else name


def neighbours(rows: Iterable[RowModel]) -> list[list[RowModel]]:
    """Rows in order, those together that follow each other and differ in their event only."""
    found: list[list[RowModel]] = []
    for row in rows:
        last = found[-1][-1] if found else None
        if last is not None and row.event is not None and last.event is not None and _same(last, row):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def prepared(model: MachineModel, row: RowModel) -> str | None:
    """The action that the expansion adds to a row into a barrier; who names the barrier has said it."""
    into = next(
        (each for each in model.states if row.target is not None and each.name == outer(model, row.target)), None
    )
    return f"prepare_{into.barrier}" if into is not None and into.barrier is not None else None


def seen_target(model: MachineModel, row: RowModel) -> str | None:
    """Where a row leads, as a person would name it: inside a barrier its inner states have their own names."""
    if row.target is None or outer(model, row.source) == outer(model, row.target):
        return row.target
    return outer(model, row.target)


def _same(one: RowModel, other: RowModel) -> bool:
    return (one.target, one.when, one.unless, one.do) == (other.target, other.when, other.unless, other.do)


def _moves(model: MachineModel, state: StateModel) -> list[str]:
    return [_move(model, rows) for rows in neighbours(written(model, state))]


def _move(model: MachineModel, rows: list[RowModel]) -> str:
    row = rows[0]
    events = fold_groups(model, (each.event for each in rows if each.event is not None))
    arrow = "stay" if row.target is None else f"-> {seen_target(model, row)}"
    actions = action_text([name for name in row.do if name != prepared(model, row)])
    parts = (", ".join(events), guard_text(row), arrow, actions)
    return " ".join(part for part in parts if part)


def _pack(facts: list[str], moves: list[str], width: int) -> list[str]:
    """Lines of whole moves, as many as fit on each; only a move that is longer than a line is broken."""
    lines: list[str] = list(facts)
    for index, move in enumerate(moves):
        joined = f"{lines[-1]}{' ' if index == 0 else ' · '}{move}" if lines else move
        if not lines or len(joined) <= width:
            lines[-1:] = [joined]
        else:
            lines.append(move)
    folded = (
        textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in lines
    )
    return [piece for pieces in folded for piece in pieces]
