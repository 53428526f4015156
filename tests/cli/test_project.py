"""Arguments win over `[tool.pawl]`, which is found from any folder below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pawl.tools.cli.output import Misuse
from pawl.tools.cli.project import Project, find_specs, project


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_toml", ".toml").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_nearest_table_is_read_with_paths_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, pyproject_toml='[tool.pawl]\nspecs = ["specs", "more"]\nout = "pkg/machines"\ndiagrams = "docs"\n')
    put(tmp_path / "inner", pyproject_toml="[tool.other]\n")
    monkeypatch.chdir(tmp_path / "inner")

    assert project() == Project((Path("../specs"), Path("../more")), Path("../pkg/machines"), Path("../docs"))


def test_without_a_table_there_are_no_defaults(tmp_path: Path) -> None:
    assert project(tmp_path) == Project()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.pawl]\nspec = 'x'\n", r"\[tool.pawl\] has no key 'spec'; the keys are specs, out, diagrams"),
        ("[tool.pawl]\nout = 3\n", "`out` under .* is 3; write a path in quotes"),
        ("[tool.pawl]\nout = ['a']\n", "`out` under"),
        ("[tool.pawl]\nspecs = [1]\n", "`specs` under"),
        ("[tool]\npawl = 1\n", "is not a table"),
        ("tool = 1\n", "cannot be read"),
        ("[tool.pawl\n", "cannot be read"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_and_the_file_named(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, pyproject_toml=text)

    with pytest.raises(Misuse, match=message) as caught:
        project(tmp_path)

    assert "pyproject.toml" in str(caught.value)


def test_folders_are_searched_in_order_and_a_file_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, specs__b_yaml="", specs__a_yaml="", specs__notes_toml="", other__c_yaml="")
    (tmp_path / "specs" / "d.yml").touch()
    monkeypatch.chdir(tmp_path)

    found = find_specs([Path("specs"), Path("other/c.yaml"), Path("specs/a.yaml")], Project())

    assert [str(path) for path in found.files] == ["specs/a.yaml", "specs/b.yaml", "specs/d.yml", "other/c.yaml"]
    assert found.folders == (Path("specs"),)


def test_arguments_win_over_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, specs__a_yaml="", mine__b_yaml="")
    monkeypatch.chdir(tmp_path)
    known = Project(specs=(Path("specs"),))

    assert find_specs([], known).files == (Path("specs/a.yaml"),)
    assert find_specs([Path("mine")], known).files == (Path("mine/b.yaml"),)
