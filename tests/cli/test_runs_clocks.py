"""Deadlines and expiries at the command line: shown where a run waits, and refused when they have passed."""

from __future__ import annotations

import re
import time

import pytest

from cli.shell import CLERK, Shell
from pawl.tools.cli import timing

HOUR = 3600


def clerk(options: str) -> str:
    return CLERK.replace('    name="clerk",\n', f'    name="clerk",\n    {options},\n')


def waits(shell: Shell, options: str) -> tuple[str, str]:
    shell.write("clerk.py", clerk(options))
    return shell.started()


def test_a_request_that_expires_says_until_when(shell: Shell) -> None:
    shell.write("clerk.py", clerk(f"approval_timeout={2 * HOUR}"))
    ran = shell("run", "clerk", "hello")
    assert re.search(r"^  until \d{4}-\d\d-\d\d \S+ \S+, 2 h left$", ran.out, re.MULTILINE)
    assert "suspended (2 h)" in shell("ls").out
    (found,) = shell("ls", "--json").json["executions"]
    assert found["state"] == "suspended"
    assert found["expires_at"] == pytest.approx(time.time() + 2 * HOUR, abs=300)
    assert re.search(r"until .*, 2 h left", shell("show", found["execution_id"]).out)


def test_a_request_that_has_expired_says_so_and_cannot_be_decided(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution, request = waits(shell, f"approval_timeout={2 * HOUR}")
    later = time.time() + 3 * HOUR
    monkeypatch.setattr(time, "time", lambda: later)
    assert "suspended (expired)" in shell("ls").out
    assert "expired at" in shell("show", execution).out
    for words in (("approve", request), ("reject", request)):
        ran = shell(*words)
        assert (ran.code, ran.out) == (1, "")
        assert "it can not be decided any more" in ran.err
    (found,) = shell("ls", "--json").json["executions"]
    assert found["status"] == "suspended"
    ran = shell("run", "clerk", "anything", "--agent", "another")
    ended = shell("show", execution, "--json").json
    assert (ended["on_disk"]["status"], ended["rest"]["error"]["type"]) == ("failed", "DeadlineExceeded")


def test_a_run_with_a_deadline_shows_what_is_left_of_it(shell: Shell) -> None:
    execution, _ = waits(shell, f"run_timeout={5 * HOUR}")
    said = shell("show", execution)
    assert "  deadline  5 h left; the clock stands still while a person is waited for" in said.out
    on_disk = shell("show", execution, "--json").json["on_disk"]
    assert on_disk["deadline"] is None
    assert on_disk["time_left"] == pytest.approx(5 * HOUR, abs=60)


def test_without_a_deadline_none_is_shown(shell: Shell) -> None:
    execution, _ = shell.started()
    said = shell("show", execution).out
    assert "deadline" not in said
    assert "left" not in said


def test_a_run_that_takes_too_long_ends_with_that(shell: Shell) -> None:
    shell.write(
        "sleeper.py", "from pawl import Agent, hang, scripted\nsleeper = Agent(name='s', model=scripted([hang()]))\n"
    )
    ran = shell("run", "sleeper", "hello", "--run-timeout", "0.05")
    assert ran.code == 1
    assert "DeadlineExceeded: the run took longer than it was given" in ran.out


@pytest.mark.parametrize("value", ["0", "-1", "nan"])
def test_a_timeout_that_makes_no_sense_is_refused_in_one_line(shell: Shell, value: str) -> None:
    shell.write("clerk.py", CLERK)
    ran = shell("run", "clerk", "hello", "--run-timeout", value)
    assert ran.code == 2
    assert ran.err == f"pawl: --run-timeout {value}: give a number of seconds above 0\n"
    assert not (shell.folder / "pawl.db").exists()


def test_a_time_that_no_calendar_has_is_no_trouble() -> None:
    assert timing.at(1e18) == "the end of time"
    assert timing.at(float(10**30)) == "the end of time"


def test_a_retry_is_told_of_on_stderr(shell: Shell) -> None:
    shell.write(
        "busy.py",
        "from pawl import Agent, ModelError, Retries, scripted\n"
        "script = [ModelError('busy', retry_safe=True), 'done']\n"
        "busy = Agent(name='b', model=scripted(script), retries=Retries(first=0.01))\n",
    )
    ran = shell.process("run", "busy", "hello")
    assert ran.code == 0
    assert re.search(r"^pawl: execution \S+ of agent b: model call \S+ failed \(ModelError, failure 1", ran.err)
    assert ran.err.count("\n") == 1
