"""`pawl bench`: figures as a table or as JSON, and an exit code that says whether they hold."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext

import pytest

from cli.shell import Shell
from pawl.tools.bench import figures
from pawl.tools.bench.figures import Figure
from pawl.tools.cli import benching

GOOD = Figure("step_ratio", 3.14159, 4.0, "times")
FAST = Figure("step_speed", 12.5, 5.0, "times", "at_least")
BAD = Figure("memory", 500.0, 400, "bytes", note="all of it")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {figure.name: figure for figure in (GOOD, FAST, BAD)}
    monkeypatch.setattr(figures, "BENCHMARKS", dict.fromkeys(known, "never:imported"))
    monkeypatch.setattr(benching, "apart", lambda: nullcontext(known.__getitem__))


@pytest.mark.usefixtures("known")
def test_figures_that_hold_are_listed_with_their_limits(shell: Shell) -> None:
    ran = shell("bench", "step")

    assert ran.code == 0
    assert ran.out == (
        "figure      value  limit  unit   holds\n"
        "step_ratio  3.142  ≤ 4    times  yes\n"
        "step_speed  12.5   ≥ 5    times  yes\n"
    )
    assert ran.err == "measuring step_ratio …\nmeasuring step_speed …\n"


@pytest.mark.usefixtures("known")
def test_a_figure_outside_its_limit_fails(shell: Shell) -> None:
    ran = shell("bench")

    assert ran.code == 1
    assert ran.out.splitlines()[-1].split() == ["memory", "500", "≤", "400", "bytes", "NO"]
    assert ran.err.splitlines()[-1] == "1 figure of 3 outside the limit"


@pytest.mark.usefixtures("known")
def test_the_json_is_alone_on_stdout(shell: Shell) -> None:
    ran = shell("bench", "--json", "memory", "step_ratio")

    assert ran.code == 1
    assert ran.json == {
        "figures": [
            {"name": "step_ratio", "value": 3.14159, "limit": 4.0, "unit": "times", "holds": True, "note": ""},
            {"name": "memory", "value": 500.0, "limit": 400, "unit": "bytes", "holds": False, "note": "all of it"},
        ]
    }


@pytest.mark.usefixtures("known")
def test_a_figure_of_that_name_has_to_be_there(shell: Shell) -> None:
    ran = shell("bench", "speed")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "pawl: there is no figure 'speed'; there are: step_ratio, step_speed, memory\n"


@pytest.mark.usefixtures("known")
def test_a_terminal_gets_a_drawn_table(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    benching.bench(["step"], json=False)

    shown = screen.getvalue()
    assert "│ step_ratio" in shown
    assert "≥ 5" in shown


def test_a_real_figure_is_measured(shell: Shell) -> None:
    ran = shell.process("bench", "idle_session", "--json")

    (figure,) = ran.json["figures"]
    assert figure["name"] == "idle_session_bytes"
    assert ran.code == (0 if figure["holds"] else 1)
