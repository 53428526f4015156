"""Every planted fault still fits the sources: `make mutants` plants them, this only looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.plan import ROOT, Edit, Mutant, Unplanted, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_can_be_planted_and_its_tests_are_there(mutant: Mutant) -> None:
    assert mutant.planted(ROOT)
    named = [word for word in mutant.tests.split() if word.startswith("tests/")]
    assert named
    assert [name for name in named if not (ROOT / name.partition("::")[0]).exists()] == []


def test_there_are_as_many_as_the_readme_says() -> None:
    assert len(MUTANTS) >= 30


def test_text_that_is_not_there_any_more_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n", encoding="utf-8")
    for old, says in (("y = 1", "is not there any more"), ("x = 1", "is there 2 times")):
        mutant = Mutant("m", "why", (Edit("a.py", old, "z"),), "tests")
        with pytest.raises(Unplanted, match=says):
            mutant.planted(tmp_path)
