"""A difference on a drawing: both machines in one, each state and row in the colour of what happened to it."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.by_hand import order, row
from compiler.golden import CASES, model_of
from compiler.test_diagrams import HOSTILE, drawn, groups, hostile, texts
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.model import MachineModel
from pawl.tools.diff.difference import difference
from pawl.tools.diff.overlay import both, paint, shown


def dot(old: MachineModel, new: MachineModel, expand: bool = False) -> str:
    found = difference(old, new)
    return emit_dot(both(found), expand, paint=paint(found, "old and new"))


def changed() -> MachineModel:
    """The order without `on_hold`, with a state `lost`, other entry actions and a row that leads elsewhere."""
    old = order()
    kept = [each for each in old.rows if "on_hold" not in (each.source, each.target) and each.event != "packed"]
    lost = attrs.evolve(old.states[-1], name="lost", kind=Kind.FINAL)
    states = [each for each in old.states if each.name != "on_hold"]
    return attrs.evolve(
        old,
        states=(*(attrs.evolve(s, enter=()) if s.name == "packing" else s for s in states), lost),
        rows=(*kept, row("packing", "packed", "lost"), row("paying", "add", "lost")),
    )


def test_every_state_of_both_is_there_once_with_its_colour() -> None:
    text = dot(order(), changed())

    def line(name: str) -> str:
        (found,) = [each for each in text.splitlines() if f"<b>{name}</b>" in each]
        return found

    assert 'fillcolor="#e6f6ea"' in line("lost")
    assert 'fillcolor="#fdeae8"' in line("on_hold")
    assert 'fillcolor="#fff1dc"' in line("Packing | boxing")
    assert "enter: reserve, print_label \u2192 none" in line("Packing | boxing").replace('<br align="left"/>  ', " ")
    assert 'fillcolor="#ffffff"' in line("cart")


def test_a_row_that_leads_elsewhere_is_there_as_it_was_and_as_it_is() -> None:
    said = texts(drawn(dot(order(), changed())))

    assert "\u2212 packed" in said
    assert "~ packed" in said
    assert "+ add" in said


@pytest.mark.parametrize("words", ["+ added", "\u2212 removed", "~ changed", "as before", "old and new"])
def test_the_legend_is_in_the_picture(words: str) -> None:
    assert words in texts(drawn(dot(order(), changed())))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("expand", [False, True])
def test_without_a_difference_it_is_the_picture_of_the_machine(case: str, expand: bool) -> None:
    over, plain = drawn(dot(model_of(case), model_of(case), expand)), drawn(emit_dot(model_of(case), expand))

    for kind in ("node", "edge", "cluster"):
        names = [
            [each.findtext("{http://www.w3.org/2000/svg}title") for each in groups(root, kind)]
            for root in (over, plain)
        ]
        assert names[0] == names[1]


def test_rows_inside_a_barrier_that_is_one_node_are_counted_in_it() -> None:
    old = model_of("booking")
    first = next(
        each for each in old.rows if each.expanded and each.target is not None and each.target.endswith(".retrying")
    )
    new = attrs.evolve(old, rows=tuple(each for each in old.rows if each is not first))

    assert "inside: 1 removed" in texts(drawn(dot(old, new)))


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(CASES), st.booleans())
def test_any_two_machines_can_be_drawn(one: str, other: str, expand: bool) -> None:
    root = drawn(dot(model_of(one), model_of(other), expand))

    names = {state.name for which in (one, other) for state in model_of(which).states if expand or state.inside is None}
    assert len(
        [each for each in groups(root, "node") if (each.findtext("{http://www.w3.org/2000/svg}title") or "")[0] == "n"]
    ) == len(names)


@settings(max_examples=30, deadline=None)
@given(HOSTILE)
def test_no_text_breaks_it(text: str) -> None:
    assert groups(drawn(dot(order(), hostile(text))), "node")


@pytest.mark.parametrize(
    ("value", "text"), [(None, "none"), ((), "none"), (("a", "b"), "a, b"), (Kind.WAIT, "wait"), (Kind.PLAIN, "plain")]
)
def test_values_are_written_as_people_write_them(value: object, text: str) -> None:
    assert shown(value) == text
