"""The pytest plugin records a run, also when tests fail, and also when it is spread over processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pawl.tools.cli.starting import start
from pawl.tools.coverage.counts import load

SOURCES = Path(__file__).parents[2] / ".src"

TESTS = """\
import pytest
from pawl import Session
from light import MACHINE
from light_context import *

class Context:
    def __getattr__(self, name):
        return lambda payload=None: None

@pytest.mark.parametrize("number", range(4))
def test_it_starts(number):
    Session(MACHINE, Context(), clock=lambda: 0.0).start()
    assert number != 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"]])
def test_a_run_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    start("light", tmp_path)
    (tmp_path / "test_light.py").write_text(TESTS, encoding="utf-8")
    command = ["-p", "pawl.tools.coverage.plugin", "-p", "no:cacheprovider", "--pawl-coverage", "made/rows.json"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *command, *options],
        env={**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert f"pawl: the rows taken are in {tmp_path / 'made' / 'rows.json'}" in done.stdout
    (found,) = load(tmp_path / "made" / "rows.json")
    assert found.machine == "light"
    assert found.started.total() == 4


def test_without_the_option_nothing_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "pawl.tools.coverage.plugin", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert "pawl" not in done.stdout
    assert not list(tmp_path.glob("*.json"))
