"""Coverage on a drawing: the same arrows, each with its count and a colour that the legend explains."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.golden import CASES, model_of
from compiler.test_diagrams import HOSTILE, drawn, groups, hostile, texts
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.model import MachineModel
from pawl.tools.coverage.counts import Counts, RowKey
from pawl.tools.coverage.overlay import paint
from pawl.tools.coverage.tally import tally


def painted(model: MachineModel, some: set[int], expand: bool = False) -> ET.Element:
    rows = Counter(
        {
            RowKey(row.source, row.event, row.target, row.when, row.unless): 3 * (place in some)
            for place, row in enumerate(model.rows)
        }
    )
    return drawn(emit_dot(model, expand, paint=paint(tally(model, [Counts(model.name, rows=rows)]), expand)))


def titles(root: ET.Element, kind: str) -> list[str | None]:
    return [each.findtext("{http://www.w3.org/2000/svg}title") for each in groups(root, kind)]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(CASES), st.booleans(), st.sets(st.integers(0, 40)))
def test_the_picture_has_the_same_states_arrows_and_notes(case: str, expand: bool, some: set[int]) -> None:
    plain, over = drawn(emit_dot(model_of(case), expand)), painted(model_of(case), some, expand)

    for kind in ("node", "edge", "cluster"):
        assert titles(over, kind) == titles(plain, kind)


def test_taken_rows_have_a_count_and_others_say_never() -> None:
    model = model_of("booking")

    nothing, everything = texts(painted(model, set())), texts(painted(model, set(range(len(model.rows)))))

    assert "\u00d7" not in nothing
    assert "\u2013 never" in nothing
    assert re.search(r"\u00d7\d", everything)
    assert "\u2013 never" not in everything
    assert f"{len(model.rows)} of {len(model.rows)} rows taken, 100 %" in everything


def test_a_barrier_that_is_one_node_says_how_much_of_its_inside_was_taken() -> None:
    assert re.search(r"inside: 0 of \d+ rows taken", texts(painted(model_of("booking"), set())))
    assert "inside:" not in texts(painted(model_of("booking"), set(), expand=True))


@pytest.mark.parametrize("words", ["taken, and how often", "never", "some rows taken"])
def test_the_legend_is_in_the_picture(words: str) -> None:
    assert words in texts(painted(model_of("booking"), {0}))


@settings(max_examples=30, deadline=None)
@given(HOSTILE)
def test_no_text_changes_what_is_drawn(text: str) -> None:
    model = hostile(text)
    plain, over = drawn(emit_dot(model)), painted(model, {0, 3})

    for kind in ("node", "edge"):
        assert titles(over, kind) == titles(plain, kind)
