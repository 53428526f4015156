"""Version histories that nobody here wrote: what differs, carried out, is the next version, and verdicts hold."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

import attrs
import pytest

from corpora.dot import Dot, read
from corpora.making import Built, files, from_dot
from diff.patching import content, patched
from pawl.tools.compiler.model import MachineModel
from pawl.tools.diff.difference import difference
from pawl.tools.diff.verdict import Verdict, verdict

HISTORIES = sorted({path.parent.name for path in files("dtls-versions", "*/hyp*.dot")})
pytestmark = pytest.mark.skipif(not HISTORIES, reason="the corpora are not here")
each_history = pytest.mark.parametrize("history", HISTORIES)


@attrs.frozen
class Version:
    """One file of a history."""

    dot: Dot
    built: Built
    model: MachineModel


def made(dot: Dot, **more: str) -> Version:
    built = from_dot(dot, **more)
    return Version(dot, built, built.model())


@cache
def versions(history: str) -> tuple[Version, ...]:
    paths = files("dtls-versions", f"{history}/hyp*.dot")
    return tuple(made(read(path)) for path in sorted(paths, key=lambda path: int(path.stem[3:])))


def walked(dot: Dot, word: list[str]) -> list[str | None]:
    """The state after each input; None where the machine has no edge, and stays."""
    edges = {(edge.source, edge.event): edge.target for edge in dot.edges}
    state, found = dot.initial, list[str | None]()
    for letter in word:
        target = edges.get((state, letter))
        state = target if target is not None else state
        found.append(target)
    return found


def keeps(old: Version, new: Version, word: list[str]) -> bool:
    """Whether every input that the old machine has an edge for leads to the same state in the new one."""
    both = zip(walked(old.dot, word), walked(new.dot, word), strict=True)
    return all(before is None or now == before for before, now in both)


def shown(judged: Verdict, old: Version) -> list[str]:
    """The word of a verdict, as the file says it."""
    assert judged.witness is not None
    texts = {name: text for text, name in old.built.events.items()}
    events = [*(row.event for row in judged.witness.path), judged.witness.broken.event]
    return [texts[event] for event in events if event is not None]


@each_history
def test_what_differs_carried_out_is_the_next_version(history: str) -> None:
    assert len(versions(history)) > 5

    for old, new in pairwise(versions(history)):
        found = difference(old.model, new.model)
        assert not found.empty
        assert patched(found) == content(new.model)
        assert patched(difference(new.model, old.model)) == content(old.model)


@each_history
def test_a_verdict_is_true_of_every_word_and_its_own_word_shows_it(history: str) -> None:
    steps = versions(history)
    chance = random.Random(history)
    verdicts = set()

    for old, new in [*pairwise(steps), *((each, each) for each in steps), (steps[0], steps[-1])]:
        judged = verdict(old.model, new.model)
        verdicts.add(judged.compatible)
        if judged.compatible:
            assert all(keeps(old, new, chance.choices(old.dot.events(), k=30)) for _ in range(50))
        else:
            assert not keeps(old, new, shown(judged, old))

    assert verdicts == {True, False}


@each_history
def test_a_version_that_only_learned_more_is_compatible_with_what_it_knew(history: str) -> None:
    """Without its last edge a machine refuses there; with it, every word of before still holds."""
    whole = versions(history)[-1]
    less = made(attrs.evolve(whole.dot, edges=whole.dot.edges[:-1]), unhandled={"refuse": "*"})  # type: ignore[arg-type]

    assert verdict(less.model, whole.model).compatible
    assert not verdict(whole.model, less.model).compatible
