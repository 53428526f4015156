"""What users get: the source archive builds the wheel, and the wheel works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def _run(*command: str | Path, cwd: Path, **environment: str) -> str:
    clean = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=clean | environment, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _build(kind: str, source: Path, out: Path) -> Path:
    isolation = ["--no-isolation"] if find_spec("hatchling") is not None else []
    command = [sys.executable, "-m", "build", f"--{kind}", *isolation, "--outdir", str(out), str(source)]
    done = subprocess.run(command, cwd=out.parent, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    if done.returncode and any(
        sign in said for sign in ("No matching distribution", "Could not find a version", "NewConnection")
    ):
        pytest.skip("the build backend is not installed and no package index can be reached")
    assert done.returncode == 0, said
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build("sdist", ROOT, tmp_path_factory.mktemp("sdist") / "dist")


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return _build("wheel", source, folder / "dist")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of a fresh environment that has the wheel; dependencies come from the environment of the tests."""
    folder = tmp_path_factory.mktemp("user")
    _run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)
    return python


def _with_dependencies(python: Path, *command: str, cwd: Path) -> str:
    return _run(python, *command, cwd=cwd, PYTHONPATH=sysconfig.get_path("purelib"))


def test_the_wheel_has_every_file_of_the_four_folders_under_one_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    assert {name.partition("/")[0] for name in packed} == {"pawl"}
    assert {name for name in packed if "__pycache__" in name or name.endswith(".pyc")} == set()
    folders = ("runtime", "generated", "tools", "fsm_specs", ".src/pawl/*.py", ".src/pawl/py.typed")
    tracked = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    names = [name for name in tracked.stdout.split() if (ROOT / name).is_file()]
    wanted = {name.removeprefix(".src/") if name.startswith(".src/") else f"pawl/{name}" for name in names}
    assert wanted - packed == set()


def test_the_installed_library_imports_from_the_wheel_and_finds_its_specs(installed: Path, tmp_path: Path) -> None:
    code = """
import importlib.resources, pawl
from pawl import *
from pawl import sync
specs = (importlib.resources.files("pawl") / "fsm_specs").iterdir()
print(pawl.__file__)
print(sum(spec.name.endswith(".yaml") for spec in specs))
"""
    where, specs = _with_dependencies(installed, "-c", code, cwd=tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parents[1])
    assert int(specs) == len(list((ROOT / "fsm_specs").glob("*.yaml")))


def test_the_installed_command_makes_and_compiles_a_machine(installed: Path, tmp_path: Path) -> None:
    pawl = str(installed.with_name("pawl"))
    _with_dependencies(installed, pawl, "new", "order", cwd=tmp_path)
    assert _with_dependencies(installed, pawl, "check", "order.yaml", cwd=tmp_path)
    assert (tmp_path / "order.yaml").exists()
