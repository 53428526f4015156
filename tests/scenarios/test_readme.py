"""The table of the README names what the scenarios say of themselves, and every invariant is in one of its tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
README = FOLDER / "README.md"
ROOT = FOLDER.parent.parent
INVARIANTS = 117
"""How many the list has."""

_BEGIN, _END = "<!-- table -->\n", "<!-- end -->\n"


def shown() -> dict[int, list[str]]:
    """For each invariant the scenarios whose first line names it: file and name."""
    found: dict[int, list[str]] = {}
    for path in sorted(FOLDER.rglob("*.yaml")):
        for document in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            said = re.match(r"# Invariants? (\d[\d, ]*)", document.strip())
            name = re.search(r"^name: (.*)$", document, re.MULTILINE)
            for number in re.findall(r"\d+", said[1]) if said else ():
                assert name is not None
                found.setdefault(int(number), []).append(f"`{path.relative_to(FOLDER)}`: {name[1]}")
    return found


def table() -> str:
    """The table of the README."""
    lines = [f"| {number} | {'<br>'.join(names)} |" for number, names in sorted(shown().items())]
    return "\n".join(("| invariant | scenarios |", "|---|---|", *lines, ""))


def test_the_table_is_what_the_first_lines_say(request: pytest.FixtureRequest) -> None:
    before, _, rest = README.read_text(encoding="utf-8").partition(_BEGIN)
    there, _, after = rest.partition(_END)
    if request.config.getoption("--rewrite"):
        README.write_text(f"{before}{_BEGIN}\n{table()}\n{_END}{after}", encoding="utf-8")
        return
    assert there.strip() == table().strip()


def rows(heading: str) -> dict[int, str]:
    """For each invariant of the table under a heading what its row says."""
    section = README.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found: dict[int, str] = {}
    for numbers, said in re.findall(r"^\| ([\d, ]+) \| (.*) \|$", section, re.MULTILINE):
        for number in map(int, numbers.split(", ")):
            assert number not in found
            found[number] = said
    return found


IN_PART, BEYOND = "What one run shows in part", "What one run cannot show"


def test_every_invariant_is_shown_or_said_to_be_beyond_a_single_run() -> None:
    assert {*range(1, INVARIANTS + 1)} - {*shown()} == {*rows(BEYOND)}
    assert {*rows(IN_PART)} <= {*shown()}


@pytest.mark.parametrize("heading", [IN_PART, BEYOND])
def test_what_no_run_shows_is_shown_by_tests_that_are_there(heading: str) -> None:
    for number, said in rows(heading).items():
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", said)
        assert named or said.endswith(" | none"), number
        for path, test in named:
            assert re.search(rf"def {test}\(", (ROOT / path).read_text(encoding="utf-8")), f"{path}::{test}"
