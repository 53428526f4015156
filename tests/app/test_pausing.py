"""Real processes, stopped with SIGSTOP, taken over when their lease has run out, and woken: they begin nothing."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from app.adding_up import SAME_CODE, check_file

WORKER = Path(__file__).with_name("paused_worker.py")

LEASES = (2.0, 8.0, 32.0)
"""Seconds. A machine that gives a process no time for as long as that has stopped it as well: then a longer one is
tried."""

TAKEN = """
CREATE TABLE taken (at REAL, until REAL);
CREATE TRIGGER taking AFTER UPDATE ON agents WHEN OLD.owner <> NEW.owner BEGIN
    INSERT INTO taken SELECT (julianday('now') - 2440587.5) * 86400.0,
        (SELECT expires_at FROM owners WHERE owner_id = OLD.owner);
END;
"""
"""Notes every takeover, with the lease that was on record for the former owner at that very moment."""


@attrs.frozen
class Begun:
    """One line of the file of what was begun."""

    name: str
    what: str
    at: float


def begin(folder: Path, name: str, lease: float, seconds: float, held: Sequence[str] = ()) -> subprocess.Popen[str]:
    files = [str(folder / "runs.db"), str(folder / "begun")]
    command = [sys.executable, str(WORKER), *files, name, str(lease), str(seconds), ",".join(held)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=SAME_CODE)


def until(process: subprocess.Popen[str], *lines: str) -> bool:
    """Wait until it has said all of that; False when it was superseded before."""
    assert process.stdout is not None
    missing = set(lines)
    for said in process.stdout:
        missing.discard(said.strip())
        if not missing or said.strip() == "Superseded":
            return not missing
    raise AssertionError(f"it ended before it said {missing}")


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


def taken(path: Path) -> list[tuple[float, float]]:
    """When something was taken over, and until when it was its former owner's."""
    database = sqlite3.connect(path)
    try:
        return database.execute("SELECT at, until FROM taken ORDER BY at").fetchall()
    finally:
        database.close()


def noted(path: Path, script: str) -> None:
    database = sqlite3.connect(path, timeout=30)
    database.executescript(script)
    database.close()


def pause_at(folder: Path, instant: Sequence[str]) -> None:
    """Stop the first process there; the second one takes over, not before it may, and the first one wakes."""
    for lease in LEASES:
        place = folder / f"{lease}"
        place.mkdir(parents=True)
        if paused_at(place, instant, lease):
            return
    raise AssertionError(f"nobody could renew a lease of {LEASES[-1]} seconds in time")


def paused_at(folder: Path, instant: Sequence[str], lease: float) -> bool:
    """Whether it came to that: the first process may be taken over while it waits for a processor."""
    path = folder / "runs.db"
    # Whatever it does takes longer than a lease: it has to renew it. At the instant it stands still until it is woken.
    first = begin(folder, "first", lease, 1.2 * lease, instant)
    second = None
    try:
        assert until(first, "model-1")
        noted(path, TAKEN)
        second = begin(folder, "second", lease, 0.01)
        until(second, "busy")
        there = instant == ["model-1"] or until(first, *instant)
        if there:
            stop(first, path)
        stopped = time.time()
        if taken(path):
            assert [at for at, lasted in taken(path) if at < lasted - 0.01] == []
            return False
        assert there, "superseded, and nobody has taken over"
        assert {one.name for one in begun(folder)} == {"first"}  # who lives is left alone
        assert until(second, "Completed")
        woken = time.time()
        (folder / "go").touch()
        first.send_signal(signal.SIGCONT)
        assert not until(first, "Completed")
        assert [process.wait(60) for process in (first, second)] == [0, 0]
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.communicate()

    seen = begun(folder)
    assert [one for one in seen if one.name == "first" and one.at > woken] == []
    ((at, lasted),) = taken(path)
    assert stopped < at
    assert lasted - 0.01 <= at <= min(one.at for one in seen if one.name == "second")  # SQLite tells milliseconds
    effects = Counter(one.what for one in seen if not one.what.startswith("model"))
    assert effects == {"mail-c1": 1, "post-c2": 1, "mail-c3": 1, "post-c4": 1}, seen
    noted(path, "DROP TRIGGER taking; DROP TABLE taken")
    check_file(path, 1)
    return True


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs kill -STOP")
@pytest.mark.slow
def test_a_process_that_was_stopped_is_taken_over_after_its_lease_and_begins_nothing_when_it_wakes(
    tmp_path: Path,
) -> None:
    instants = [["model-1"], ["mail-c1", "post-c2"], ["model-2"]]
    with ThreadPoolExecutor(len(instants)) as together:
        for done in [together.submit(pause_at, tmp_path / instant[-1], instant) for instant in instants]:
            done.result()
