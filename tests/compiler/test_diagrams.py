"""DOT, SVG and Mermaid: the picture in three syntaxes, with every text inert in each."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.by_hand import order, row
from compiler.golden import CASES, model_of
from pawl.runtime.fsm.table import Row
from pawl.tools.compiler import emit_svg as svg
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_markdown import emit_markdown
from pawl.tools.compiler.emit_mermaid import emit_mermaid, too_large
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.emit_svg import CannotDraw, dot_hash, emit_svg, hash_in
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.overlay import Overlay, UnknownPlace, overlay
from pawl.tools.compiler.verify import verify

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = st.text() | st.text(alphabet="<>&\"'\\|{}[]%#;:\n `*_-=$lNGrn\u202e日")


def hostile(text: str) -> MachineModel:
    """The order machine with `text` wherever a model has free text."""
    model = order(doc=text)
    return attrs.evolve(
        model,
        file=text or "x",
        states=tuple(attrs.evolve(each, label=text or None, doc=text, barrier=text or None) for each in model.states),
        events=tuple(attrs.evolve(each, doc=text) for each in model.events),
    )


def drawn(dot: str) -> ET.Element:
    return ET.fromstring(emit_svg(dot, "order.yaml").encode())


def groups(root: ET.Element, kind: str) -> list[ET.Element]:
    return [each for each in root.iter(f"{SVG}g") if each.get("class") == kind]


def texts(root: ET.Element) -> str:
    return "".join("".join(each.itertext()) for each in root.iter(f"{SVG}text")).replace("\xa0", " ")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("expand", [False, True])
def test_every_state_and_every_label_is_in_the_drawing(case: str, expand: bool) -> None:
    model = model_of(case)

    root = drawn(emit_dot(model, expand))

    states = [each for each in model.states if expand or each.inside is None]
    named = [each for each in groups(root, "node") if (each.findtext(f"{SVG}title") or "").startswith("n")]
    assert len(named) == len(states)
    assert all((each.label or each.name).split()[0] in texts(root) for each in states)


@settings(max_examples=60)
@given(HOSTILE)
def test_no_text_changes_what_is_drawn(text: str) -> None:
    root, plain = drawn(emit_dot(hostile(text))), drawn(emit_dot(order()))

    for kind in ("node", "edge", "cluster"):
        titles = [[each.findtext(f"{SVG}title") for each in groups(which, kind)] for which in (root, plain)]
        assert titles[0] == titles[1]


@pytest.mark.parametrize(
    "text", ['a "quoted" b', "back\\slash", "\\N \\G \\l", "<b>bold</b>", "a & b &amp; c", "<>", "]]>", "-->"]
)
def test_a_text_is_drawn_as_it_was_written(text: str) -> None:
    assert text.replace(" ", "") in texts(drawn(emit_dot(hostile(text)))).replace(" ", "")


def test_ids_are_opaque() -> None:
    assert not re.search(r"^\s*(cart|paying)\b", emit_dot(order()), re.MULTILINE)


def test_the_current_state_and_the_path_taken_stand_out() -> None:
    model = order()
    over = overlay(model, "packing", [("cart", "paying"), ("paying", "checking"), ("checking", "packing")])

    plain, dot = emit_dot(model), emit_dot(model, over=over)

    changed = [line for line in dot.splitlines() if line not in plain.splitlines()]
    assert len(changed) == 4 + 3
    assert sum("penwidth=3" in line for line in changed) == 1


def test_a_path_is_rows_too_as_a_step_returns_them_and_rows_that_stay_are_no_move() -> None:
    model = order()
    machine = verify(model, emit_python(model))
    taken: list[Row[object, object]] = [machine.rows[0], machine.rows[1]]  # type: ignore[type-var]

    assert overlay(model, None, taken).path == (("cart", "paying"),)
    assert overlay(model, None, [row("cart", "checkout", "paying")]).path == (("cart", "paying"),)


def test_a_move_that_is_drawn_in_a_note_or_is_the_default_way_of_errors_gets_its_own_arrow() -> None:
    model = order()
    dot = emit_dot(model, over=overlay(model, "stuck", [("packing", "stuck")]))

    assert re.search(r'n3 -> n7 \[color="#c2185b"', dot)


def test_a_path_through_a_barrier_is_folded_like_the_picture() -> None:
    model = model_of("booking")
    hops = [
        ("asked", "reserving.committing"),
        ("reserving.committing", "reserving"),
        ("reserving", "recording.committing"),
    ]

    assert overlay(model, "recording.committing", hops) == Overlay(
        "recording", (("asked", "reserving"), ("reserving", "recording"))
    )
    assert overlay(model, "recording.committing", hops, expand=True).path == tuple(hops)


@pytest.mark.parametrize(
    ("state", "path", "message"),
    [
        ("packin", [], "order has no state 'packin'; did you mean 'packing'?"),
        (None, [("cart", "zzz")], "order has no state 'zzz'; it has: cart, paying"),
        (None, [("cart", "delivered")], "order has no row from 'cart' to 'delivered'"),
    ],
)
def test_an_overlay_that_the_machine_cannot_have_is_refused(
    state: str | None, path: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(UnknownPlace, match=re.escape(message)):
        overlay(order(), state, path)


def test_an_svg_carries_the_hash_of_its_dot_and_the_name_of_its_spec_but_no_version() -> None:
    dot = emit_dot(order())

    text = emit_svg(dot, "shop/order.yaml")

    assert hash_in(text) == dot_hash(dot) == dot_hash(dot.replace("\n", "\r\n"))
    assert text.splitlines()[1].startswith('<!-- Generated by pawl from "order.yaml".')
    assert "graphviz version" not in text
    assert hash_in("<svg/>") is None


def test_an_svg_names_a_font_for_every_system() -> None:
    assert "Helvetica,Arial," in emit_svg(emit_dot(order()), "order.yaml")


def test_the_same_dot_is_the_same_svg() -> None:
    dot = emit_dot(model_of("booking"), expand=True)

    assert emit_svg(dot, "x.yaml") == emit_svg(dot, "x.yaml")


def test_a_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_more: None)

    with pytest.raises(CannotDraw, match=r"not installed; pip install 'pawl-fsm\[tools\]'"):
        emit_svg("digraph {}", "x.yaml")


def test_a_program_that_fails_or_hangs_says_what_else_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotDraw, match="syntax error"):
        emit_svg("digraph {", "x.yaml")

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("graphviz-pure", 1)

    monkeypatch.setattr(svg.subprocess, "run", hang)
    with pytest.raises(CannotDraw, match="more than 120 s for this machine; split the machine"):
        emit_svg("digraph {}", "x.yaml")

    monkeypatch.setattr(svg.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0, stdout=b"", stderr=b""))
    with pytest.raises(CannotDraw, match="made no SVG"):
        emit_svg("digraph {}", "x.yaml")


_MERMAID_LINES = [
    r'state "[^"{}]*" as [ns]\d+',
    r'state "[^"{}]*" as fn\d+ \{',
    r"\}",
    r"(\[\*\]|[ns]\d+) --> (\[\*\]|n\d+)( : [^:;\"{}]*(#\d+;[^:;\"{}]*)*)?",
    r"classDef kind_\w+ [\w:#,-]+",
    r"class [\w,]+ kind_\w+",
    r"direction TB|stateDiagram-v2",
    r"%% Generated by pawl from .*",
]


@given(HOSTILE)
def test_every_line_of_mermaid_has_one_of_a_few_shapes_whatever_the_texts(text: str) -> None:
    for line in emit_mermaid(hostile(text)).splitlines():
        assert any(re.fullmatch(shape, line.strip()) for shape in _MERMAID_LINES), line


@pytest.mark.parametrize("case", CASES)
def test_mermaid_of_an_expanded_machine_keeps_to_the_shapes(case: str) -> None:
    model = model_of(case)

    for line in emit_mermaid(model, True, overlay(model, model.initial)).splitlines():
        assert any(re.fullmatch(shape, line.strip()) for shape in _MERMAID_LINES), line


def test_a_page_says_so_when_github_would_not_draw_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not too_large(emit_mermaid(order()))
    assert "```mermaid" in emit_markdown(order())

    monkeypatch.setattr("pawl.tools.compiler.emit_mermaid.MAX_EDGES", 3)

    assert "```mermaid" not in emit_markdown(order())
    assert "Too large for Mermaid" in emit_markdown(order())


@given(HOSTILE)
def test_no_text_breaks_the_tables_of_a_page(text: str) -> None:
    """Each table has the same number of cells in every line, and no line starts markup of its own."""
    page, plain = emit_markdown(hostile(text)).splitlines(), emit_markdown(order()).splitlines()

    cells = [
        [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in each if line.startswith("|")]
        for each in (page, plain)
    ]
    assert cells[0] == cells[1]
    assert [line for line in page if line.startswith("#")][1:] == ["## States", "## Transitions"]
    assert sum(line.startswith("```") for line in page) == 2


def test_a_machine_with_many_events_gets_a_list_whose_lines_keep_the_order_of_rows() -> None:
    page = emit_markdown(model_of("booking"))

    written = [line for line in page.splitlines() if line.startswith("| `recording.committing`")]
    assert [line.split(" | ")[2:4] for line in written[-2:]] == [["`known_already`", "→ `booked`"], ["", "→ `broken`"]]


def test_the_programs_are_found_beside_the_interpreter() -> None:
    assert Path(sys.executable).parent in Path(svg._program()).parents
