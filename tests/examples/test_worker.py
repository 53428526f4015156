"""Worker processes: they go on with what others started and decided, and take over from one that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pawl import Completed, Suspended
from pawl.sync import Runtime
from pawl.tools.examples.agents import Books, support

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start one, and wait until it works."""
    begun: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pawl.tools.examples.worker", "refunds.db"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout is not None
        assert "working\n" in iter(process.stdout.readline, "")  # what waits is announced first
        return process

    yield begin
    for process in begun:
        with process:
            process.kill()


def started(folder: Path) -> tuple[str, str]:
    """A run that waits for a decision, started by a process that is gone."""
    books = Books(folder / "payments.db")
    with Runtime(f"sqlite:///{folder / 'refunds.db'}", agents=[support], deps=books) as runtime:
        rest = runtime.run(support, "Refund order 7", agent_id="customer-42")
        assert isinstance(rest, Suspended)
        return rest.execution_id, rest.request.id


def decided_and_awaited(folder: Path, execution_id: str, request_id: str) -> object:
    """Decide it in a process that has none of the code, and wait for its end."""
    with Runtime(f"sqlite:///{folder / 'refunds.db'}") as runtime:
        runtime.record_decision(request_id, approve=True)
        return runtime.execution(execution_id).terminal()


def test_a_worker_finishes_what_was_decided_elsewhere(
    tmp_path: Path, worker: Callable[[], subprocess.Popen[str]]
) -> None:
    run = started(tmp_path)
    process = worker()
    assert isinstance(decided_and_awaited(tmp_path, *run), Completed)
    assert Books(tmp_path / "payments.db").payments() == [("7", 1250)]
    process.send_signal(signal.SIGTERM)
    told, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "done" in told


def test_a_worker_that_is_killed_is_made_up_for_by_the_next(
    tmp_path: Path, worker: Callable[[], subprocess.Popen[str]]
) -> None:
    run = started(tmp_path)
    victim = worker()
    victim.kill()
    victim.wait()
    worker()
    assert isinstance(decided_and_awaited(tmp_path, *run), Completed)
    assert Books(tmp_path / "payments.db").payments() == [("7", 1250)]
