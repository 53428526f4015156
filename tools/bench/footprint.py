"""What Pawl costs before it does anything: an idle session's memory, and the time to import it."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from statistics import median

from pawl.runtime.fsm.session import Session
from pawl.tools.bench.figures import Figure
from pawl.tools.bench.lifecycle import MACHINE, Event, State

_SESSIONS = 10_000
_IMPORT = """
from time import process_time
begin = process_time()
from pawl import Agent, Runtime, tool
print((process_time() - begin) * 1000)
"""


class _Context:
    __slots__ = ("attempts", "owner")

    def __init__(self) -> None:
        self.owner, self.attempts = None, 0

    def arrive(self, _size: int) -> None:
        """Nothing to do: the session is idle."""


def idle_session_bytes() -> Figure:
    """Bytes of a started session, its context object of two fields included, among 10,000 of one machine."""
    _idle()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    sessions = [_idle() for _ in range(_SESSIONS)]
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Figure("idle_session_bytes", (after - before) / len(sessions), 400, "bytes", note="a session's slots")


def import_ms() -> Figure:
    """Processor time of `from pawl import Agent, Runtime, tool` in a fresh process, in milliseconds.

    Processor time and not time on the wall: there is no reference to import beside it, and a machine that is busy
    with other work would fail it. Reading the files from a cold disk is not in it.
    """
    _import_once()  # writes the bytecode, and warms the file cache
    best = min(median(_import_once() for _ in range(5)) for _ in range(3))
    return Figure("import_ms", best, 250, "ms", note="attrs, and sqlite3 and asyncio of the standard library")


def _idle() -> Session[State, Event, _Context]:
    session = Session(MACHINE, _Context())
    session.start()
    return session


def _import_once() -> float:
    child = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
    return float(child.stdout)
