"""The drawing on a page is made anew from shapes and words; whatever else an SVG may hold is left out."""

from __future__ import annotations

import re

import pytest

from compiler.golden import model_of
from pawl.tools.compiler.emit_dot import emit_dot
from pawl.tools.compiler.emit_svg import CannotDraw, emit_svg
from pawl.tools.compiler.picture import picture
from pawl.tools.docs.drawing import inline

SPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
HEAD = f'<svg {SPACES} viewBox="0.00 0.00 30.00 60.00">'


def made(body: str, **links: tuple[str, str]) -> str:
    return inline(f"{HEAD}{body}</svg>", "a <b>", links).markup


@pytest.mark.parametrize(
    "body",
    [
        "<script>alert(1)</script>", "<style>*{}</style>", '<image href="x"/>', "<foreignObject><p/></foreignObject>",
        "<use xlink:href='#x'/>", "<!-- note -->", "<animate/>", "<desc>x</desc>",
    ],
)  # fmt: skip
def test_other_elements_are_left_out(body: str) -> None:
    assert made(body) == made("")


@pytest.mark.parametrize(
    "attribute", ['onclick="x"', 'style="x"', 'xlink:href="x"', 'href="x"', 'filter="url(x)"', 'id="x"']
)
def test_other_attributes_are_left_out(attribute: str) -> None:
    assert made(f'<g class="node" {attribute}/>') == made('<g class="node"/>')


def test_text_stays_text() -> None:
    assert "<text>&lt;b&gt; &amp; &quot;</text>" in made("<text>&lt;b&gt; &amp; &quot;</text>")


def test_words_that_are_indented_in_the_drawing_are_so_on_the_page() -> None:
    assert "<text>\xa0\xa0two</text>" in made("<text>&#160;&#160;two</text>")


def test_a_tooltip_of_the_drawing_program_gives_way_to_ours() -> None:
    found = made(
        '<g id="p-n0" class="node"><title>n0</title><a xlink:title="y"><path d="M0"/></a></g>',
        **{"p-n0": ("s1", 'a "b"')},
    )

    assert '<a href="#s1"><g id="p-n0" class="node"><title>a &quot;b&quot;</title><path d="M0"></path></g></a>' in found


def test_its_size_is_in_css_pixels() -> None:
    drawing = inline(f"{HEAD}</svg>", "x", {})

    assert (drawing.width, drawing.height) == (40, 80)


@pytest.mark.parametrize("text", ["", "<svg", "<svg/>", "<!DOCTYPE x [<!ENTITY a 'b'>]><svg>&a;</svg>", "<p/>"])
def test_what_is_no_drawing_is_refused(text: str) -> None:
    with pytest.raises(CannotDraw, match=r"use `pawl diagram`"):
        inline(text, "x", {})


def test_the_elements_of_a_real_drawing_keep_their_numbers() -> None:
    model = model_of("booking")
    shown = picture(model)
    links = {
        f"p-{kind}{n}": ("to", "x") for kind, many in (("n", shown.nodes), ("e", shown.edges)) for n in range(len(many))
    }

    markup = inline(emit_svg(emit_dot(model, prefix="p"), "x.yaml"), "x", links).markup

    assert sorted(re.findall(r'id="(p-[ne]\d+)"', markup)) == sorted(links)
