"""The numbered invariants: each names tests that exist, and whoever cites a number cites one that stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "runtime" / "README.md").read_text(encoding="utf-8")
ROWS = {row[0]: row[1:] for row in re.findall(r"^\| (I\d+) \| (.+) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)}
DECISIONS = set(re.findall(r"^\*\*(D\d+) ", TEXT, re.MULTILINE))


def test_they_are_numbered_without_a_gap() -> None:
    assert list(ROWS) == [f"I{number}" for number in range(1, len(ROWS) + 1)]
    assert len(ROWS) >= 20


@pytest.mark.parametrize("number", ROWS)
def test_each_names_tests_that_exist(number: str) -> None:
    places = re.findall(r"`([^`]+)`", ROWS[number][2])

    assert places
    for place in places:
        assert list((ROOT / "tests").glob(place if "*" in place else f"{place}.py")), place


def test_only_numbers_that_stand_there_are_cited() -> None:
    cited = re.compile(r'# ((?:[ID]\d+(?:, )?)+)$|"(I\d+)[":]', re.MULTILINE)
    found = {
        number
        for path in (ROOT / "runtime").rglob("*.py")
        for match in cited.finditer(path.read_text(encoding="utf-8"))
        for number in (match[1] or match[2]).split(", ")
    }

    assert found
    assert found <= set(ROWS) | DECISIONS
