"""A forgotten guard is an error of the type checker, by name, in the user's own project and in ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _mypy(folder: Path, *files: str) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), *files]
    environment = {**os.environ, "MYPYPATH": f"{ROOT / '.src'}{os.pathsep}{folder}"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=300)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    command = [sys.executable, "-m", "pawl.tools.cli.main", "new", "order"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_starter_project_is_strictly_typed(project: Path) -> None:
    assert "Success" in _mypy(project, "order.py", "order_context.py")


def test_a_guard_deleted_from_the_context_class_is_named(project: Path) -> None:
    context = (project / "order_context.py").read_text(encoding="utf-8")
    assert "def in_stock(" in context
    (project / "order_context.py").write_text(context.replace("def in_stock(", "def in_stok("), encoding="utf-8")

    said = _mypy(project, "order.py", "order_context.py")

    assert '"OrderContext" is missing following "Context" protocol member' in said
    assert "in_stock" in said
