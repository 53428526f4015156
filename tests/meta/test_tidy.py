"""Rules about the files of this repository that no other tool checks."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 450, 70
CODE = sorted(path for room in ("runtime", "tools") for path in (ROOT / room).rglob("*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def test_a_file_is_a_room_of_one_idea() -> None:
    lengths = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in CODE}
    assert {name: length for name, length in lengths.items() if length > LINES_OF_A_FILE} == {}


def test_a_function_fits_a_screen() -> None:
    long = {}
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LINES_OF_A_FUNCTION:
                    long[f"{_name(path)}:{node.name}"] = length
    assert long == {}


def test_every_package_file_but_the_root_is_a_docstring_only() -> None:
    packages = ("runtime", "tools", "generated", "fsm_specs")
    for path in sorted(path for room in packages for path in (ROOT / room).rglob("__init__.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert len(body) == 1, _name(path)
        assert isinstance(body[0], ast.Expr), _name(path)
        assert isinstance(body[0].value, ast.Constant), _name(path)


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    texts = [path for path in _committed() if path.suffix in {".py", ".md", ".yaml", ".toml", ".j2"}]
    assert [_name(path) for path in texts if marks.search(path.read_text(encoding="utf-8"))] == []


PLACES = re.compile(r"(?<![\w.])/(?:wor" + r"k|tm" + r"p|home|Users)/")
PLACES_OF_NOBODY = {
    "tests/compiler/test_compile.py": 1,  # what an attacker would write in a spec
    "tools/cli/demo.py": 1,  # an example in the help
}
"""How many lines of a file may name such a place. May only shrink."""


def test_no_committed_file_names_a_place_on_somebodys_machine() -> None:
    found: dict[str, int] = {}
    for path in _committed():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        hits = sum(PLACES.search(line) is not None for line in lines)
        if hits > PLACES_OF_NOBODY.get(_name(path), 0):
            found[_name(path)] = hits
    assert found == {}


def test_every_text_file_ends_with_one_line_end_and_has_no_carriage_returns() -> None:
    kinds = {".py", ".md", ".yaml", ".toml", ".dot"}
    found = []
    for path in _committed():
        data = path.read_bytes() if path.suffix in kinds and "golden" not in path.parts else b""
        if data and (not data.endswith(b"\n") or data.endswith(b"\n\n") or b"\r" in data):
            found.append(_name(path))
    assert found == []


def test_every_room_of_the_runtime_has_its_place_in_the_order() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    ordered = {layer.strip("()").removeprefix("pawl.runtime.") for layer in layers if "pawl.runtime." in layer}
    rooms = {path.parent.name for path in (ROOT / "runtime").glob("*/__init__.py")}
    assert rooms <= ordered


def test_a_test_lives_beside_what_it_tests() -> None:
    rooms = {path.parent.name for top in ("runtime", "tools") for path in (ROOT / top).glob("*/__init__.py")}
    others = {"golden", "meta", "scenarios", "cases", "support", "properties", "processes", "corpora", "frozen"}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders - rooms <= others
