"""A page is valid HTML in one piece, its links lead somewhere, and no text of a spec becomes anything but text."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import attrs
import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.by_hand import event, machine, order, row, state
from compiler.golden import CASES, GOLDEN, agrees, model_of
from compiler.test_diagrams import HOSTILE, hostile
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.compile import compile_files
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.write import spec_of
from pawl.tools.docs.page import page
from pawl.tools.docs.text import shown
from pawl.tools.docs.view import FULL_COLUMNS

ROOT = Path(__file__).parents[2]
TYPES = {"a", "path", "polygon", "text", "title", "g", "ellipse", "polyline"}
SOURCE = (GOLDEN / "booking" / "spec.yaml").read_text(encoding="utf-8")


def written(*models: MachineModel, source: str = SOURCE) -> str:
    return page(models, {model.file: source for model in models}, "Machines")


def parsed(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Every element as (name, attributes, text), after a strict reading."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(text)
    return [
        (str(each.tag).rpartition("}")[2], dict(each.attrib), "".join(each.itertext()))
        for each in tree.iter()
        if isinstance(each.tag, str)
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_valid_html_whose_links_lead_to_one_place_each(case: str) -> None:
    elements = parsed(written(model_of(case)))

    ids = Counter(attributes["id"] for _, attributes, _ in elements if "id" in attributes)
    targets = [attributes["href"] for _, attributes, _ in elements if "href" in attributes]
    drawn = [part for _, attributes, _ in elements for part in attributes.get("data-drawn", "").split()]
    assert set(ids.values()) == {1}
    assert all(target[0] == "#" and target[1:] in ids for target in targets)
    assert set(drawn) <= set(ids)
    assert len(targets) > 20


def test_the_machines_of_the_library_are_on_one_page() -> None:
    found = compile_files(sorted((ROOT / "fsm_specs").glob("*.yaml")))

    text = page(found.machines, {model.file: Path(model.file).read_text() for model in found.machines}, "Pawl")

    elements = parsed(text)
    assert [text for name, _, text in elements if name == "h2"] == [*(m.name for m in found.machines), "Source"]
    assert Counter(name for name, _, _ in elements)["svg"] == len(found.machines)


def test_nothing_is_fetched_and_only_the_script_of_the_page_may_run() -> None:
    elements = parsed(written(model_of("booking")))

    names = Counter(name for name, _, _ in elements)
    assert not {"link", "img", "iframe", "object", "embed", "form", "base", "image", "use"} & set(names)
    assert not [key for _, attributes, _ in elements for key in attributes if key in ("src", "srcset", "action")]
    assert not [key for _, attributes, _ in elements for key in attributes if key.startswith("on")]
    ((_, _, script),) = [each for each in elements if each[0] == "script"]
    (policy,) = [a["content"] for name, a, _ in elements if a.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    styles = "".join(text for name, _, text in elements if name == "style")
    assert "url(" not in styles
    assert "@import" not in styles


@pytest.mark.parametrize(
    "text",
    [
        "</script><script>alert(1)</script>", "</style><b>", "<!--", "]]>", "</title>", "</pre>", '" onclick="alert(1)',
        "{{ 7 * 7 }}{% raw %}", "&lt;b&gt;", "</svg><p>", "javascript:alert(1)", "a\u202eb", "a\x00b\x0cc\x85d\u2028e",
    ],
)  # fmt: skip
def test_markup_in_a_spec_is_text_on_the_page(text: str) -> None:
    model = attrs.evolve(hostile(text), context=text, guards={"empty": text, "in_stock": text, "address_known": text})
    elements, plain = parsed(written(model, source=f"# {text}\n")), parsed(written(order(), source="# x\n"))

    for kind in ("script", "style", "svg", "table", "section", "b", "p", "pre", "title"):
        assert _count(elements, kind) >= _count(plain, kind) if kind in ("p", "b") else True
    assert _count(elements, "script") == _count(elements, "style") == 1
    assert not [key for _, attributes, _ in elements for key in attributes if key.startswith("on")]
    assert any(shown(text).strip() in said for name, _, said in elements if name == "pre")


def _count(elements: list[tuple[str, dict[str, str], str]], kind: str) -> int:
    return sum(name == kind for name, _, _ in elements)


@settings(max_examples=25, deadline=None)
@given(HOSTILE, st.text())
def test_no_text_makes_a_page_invalid_or_adds_an_element(text: str, source: str) -> None:
    page_of = parsed(written(hostile(text), source=source))

    names = {name for name, _, _ in page_of}
    assert names <= TYPES | {
        "html", "head", "meta", "title", "style", "body", "nav", "div", "strong", "main", "section", "h2", "h3", "p",
        "span", "input", "label", "svg", "table", "thead", "tbody", "tr", "th", "td", "br", "b", "small", "sup", "pre",
        "script", "wbr", "code", "h4", "ul", "li", "details", "summary",
    }  # fmt: skip


def test_the_source_is_there_line_by_line_and_rows_lead_to_their_lines() -> None:
    elements = parsed(written(model_of("booking")))

    lines = {a["id"]: text for name, a, text in elements if re.fullmatch(r"file0-L\d+", a.get("id", ""))}
    assert list(lines.values()) == SOURCE.rstrip("\n").split("\n")
    first = next(each for each in model_of("booking").rows if not each.expanded)
    assert f"from: {first.source.partition('.')[0]}" in lines[f"file0-L{first.at.line}"]
    assert any(attributes.get("href") == f"#file0-L{first.at.line}" for _, attributes, _ in elements)


def test_every_state_event_guard_and_action_has_its_place() -> None:
    model = model_of("booking")
    heads = [text for name, attributes, text in parsed(written(model)) if name == "th" and "id" not in attributes]

    wanted = [
        *(state.name for state in model.states if state.inside is None), *(event.name for event in model.events),
        *model.guards, *model.actions, *model.delays,
    ]  # fmt: skip
    assert [name for name in wanted if name not in heads] == []


def test_a_barrier_is_explained_with_every_other_way_out_of_it() -> None:
    model = model_of("booking")
    text = "".join(text for name, attributes, text in parsed(written(model)) if attributes.get("class") == "barrier")
    assert "is entered only after one write is known to be on disk" in written(model)
    for each in model.states:
        if each.barrier is not None:
            assert f"{each.barrier}, before {each.name}" in text
    outside = {
        each.target for each in model.rows if each.expanded and each.target is not None and "." not in each.target
    }  # fmt: skip
    assert all(name in text for name in outside)


def test_few_events_make_a_table_with_words_and_many_one_with_signs() -> None:
    assert '<table class="matrix words">' in written(order())
    many = [event(f"e{number}") for number in range(FULL_COLUMNS + 1)]
    wide = machine([state("a")], many, [row("a", each.name, "a") for each in many])
    assert '<table class="matrix signs">' in written(wide)


def test_a_machine_of_every_kind_says_what_kinds_mean() -> None:
    text = written(order())

    assert all(f'class="kind {kind.value}"' in text for kind in Kind)


def test_the_first_line_names_the_spec_so_that_the_page_may_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "order.html"
    path.write_text(written(order()), encoding="utf-8")

    assert spec_of(path) == "order.yaml"
    assert "run `pawl docs`" in path.read_text().splitlines()[0]


@pytest.mark.slow
def test_a_page_is_the_same_for_any_hash_seed(rewrite: bool) -> None:
    program = (
        "from compiler.golden import model_of\nfrom docs.test_page import written\n"
        "import sys; sys.stdout.write(written(model_of('booking')))"
    )
    path = f"{ROOT / '.src'}:{ROOT / 'tests'}"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONPATH": path, "PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip

    assert len(texts) == 1


def test_the_page_of_a_small_machine_is_what_was_looked_at(rewrite: bool) -> None:
    """But for the drawing, which another version of the drawing program may lay out otherwise."""
    text = re.sub(r"(?s)<svg.*?</svg>", "<svg></svg>", written(order(), source="# order\n"))
    text = re.sub(r"--natural: \d+px", "--natural: 1px", text)

    agrees(ROOT / "tests" / "golden" / "docs" / "order.html", text, rewrite)
