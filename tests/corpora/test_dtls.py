"""Machines learned from DTLS implementations compile, and do what their files say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from corpora.dot import Dot, read
from corpora.making import files, from_dot, made, walk

FILES = files("dtls", "*.dot")
pytestmark = pytest.mark.skipif(not FILES, reason="the corpora are not here")
each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def plain_walk(dot: Dot, word: list[str]) -> list[tuple[str, str]]:
    state, steps = dot.initial, []
    for event in word:
        (edge,) = (edge for edge in dot.edges if (edge.source, edge.event) == (state, event))
        state = edge.target
        steps.append((state, edge.output))
    return steps


@each
def test_random_words_give_the_states_and_outputs_of_a_plain_walk(path: Path) -> None:
    dot = read(path)
    built = from_dot(dot)
    machine = made(built.model())
    chance = random.Random(path.name)
    for _ in range(20):
        word = chance.choices(dot.events(), k=30)
        state, steps = str(machine.initial), []
        for event in word:
            state, done = walk(machine, state, built.events[event])
            steps.append((state, *done))
        assert steps == [
            (built.states[to], *([built.outputs[out]] if out else [])) for to, out in plain_walk(dot, word)
        ]


@each
def test_every_node_edge_and_word_of_the_file_is_in_the_machine(path: Path) -> None:
    dot = read(path)
    model = from_dot(dot).model()
    source = path.read_text(encoding="utf-8")
    assert len(model.rows) == len(dot.edges) == source.count("->") - source.count("__start0 ->")
    assert {state.label for state in model.states} == set(dot.states)
    assert {event.label for event in model.events} == set(dot.events())
    assert set(model.actions.values()) == set(dot.outputs())
    labels = {state.name: state.label for state in model.states}
    assert labels[model.initial] == dot.initial


@each
def test_all_states_are_reached_all_pairs_decided_and_some_state_is_never_left(path: Path) -> None:
    rules = {finding.rule for finding in from_dot(read(path)).compiled().findings}
    assert rules == {"W15"}
