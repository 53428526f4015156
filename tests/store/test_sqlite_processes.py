"""Real processes: killed while they commit, and two at once on one file."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pawl.runtime.simulation.samples import done
from pawl.runtime.store.sqlite import SqliteStore

WRITER = """
import sys
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.frozen import replace
from pawl.runtime.simulation.samples import an_agent, an_execution
from pawl.runtime.store.answers import Committed
from pawl.runtime.store.sqlite import SqliteStore

path, agent_id, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = SqliteStore(path, busy_timeout=60)
store.open()

def begin(tx):
    if tx.agents.get(agent_id) is None:
        tx.agents.insert(an_agent(agent_id))
        tx.executions.insert(an_execution(f"e-{agent_id}", agent_id))

def step(tx):
    root, position = tx.agents.get(agent_id), tx.journal.position(agent_id)
    record = tx.executions.get(f"e-{agent_id}")
    assert record.revision == root.answers == position, (record.revision, root.answers, position)
    content = Content.of(f"{agent_id} {position + 1}")
    entry = JournalEntry(JournalKind.TOOL_RESULT, record.execution_id, 1.0, content)
    tx.journal.append(agent_id, position, [entry])
    tx.agents.save(replace(root, answers=root.answers + 1))
    assert tx.executions.save(replace(record, revision=record.revision + 1), record.revision)
    return position + 1

def answered(answer):
    assert isinstance(answer, Committed), answer
    print(answer.value, flush=True)
    if answer.value < last:
        store.submit(step, answered)
        store.submit(lambda tx: tx.agents.list(), lambda _: None)  # company, so that savepoints are used too
    else:
        done.release()

import threading
done = threading.Semaphore(0)
store.submit(begin, lambda answer: store.submit(step, answered))
done.acquire()
store.close()
"""


def writer(path: Path, agent_id: str, last: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITER, str(path), agent_id, str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def check(path: Path, agent_id: str) -> int:
    """How far the agent has come, if everything about it agrees."""
    store = SqliteStore(path)
    store.open()
    root = done(store, lambda tx: tx.agents.get(agent_id))
    record = done(store, lambda tx: tx.executions.get(f"e-{agent_id}"))
    journal = done(store, lambda tx: tx.journal.read(agent_id, limit=1_000_000))
    store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    assert root is not None
    assert record is not None
    assert [entry.body for entry in journal] == [f"{agent_id} {number}" for number in range(1, root.answers + 1)]
    assert record.revision == root.answers
    return root.answers


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_what_a_killed_process_said_was_committed_is_on_disk(tmp_path: Path) -> None:
    path, seed = tmp_path / "a.db", random.Random(7)
    told = 0
    for _ in range(6):
        process = writer(path, "a", 10**9)
        assert process.stdout is not None
        for _ in range(seed.randrange(1, 60)):
            told = int(process.stdout.readline())
        process.kill()  # at some point of a later commit
        rest, _ = process.communicate()
        told = max([told, *(int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n"))])
        assert told <= check(path, "a") <= told + 1


def test_two_processes_on_one_file_both_get_everything_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    processes = {agent_id: writer(path, agent_id, 150) for agent_id in ("a", "b")}
    for agent_id, process in processes.items():
        output, _ = process.communicate()
        assert process.returncode == 0
        assert output.split() == [str(number) for number in range(1, 151)], agent_id
    assert [check(path, agent_id) for agent_id in processes] == [150, 150]
