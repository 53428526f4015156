"""Models learned with AALpy, and its examples: nondeterminism is found, and no name is lost or merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpora.dot import read
from corpora.making import files, from_dot, made, walk

FILES = files("aalpy", "**/*.dot")
pytestmark = pytest.mark.skipif(not FILES, reason="the corpora are not here")
NONDETERMINISTIC = [
    *(f"MDPs/{name}.dot" for name in ("first_grid", "second_grid", "shared_coin", "slot_machine")),
    *(f"onfsm_{number}.dot" for number in (1, 2, 4, 5)),
]
PARTIAL = {"refuse": "*"}


def named(name: str) -> Path:
    (path,) = files("aalpy", name)
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_two_ways_for_one_input_are_a_dead_row_and_all_else_compiles(path: Path) -> None:
    dot = read(path)
    result = from_dot(dot, unhandled=PARTIAL, checks={"W15": "off"}).compiled()
    rules = {finding.rule for finding in result.errors}
    assert rules == (set() if dot.is_deterministic() else {"E08"})


@pytest.mark.parametrize("name", NONDETERMINISTIC)
def test_these_are_nondeterministic(name: str) -> None:
    assert not read(named(name)).is_deterministic()


def test_a_dead_row_names_the_line_of_the_one_before_it() -> None:
    built = from_dot(read(named("onfsm_4.dot")))
    (found, *_) = (finding for finding in built.compiled().findings if finding.rule == "E08")
    lines = built.text.splitlines()
    first = int(found.message.split("line ")[1].split()[0])
    here, before = lines[found.position.line - 1], lines[first - 1]
    assert (here.split('"to"')[0]) == before.split('"to"')[0]
    assert here != before


@pytest.mark.parametrize("path", [p for p in FILES if read(p).is_deterministic()], ids=lambda path: path.stem)
def test_every_word_of_a_deterministic_file_is_kept_apart_and_shown(path: Path) -> None:
    dot = read(path)
    built = from_dot(dot, unhandled=PARTIAL)
    model = built.model()
    assert sorted(state.label or "" for state in model.states) == sorted(dot.states)
    assert sorted(event.label or "" for event in model.events) == sorted(dot.events())
    assert sorted(model.actions.values()) == sorted(dot.outputs())
    table = made(model)
    for edge in dot.edges:
        done = [built.outputs[edge.output]] if edge.output else []
        assert walk(table, built.states[edge.source], built.events[edge.event]) == (built.states[edge.target], done)


def test_brackets_and_a_plus_are_three_events() -> None:
    built = from_dot(read(named("arithmetics.dot")))
    assert built.events == {"(": "x28", ")": "x29", "+": "x2b", "1": "e_1"}
    assert built.outputs == {"push(()": "out_push_x28_x28_x29", "pop(()": "out_pop_x28_x28_x29"}


def test_a_label_in_html_lists_several_inputs() -> None:
    dot = read(named("TLS/JSSE_1.8.0_25_server_regular.dot"))
    found = {edge.event for edge in dot.edges if (edge.source, edge.target) == ("s8", "s2")}
    assert {"EmptyCertificate", "ChangeCipherSpec", "ApplicationData", "ApplicationDataEmpty", "Finished"} <= found
    outputs = {edge.output for edge in dot.edges if edge.source == "s8" and edge.event == "Finished"}
    assert outputs == {"Alert Fatal (Handshake failure) / ConnectionClosed"}
