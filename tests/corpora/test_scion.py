"""Flat SCXML machines are, after each event, where the oracle beside them says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpora.making import Built, Recorder, files, made
from corpora.scion import NotCarried, read
from pawl.runtime.fsm import step

FILES = files("scion", "**/*.scxml")
pytestmark = pytest.mark.skipif(not FILES, reason="the corpora are not here")


def oracle(path: Path) -> tuple[str, list[tuple[str, str]]]:
    """The state at first, and each event with the state after it."""
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    (first,) = told["initialConfiguration"]
    return first, [(each["event"]["name"], *each["nextConfiguration"]) for each in told["events"]]


def carried() -> list[Path]:
    found = []
    for path in FILES:
        try:
            read(path, [event for event, _ in oracle(path)[1]])
        except NotCarried:
            continue
        found.append(path)
    return found


CARRIED = carried()


def test_so_many_are_flat_and_without_code() -> None:
    assert len(CARRIED) >= 9, [path.stem for path in CARRIED]


@pytest.mark.parametrize("path", CARRIED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_after_each_event_it_is_where_the_oracle_says(path: Path) -> None:
    first, told = oracle(path)
    built = _without_dead_rows(read(path, [event for event, _ in told]))
    machine = made(built.model())
    here = step.start(machine, Recorder())
    assert str(here.state) == built.states[first]
    for event, state in told:
        here = step.advance(machine, here.state, Recorder(), built.events[event])
        assert str(here.state) == built.states[state], event


def _without_dead_rows(built: Built) -> Built:
    """A second row for the same event is an error with us; SCXML takes the first."""
    errors = built.compiled().errors
    assert {error.rule for error in errors} <= {"E08"}
    dead = {error.position.line for error in errors}
    lines = [line for number, line in enumerate(built.text.splitlines(), 1) if number not in dead]
    return Built("\n".join(lines) + "\n", built.states, built.events)


def test_the_second_way_for_one_event_is_a_dead_row() -> None:
    (path,) = (path for path in FILES if path.stem == "documentOrder0")
    assert {error.rule for error in read(path, ["t"]).compiled().errors} == {"E08"}
