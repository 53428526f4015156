"""The README is run, not believed: its programs, its machine, and the commands it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PYTHON = [body for kind, body in BLOCKS if kind == "python"]
YAML = [body for kind, body in BLOCKS if kind == "yaml"]


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_agent_in_ten_lines_suspends_is_approved_and_completes(tmp_path: Path) -> None:
    (tmp_path / "ten_lines.py").write_text(PYTHON[0], encoding="utf-8")

    said = _run(tmp_path, "ten_lines.py")

    assert "Order 7 is refunded." in said
    assert "'cents': 500" in said


def test_the_agent_with_everything_around_it_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "around.py").write_text(PYTHON[1] + "\nprint(clerk)\n", encoding="utf-8")

    assert "clerk" in _run(tmp_path, "around.py")


def test_the_machine_of_ones_own_compiles_and_runs(tmp_path: Path) -> None:
    (tmp_path / "door.yaml").write_text(YAML[0], encoding="utf-8")
    (tmp_path / "door_context.py").write_text(PYTHON[2], encoding="utf-8")

    _run(tmp_path, "-m", "pawl.tools.cli.main", "check", "door.yaml", "--strict")
    _run(tmp_path, "-m", "pawl.tools.cli.main", "generate", "door.yaml", "--out", ".")

    assert _run(tmp_path, "door_context.py").splitlines()[:2] == ["closed", "open 1"]


def test_every_command_it_names_exists() -> None:
    from typer.main import get_command

    from pawl.tools.cli.main import build

    known = set(get_command(build()).commands)  # type: ignore[attr-defined]

    assert set(re.findall(r"^\$ pawl (\w+)", TEXT, re.MULTILINE)) <= known


def test_the_command_is_also_a_module(tmp_path: Path) -> None:
    assert _run(tmp_path, "-m", "pawl", "--version").startswith("pawl ")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_every_link_leads_somewhere(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_code_map_names_files_that_exist() -> None:
    table = TEXT.split("## Code map")[1].split("## Commands")[0]
    for path in re.findall(r"`((?:runtime|tools|fsm_specs)/[\w/]*(?:\.py)?)`", table):
        assert (ROOT / path).exists(), path
