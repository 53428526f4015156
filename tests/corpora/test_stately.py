"""Machines that people drew compile, with every name of theirs distinct and shown."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from corpora.making import Recorder, files, is_label, made
from corpora.stately import Drawn, Way, build, read
from pawl.runtime.fsm.step import advance
from pawl.runtime.fsm.table import Kind

FILES = files("stately", "*.json")
pytestmark = pytest.mark.skipif(not FILES, reason="the corpora are not here")
each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

WRONG = {"kettle": {"E07"}, "connectivity": {"E08"}, "videoEditor": {"E08"}}
"""Files with a mistake: two states that lead to each other at once; guards of one state that all have the same name."""


@each
def test_a_drawn_machine_compiles_or_has_a_mistake(path: Path) -> None:
    rules = {finding.rule for finding in build(read(path)).compiled().errors}
    assert rules == WRONG.get(path.stem, set())


@each
def test_every_name_is_distinct_and_shown_in_its_label(path: Path) -> None:
    drawn = read(path)
    built = build(drawn)
    assert len({*built.states.values()}) == len(built.states) == len(drawn.states)
    assert len({*built.events.values()}) == len(built.events) == len(drawn.events())
    if path.stem in WRONG:
        return
    model = built.model()
    assert {state.label for state in model.states} == set(drawn.states)
    assert {event.label for event in model.events} == set(drawn.events())
    assert all(is_label(state.label) for state in model.states)
    assert {row.wildcard for row in model.rows} <= {None, "*"}
    ways = [way for way in drawn.ways if way.guard is not None]
    assert set(model.guards.values()) <= {way.guard for way in ways}


@pytest.mark.parametrize("path", [p for p in FILES if p.stem not in WRONG], ids=lambda path: path.stem)
def test_each_event_in_each_state_does_what_the_drawing_says(path: Path) -> None:
    """With all guards agreeing: the state's own first way, else the one of the whole machine."""
    drawn = read(path)
    built = build(drawn)
    model = built.model()
    table = made(model)
    ends = {state.label for state in model.states if state.kind is Kind.FINAL}
    for state, event in itertools.product(drawn.states, drawn.events()):
        if state in ends or any(way.event is None and way.source == state and way.guard is None for way in drawn.ways):
            continue
        step = advance(table, built.states[state], _context(model), built.events[event])
        way = next((w for s in (state, None) for w in drawn.ways if (w.source, w.event) == (s, event)), None)
        assert str(step.state) == built.states[_rest(drawn, way.target) if way and way.target else state]


def _context(model: Any) -> Any:
    context = Recorder(model.guards)
    for name in model.delays:
        setattr(context, name, lambda: None)
    return context


def _rest(drawn: Drawn, state: str) -> str:
    """Where automatic ways lead in the end."""
    for _ in range(len(drawn.states)):
        way = next((w for w in drawn.ways if w.source == state and w.event is None and w.target is not None), None)
        if way is None:
            return state
        state = str(way.target)
    raise AssertionError("round and round")


def test_left_and_not_left_stay_two_events() -> None:
    drawn = Drawn(
        "On",
        {"On": {}, "off": {}, "ein aus": {}, "état": {}, "On ": {}},
        tuple(Way("On", event, "off", None, ()) for event in ("left", "!left", "AVIsOn", "!AVIsOn")),
        {},
    )
    built = build(drawn)
    assert built.events["left"] == "left"
    assert built.events["!left"] == "x21_left"
    assert len(set(built.events.values())) == 4
    assert built.states == {"On": "on", "off": "off", "ein aus": "ein_aus", "état": "état", "On ": "on_2"}
    assert {state.label for state in built.model().states} == set(drawn.states)
