"""A real worker, killed with SIGKILL at random instants: nothing is lost, and nothing happens twice.

What several of them do at once is in test_torture.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from app.adding_up import SAME_CODE
from pawl import Runtime
from pawl.runtime.records.executions import ExecutionRecord

AGENTS, RUNS, KILLS = 8, 14, 10
WORKER = Path(__file__).with_name("killed_worker.py")


def begin(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(WORKER), str(folder / "runs.db"), str(folder), str(AGENTS), str(RUNS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=SAME_CODE)


def steps(process: subprocess.Popen[bytes], count: int) -> bool:
    """Wait until the worker has made so many steps more; False when it ended before."""
    assert process.stdout is not None
    return len(process.stdout.read(count)) == count


def end(process: subprocess.Popen[bytes]) -> int:
    process.communicate(timeout=60)
    return process.returncode


def work_with_kills(folder: Path, workers: int, chance: random.Random) -> int:
    """How often a worker was killed before the work was done."""
    (folder / "ledger").mkdir()
    processes = [begin(folder) for _ in range(workers)]
    kills = 0
    try:
        while kills < KILLS:
            victim = chance.randrange(workers)
            if not steps(processes[victim], chance.randrange(20, 200 // workers)):
                break
            processes[victim].kill()
            end(processes[victim])
            kills += 1
            processes[victim] = begin(folder)
        assert [end(process) for process in processes] == [0] * workers
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return kills


def records(path: Path) -> list[ExecutionRecord]:
    async def look() -> list[ExecutionRecord]:
        async with Runtime(f"sqlite:///{path}") as runtime:
            return list(await runtime.executions(limit=1000))

    return asyncio.run(look())


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_a_worker_that_is_killed_again_and_again_does_everything_and_nothing_twice(tmp_path: Path) -> None:
    kills = work_with_kills(tmp_path, 1, random.Random(1))
    assert kills >= 3  # else it was no test

    found = records(tmp_path / "runs.db")
    completed = {record.execution_id for record in found if record.status == "completed"}
    for record in found:
        # A model call that is lost again and again may be what kills its process: that ends the run.
        assert record.status == "completed" or (record.error is not None and "was lost 3 times" in record.error.message)
    assert len(completed) > AGENTS * RUNS / 2
    assert len({(record.agent_id, record.start_id) for record in found}) == AGENTS * RUNS

    lines = [line.split() for line in (tmp_path / "entries").read_text().splitlines()]
    entries = Counter((name, execution, call) for name, execution, call, _, _ in lines)
    assert not [entry for entry, times in entries.items() if times > 1 and entry[0] in ("mail", "post")]
    attempts = Counter((execution, call, attempt) for _, execution, call, attempt, _ in lines)
    assert set(attempts.values()) == {1}
    keys = {(execution, call): key for _, execution, call, _, key in lines}
    assert all(keys[execution, call] == key for _, execution, call, _, key in lines)
    refunds = {keys[execution, call]: execution for name, execution, call, _, _ in lines if name == "refund"}
    assert set(os.listdir(tmp_path / "ledger")) <= set(refunds)  # killed between the entry and the ledger
    refunded = Counter(execution for key, execution in refunds.items() if (tmp_path / "ledger" / key).exists())
    assert set(refunded.values()) == {1}
    assert completed <= set(refunded)

    with sqlite3.connect(tmp_path / "runs.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not database.execute(
            "SELECT agent FROM journal GROUP BY agent HAVING count(*) != max(position) OR min(position) != 1"
        ).fetchall()
        outcomes = database.execute("SELECT execution FROM journal WHERE kind LIKE 'execution_%'").fetchall()
        assert len(outcomes) == len(set(outcomes)) == AGENTS * RUNS
    database.close()
