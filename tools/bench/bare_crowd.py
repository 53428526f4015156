"""Many runs at once as a bare asyncio program: one thread that commits whatever waits in one transaction.

The least that a program does that commits before each of its steps: no agents, no machines, no records. Run as a
program, so that its memory is its own: `python -m pawl.tools.bench.bare_crowd FILE RUNS ROUNDS MODEL TOOL`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter, time
from typing import TypeAlias

BODY = 2048
"""Bytes of every text, as in `rounds`, which is not imported here: it brings all of Pawl."""

Entry: TypeAlias = "tuple[str, int, str, asyncio.Future[None]]"
"""A run, a place in its log, a text, and who waits for the commit."""


class GroupLog:
    """A log and a status for each run, as in `bare_log`, written by a thread of its own, in groups."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.entries = self.commits = 0
        self._thread.start()

    async def write(self, run: str, place: int, body: str) -> None:
        """Append, and return when it is on disk."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((run, place, body, done))
        await done

    def close(self) -> None:
        """End the thread."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE log (run TEXT, place INTEGER, at REAL, body TEXT, PRIMARY KEY (run, place)) WITHOUT ROWID"
        )
        connection.execute("CREATE TABLE status (run TEXT PRIMARY KEY, place INTEGER, at REAL) WITHOUT ROWID")
        while (first := self._queue.get()) is not None:
            group = [first]
            while not self._queue.empty() and (more := self._queue.get_nowait()) is not None:
                group.append(more)
            self._commit(connection, group)
        connection.close()

    def _commit(self, connection: sqlite3.Connection, group: Sequence[Entry]) -> None:
        now = time()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO log VALUES (?, ?, ?, ?)", [(run, place, now, body) for run, place, body, _ in group]
        )
        connection.executemany(
            "INSERT INTO status VALUES (?, ?, ?) "
            "ON CONFLICT (run) DO UPDATE SET place = excluded.place, at = excluded.at",
            [(run, place, now) for run, place, _, _ in group],
        )
        connection.execute("COMMIT")
        self.entries += len(group)
        self.commits += 1
        self._loop.call_soon_threadsafe(_told, [done for _, _, _, done in group])


def _told(group: Sequence[asyncio.Future[None]]) -> None:
    for done in group:
        done.set_result(None)


async def one(log: GroupLog, run: str, rounds: int, model: float, tool: float) -> None:
    """One run: what it does is on disk before it is done. As many commits as a run of Pawl has barriers."""
    place = 0

    async def commit() -> None:
        nonlocal place
        await log.write(run, place, f"{run} {place} ".ljust(BODY, "."))
        place += 1

    await commit()  # admission
    for _ in range(rounds):
        await commit()  # the model is about to be asked
        await asyncio.sleep(model)
        await commit()  # its answer, and the tool that is about to run
        await asyncio.sleep(tool)
        await commit()  # the tool's result
    await commit()
    await asyncio.sleep(model)
    await commit()  # the outcome


async def crowd(path: Path, runs: int, rounds: int, model: float, tool: float) -> dict[str, float]:
    """All of them at once: seconds, commits asked for, transactions, peak memory in KiB."""
    log = GroupLog(path)
    await log.write("warm", 0, "")
    begin = perf_counter()
    await asyncio.gather(*(one(log, f"run {number}", rounds, model, tool) for number in range(runs)))
    seconds = perf_counter() - begin
    log.close()
    return {"seconds": seconds, "barriers": log.entries - 1, "transactions": log.commits - 1, "peak": peak()}


def peak() -> int:
    """The most memory that this process has had, in KiB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux's `ru_maxrss` begins with what the process that started this one had
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most


def main() -> None:
    """Run as a program, and print what was measured as JSON."""
    path, runs, rounds, model, tool = sys.argv[1:]
    found = asyncio.run(crowd(Path(path), int(runs), int(rounds), float(model), float(tool)))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
