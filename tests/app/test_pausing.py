"""Real processes, stopped with SIGSTOP, taken over when their lease has run out, and woken: they begin nothing."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from app.adding_up import SAME_CODE, check_file
from app.paused_worker import LEASE

WORKER = Path(__file__).with_name("paused_worker.py")


@attrs.frozen
class Begun:
    """One line of the file of what was begun."""

    name: str
    what: str
    at: float


def begin(folder: Path, name: str, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(folder / "runs.db"), str(folder / "begun"), name, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=SAME_CODE)


def until(process: subprocess.Popen[str], line: str) -> None:
    """Wait until it says that."""
    assert process.stdout is not None
    for said in process.stdout:
        if said.strip() == line:
            return
    raise AssertionError(f"it ended before it said {line!r}")


def begun(folder: Path) -> list[Begun]:
    lines = [line.split() for line in (folder / "begun").read_text().splitlines()]
    return [Begun(name, what, float(at)) for name, what, at in lines]


def stop(process: subprocess.Popen[str], path: Path) -> None:
    """Stop it, but not where it has the file's lock: then nobody can write until it goes on."""
    while True:
        process.send_signal(signal.SIGSTOP)
        database = sqlite3.connect(path, timeout=0.5, isolation_level=None)
        try:
            database.execute("BEGIN IMMEDIATE")
            return database.execute("ROLLBACK").close()
        except sqlite3.OperationalError:
            process.send_signal(signal.SIGCONT)
        finally:
            database.close()


def pause_at(folder: Path, instant: str) -> None:
    """Stop the first process there; the second one takes over, not before it may, and the first one wakes."""
    folder.mkdir()
    first = begin(folder, "first", 1.2 * LEASE)  # whatever it does takes longer than a lease: it has to renew it
    second = None
    try:
        until(first, "model-1")
        second = begin(folder, "second", 0.01)
        until(second, "busy")
        if instant != "model-1":
            until(first, instant)
        stop(first, folder / "runs.db")
        stopped = time.time()
        assert {one.name for one in begun(folder)} == {"first"}  # who lives is left alone
        until(second, "Completed")
        woken = time.time()
        first.send_signal(signal.SIGCONT)
        until(first, "Superseded")
        assert [process.wait(60) for process in (first, second)] == [0, 0]
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.communicate()

    seen = begun(folder)
    assert [one for one in seen if one.name == "first" and one.at > woken] == []
    taken = min(one.at for one in seen if one.name == "second")
    assert taken - stopped > LEASE / 4  # it was renewed up to a quarter of its time before, or was just being so
    effects = Counter(one.what for one in seen if not one.what.startswith("model"))
    assert effects == {"mail-c1": 1, "post-c2": 1, "mail-c3": 1, "post-c4": 1}, seen
    check_file(folder / "runs.db", 1)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs kill -STOP")
@pytest.mark.slow
def test_a_process_that_was_stopped_is_taken_over_after_its_lease_and_begins_nothing_when_it_wakes(
    tmp_path: Path,
) -> None:
    instants = ["model-1", "post-c2", "model-2"]
    with ThreadPoolExecutor(len(instants)) as together:
        for done in [together.submit(pause_at, tmp_path / instant, instant) for instant in instants]:
            done.result()
