"""The guide is run, too: its whole programs, its links, and the commands it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pawl.runtime.simulation.running import run_scenario

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / ".docs" / "guide").glob("*.md"))
PROGRAMS = [
    pytest.param(body, id=f"{page.stem}-{place}")
    for page in PAGES
    for place, body in enumerate(
        re.findall(r"^```python\n(import .*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_whole_program_runs(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


SCENARIOS = [
    pytest.param(body, id=f"{page.stem}-{place}")
    for page in PAGES
    for place, body in enumerate(re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    if "\nscenario: 1\n" in body
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_holds(scenario: str) -> None:
    run_scenario(scenario)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_it_names_exists(page: Path) -> None:
    from typer.main import get_command

    from pawl.tools.cli.main import build

    known = set(get_command(build()).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"^(?:\$ )?pawl (\w+)", page.read_text("utf-8"), re.MULTILINE)) <= known


def test_the_guide_has_a_page_for_everything_the_readme_points_at() -> None:
    assert {page.stem for page in PAGES} <= set(re.findall(r"guide/(\w+)", (ROOT / ".docs" / "index.md").read_text()))
