"""Three processes over one file, killed with SIGKILL at any instant, again and again: then everything adds up.

`make torture` does it for a minute; TORTURE_SECONDS and TORTURE_SEED are seconds, and the kills' seed.
"""

from __future__ import annotations

import asyncio
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import attrs
import pytest

from app.adding_up import SAME_CODE, check_file
from app.torture_worker import CANCELLED_EVERY
from pawl import Runtime
from pawl.runtime.records.executions import ExecutionRecord

SECONDS = float(os.environ.get("TORTURE_SECONDS", "10"))
SEED = int(os.environ.get("TORTURE_SEED", "1"))
PROCESSES, AGENTS = 3, 6
PAUSES = 0.1
"""How often a process is stopped for up to a second instead of killed."""
LONGEST = 1.5
"""Seconds that are waited at most for the steps of a process until it is killed."""

WORKER = Path(__file__).with_name("torture_worker.py")


@attrs.define
class Worker:
    """One process, and how many steps it has told of."""

    folder: Path
    process: subprocess.Popen[bytes] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start it; it may be lost by itself, and is then begun again like one that was killed."""
        command = [sys.executable, str(WORKER), str(self.folder / "runs.db"), str(self.folder), str(AGENTS)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=SAME_CODE)

    def steps(self, count: int, until: float) -> int:
        """Wait until it has made so many steps more, at most `until` then; how many it has made."""
        assert self.process.stdout is not None
        seen = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while seen < count and selector.select(max(0.0, until - time.monotonic())):
                told = len(os.read(self.process.stdout.fileno(), count - seen))
                if not told:
                    break
                seen += told
        return seen

    def pause(self, seconds: float) -> None:
        """Stop it for a while, wherever it is: it may have the store's lock just now."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def finish(self) -> None:
        """Let it end what is left; once more where it was lost in the last instant."""
        self.process.communicate(timeout=120)
        if self.process.returncode == -signal.SIGKILL:
            self.begin()
            self.process.communicate(timeout=120)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def torture(folder: Path, chance: random.Random) -> int:
    """How often a process was killed."""
    (folder / "ledger").mkdir()
    (folder / "paid").mkdir()
    workers = [Worker(folder) for _ in range(PROCESSES)]
    end, kills = time.monotonic() + SECONDS, 0
    try:
        while time.monotonic() < end:
            victim = chance.choice(workers)
            victim.steps(chance.randrange(1, 100), min(end, time.monotonic() + chance.uniform(0.1, LONGEST)))
            if chance.random() < PAUSES:
                victim.pause(chance.random())
            else:
                victim.kill()  # also one that is not open yet
                victim.begin()
                kills += 1
        (folder / "enough").touch()
        for worker in workers:
            worker.finish()
        assert [worker.process.returncode for worker in workers] == [0] * PROCESSES, wrong(folder)
    finally:
        for worker in workers:
            worker.kill()
    return kills


def wrong(folder: Path) -> str:
    """What the workers complained of."""
    path = folder / "wrong"
    return path.read_text() if path.exists() else ""


def records(path: Path) -> list[ExecutionRecord]:
    async def look() -> list[ExecutionRecord]:
        async with Runtime(f"sqlite:///{path}") as runtime:
            return list(await runtime.executions(limit=100_000))

    return asyncio.run(look())


def ended_rightly(record: ExecutionRecord) -> bool:
    """Completed, unless somebody cancelled it, or its model call was the one that was lost again and again."""
    if record.agent_id == "waiter":
        return record.status == "suspended"
    if record.status == "cancelled":
        return int(record.start_id.removeprefix("run-")) % CANCELLED_EVERY == CANCELLED_EVERY - 1
    lost = record.error is not None and "was lost 3 times" in record.error.message
    return record.status == "completed" or (record.status == "failed" and lost)


def check_effects(folder: Path, completed: set[str]) -> None:
    """Each call of a completed run was carried out exactly once, and none of any run twice."""
    lines = [line.split() for line in (folder / "entries").read_text().splitlines()]
    entries = Counter((name, execution, call) for name, execution, call, _, _ in lines)
    attempts = Counter((execution, call, attempt) for _, execution, call, attempt, _ in lines)
    assert set(attempts.values()) == {1}
    keys = {(execution, call): key for _, execution, call, _, key in lines}
    assert all(keys[execution, call] == key for _, execution, call, _, key in lines)
    assert not [entry for entry, times in entries.items() if times > 1 and entry[0] == "mail"]
    mails = Counter(execution for name, execution, _ in entries if name == "mail")
    assert {execution for execution in completed if mails[execution] != 2} == set()
    refunds = {execution: keys[execution, call] for name, execution, call in entries if name == "refund"}
    assert {run for run in completed if run not in refunds or not (folder / "ledger" / refunds[run]).exists()} == set()
    # A payment happens when its file is there: a probe may find one whose process died before it could say anything.
    paid = Counter(path.read_text() for path in (folder / "paid").iterdir() if not path.suffix)
    assert {execution for execution in completed if paid[execution] != 1} == set()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.slow
def test_three_processes_that_are_killed_at_any_instant_lose_nothing_and_do_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kills = torture(tmp_path, random.Random(SEED))
    assert wrong(tmp_path) == ""

    found = records(tmp_path / "runs.db")
    assert [(record.execution_id, record.status, record.error) for record in found if not ended_rightly(record)] == []
    statuses = Counter(record.status for record in found)
    completed = {record.execution_id for record in found if record.status == "completed"}
    check_effects(tmp_path, completed)
    check_file(tmp_path / "runs.db", len(found) - 1)
    assert kills >= SECONDS / 10  # else it was no torture
    assert len(completed) >= AGENTS
    if "TORTURE_SECONDS" in os.environ:
        said = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        with capsys.disabled():
            sys.stdout.write(f"\ntorture: {SECONDS:g} s, seed {SEED}, {kills} kills; {len(found)} runs: {said}\n")
            sys.stdout.flush()
