"""Version histories that nobody here wrote: what differs, carried out, is the next version, and verdicts hold."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from compiler.mealy import CORPORA, Mealy, corpus, read
from diff.patching import content, patched
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.model import MachineModel
from pawl.tools.diff.difference import difference
from pawl.tools.diff.verdict import Verdict, verdict

HISTORIES = sorted(path.name for path in (CORPORA / "dtls-versions").glob("*")) or ["absent"]


@cache
def versions(history: str) -> tuple[tuple[Mealy, MachineModel], ...]:
    files = sorted((corpus("dtls-versions") / history).glob("hyp*.dot"), key=lambda path: int(path.stem[3:]))
    return tuple((mealy, compiled(mealy, path)) for path in files for mealy in [read(path)])


def compiled(mealy: Mealy, path: Path) -> MachineModel:
    found = compile_text(mealy.spec("learned"), path.name)
    assert not found.errors, found.errors
    return found.machines[0]


@pytest.mark.parametrize("history", HISTORIES)
def test_what_differs_carried_out_is_the_next_version(history: str) -> None:
    steps = versions(history)
    assert len(steps) > 5

    for (_, old), (_, new) in pairwise(steps):
        found = difference(old, new)
        assert not found.empty
        assert patched(found) == content(new)
        assert patched(difference(new, old)) == content(old)


def _keeps(old: Mealy, new: Mealy, word: list[str]) -> bool:
    """Whether every input of `word` that the old machine has an edge for leads to the same state in the new one."""
    return all(
        before is None or (now is not None and now[0] == before[0])
        for before, now in zip(old.walk(word), new.walk(word), strict=True)
    )


def _word(judged: Verdict, old: Mealy) -> list[str]:
    assert judged.witness is not None
    events = [*(row.event for row in judged.witness.path), judged.witness.broken.event]
    texts = {name: text for text, name in old.inputs.items()}
    return [texts[event] for event in events if event is not None]


@pytest.mark.parametrize("history", HISTORIES)
def test_a_verdict_is_true_of_every_word_and_its_own_word_shows_it(history: str) -> None:
    steps = versions(history)
    chance = random.Random(history)
    judged_as = set()

    pairs = [*pairwise(steps), *((each, each) for each in steps), (steps[0], steps[-1])]
    for (mealy, old), (other, new) in pairs:
        judged = verdict(old, new)
        judged_as.add(judged.compatible)
        if judged.compatible:
            letters = sorted(mealy.inputs)
            assert all(_keeps(mealy, other, chance.choices(letters, k=30)) for _ in range(50))
        else:
            assert not _keeps(mealy, other, _word(judged, mealy))

    assert judged_as == {True, False}


@pytest.mark.parametrize("history", HISTORIES)
def test_a_version_that_only_learned_more_is_compatible_with_what_it_knew(history: str) -> None:
    """Without one of its last state's edges a machine refuses there; with it, every word of before still holds."""
    mealy, whole = versions(history)[-1]
    less = Mealy(mealy.initial, mealy.states, mealy.moves[:-1])
    part = compiled(less, Path("less.dot"))

    assert verdict(part, whole).compatible
    assert not verdict(whole, part).compatible
