"""The table of the README names what the scenarios say of themselves, and every invariant is in one of its tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
README = FOLDER / "README.md"
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


def test_every_invariant_is_shown_or_said_to_be_beyond_a_single_run() -> None:
    _, _, beyond = README.read_text(encoding="utf-8").partition("## What one run cannot show")
    named = {int(number) for row in re.findall(r"^\| ([\d, ]+) \|", beyond, re.MULTILINE) for number in row.split(",")}
    assert {*range(1, INVARIANTS + 1)} - {*shown()} - named == set()
    assert named & {*shown()} == set()
