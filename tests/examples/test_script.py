"""The synchronous script, as somebody runs it at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pawl.tools.examples.agents import Books


def script(folder: Path, said: str, text: str = "Refund order 7") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pawl.tools.examples.script", text]
    without = {name: value for name, value in os.environ.items() if name != "PAWL_MODEL"}
    return subprocess.run(command, cwd=folder, input=said, capture_output=True, text=True, env=without)


def paid(folder: Path) -> list[tuple[str, int]]:
    return Books(folder / "payments.db").payments()


def test_a_yes_pays_once_however_often_it_is_run(tmp_path: Path) -> None:
    done = script(tmp_path, "y\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("refund {")
    assert done.stdout.rstrip().endswith("Done: paid 1250 cents back for order 7.")
    again = script(tmp_path, "")
    assert again.returncode == 0, again.stderr
    assert paid(tmp_path) == [("7", 1250)]


def test_a_no_pays_nothing(tmp_path: Path) -> None:
    done = script(tmp_path, "n\n")
    assert done.returncode == 1, done.stderr
    assert "refund was rejected" in done.stdout
    assert paid(tmp_path) == []


def test_whoever_walks_away_from_the_question_is_asked_again(tmp_path: Path) -> None:
    left = script(tmp_path, "")  # the end of the input, at the question
    assert left.returncode != 0
    assert "run it again" in left.stderr
    assert "Traceback" not in left.stderr
    assert paid(tmp_path) == []
    busy = script(tmp_path, "y\n", "Refund order 8")  # one run at a time
    assert "the agent is busy" in busy.stderr
    assert "Traceback" not in busy.stderr
    done = script(tmp_path, "y\n")
    assert done.returncode == 0, done.stderr
    assert paid(tmp_path) == [("7", 1250)]


def test_other_words_are_another_run(tmp_path: Path) -> None:
    assert script(tmp_path, "", "Hello").stdout.rstrip().endswith("Which order is it about?")
    assert script(tmp_path, "y\n", "Refund order 8").returncode == 0
    assert paid(tmp_path) == [("8", 1250)]
