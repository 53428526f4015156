"""The pages of the reference: every public name is on one, and docstrings become markup that says the same."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import pawl

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    """A module of the folder of the documentation, by its name, and its neighbours with it."""
    if not (ROOT / ".docs").is_dir():
        pytest.skip("a source archive has no sources of the documentation")
    before = list(sys.path)
    sys.path.insert(0, str(ROOT / ".docs"))
    try:
        return import_module("pages")
    finally:
        sys.path[:] = before


def test_every_public_name_is_on_a_page(docs: ModuleType) -> None:
    api, errors = docs.api(), docs.errors()
    for name in pawl.__all__:
        if name != "sync":
            assert f":: pawl.{name}\n" in (errors if docs.names.is_error(name) else api), name


def test_a_command_s_help_is_on_the_page_of_commands(docs: ModuleType) -> None:
    page = docs.cli()
    for name in ("pawl new", "pawl check", "pawl approve"):
        assert f"{name}\n{'-' * len(name)}\n" in page
        assert f"Usage: {name}" in page


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (["Ask `Runtime` or `runtime`."], [":py:obj:`Runtime <pawl.Runtime>` or ``runtime``."]),
        (["Raises AgentBusy."], ["Raises :py:exc:`~pawl.AgentBusy`."]),
        (["Takes `a *", "  b`, `**x`."], ["``a * b``, ``**x``."]),
        (["2 * 3, a|b, x_ and `y_`"], [r"2 \* 3, a\|b, x\_ and ``y_``"]),
        (["* one", "* two"], ["* one", "* two"]),
        (
            ["Arguments:", "  store: a URL", "    or not", "", "End"],
            [":param store: a URL", "    or not", "", "End"],
        ),
        (["So:", "", "    a * b", "", "Then"], ["So::", "", "    a * b", "", "", "Then"]),
        (["See pawl.Runtime.start."], ["See :py:obj:`pawl.Runtime.start`."]),
    ],
)
def test_docstrings_become_markup(docs: ModuleType, said: list[str], shown: list[str]) -> None:
    made = docs.to_rst(said)
    assert "\n".join(shown) in "\n".join(made)


def test_links_between_files_become_links_between_pages(docs: ModuleType) -> None:
    text = (
        "[spec](fsm_specs/README.md) [code](tools/compiler/) ![x](diagrams/admission.svg) [d](diagrams/) [w](https://x)"
    )
    assert docs._linked(text, "README.md") == (
        "[spec](language.md) code (`tools/compiler`) ![x](machines/admission.svg) [d](machines/index.md) [w](https://x)"
    )


def test_a_kind_of_event_that_the_page_does_not_explain_is_named(docs: ModuleType, tmp_path: Path) -> None:
    text = (ROOT / ".docs" / "events.md").read_text(encoding="utf-8")
    page = tmp_path / "events.md"
    page.write_text(text.replace("| `done` |", "| `gone` |"), encoding="utf-8")
    with pytest.raises(AssertionError, match="says nothing of: done"):
        docs._check_events(page)
