"""The commands that look at specs are in the help, teach with examples, and load nothing before they are used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cli.shell import SOURCES, Shell

COMMANDS = ("coverage", "diff", "docs", "watch")


def test_help_names_them(shell: Shell) -> None:
    told = shell("--help").out

    assert all(f"\n  {command} " in told for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_teaches_with_examples(shell: Shell, command: str) -> None:
    ran = shell(command, "--help")

    assert ran.code == 0
    assert "Examples:\n" in ran.out
    assert f"    pawl {command}" in ran.out or f"| pawl {command}" in ran.out


def test_the_heavy_libraries_are_loaded_by_whoever_needs_them() -> None:
    program = (
        "import sys\nfrom pawl.tools.cli.main import main\ntry: main(['docs', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'jinja2', 'yaml', 'watchfiles', 'graphviz', 'transitions'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )

    subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(SOURCES)}, check=True, capture_output=True
    )
