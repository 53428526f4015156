"""Facts about processes of this machine: who this one is, and whether another is known to be gone.

A process is known by where its pid means something (machine, boot, pid namespace), its pid, and when it started, which
tells a reused pid apart. What cannot be told is never "dead": then a lease simply runs out.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from pawl.runtime.records.agents import Owner

UNKNOWN_START: Final = 0.0
"""The start time of a process where the system does not tell it."""


@attrs.frozen
class Process:
    """Where a process is and which it is. `started` in seconds since boot, UNKNOWN_START where it is not told."""

    host: str
    pid: int
    started: float


def this_process() -> Process:
    """The facts about this process (asked anew each time: a fork is another process)."""
    pid = os.getpid()
    return Process(_here(), pid, _stat(pid)[1])


def lease(owner_id: str, expires_at: float) -> Owner:
    """A lease of this process until `expires_at` (unix seconds)."""
    process = this_process()
    return Owner(owner_id, process.host, process.pid, process.started, expires_at)


def is_dead(owner: Owner) -> bool:
    """Whether the process behind a lease is known to be gone: of this very host, and no such pid, or a younger one."""
    if owner.host != _here() or owner.pid <= 0:
        return False
    state, started = _stat(owner.pid)
    if state is None:
        return _no_such_process(owner.pid)
    return state in _ENDED or owner.started not in (UNKNOWN_START, started)


_ENDED: Final = (b"Z", b"X")
"""A zombie runs no more; only its parent has not asked for it."""


@cache
def _here() -> str:
    """Machine name, boot and pid namespace: where two equal pids are the same process."""
    parts = [socket.gethostname(), _first_line("/proc/sys/kernel/random/boot_id")]
    try:
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        parts.append("")
    return "/".join(parts)


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _stat(pid: int) -> tuple[bytes | None, float]:
    """State and start (seconds since boot) of a process, or (None, UNKNOWN_START) where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None, UNKNOWN_START
    fields = stat.rpartition(b")")[2].split()  # after the name, which may hold anything
    return fields[0], int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _no_such_process(pid: int) -> bool:
    """Ask with signal 0: /proc may hide the processes of others. Not on Windows, where `kill` ends a process."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
