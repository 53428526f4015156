"""Waiting for a quiet moment: beside other work every library looks alike, since all of them wait for the disk."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic, sleep

_LOOK = 0.3
_QUIET = 0.3
"""Cores that others may use in a moment that counts as quiet."""


def await_quiet(seconds: float) -> float:
    """Wait until little else is going on, at most so long. How many cores others used when the waiting ended.

    0.0 at once where the system does not tell.
    """
    until = monotonic() + seconds
    used = busy_cores()
    while used > _QUIET and monotonic() < until:
        used = busy_cores()
    return used


def busy_cores() -> float:
    """Cores that are in use during a short look."""
    before, begin = _ticks(), monotonic()
    if before is None:
        return 0.0
    sleep(_LOOK)
    after = _ticks()
    return 0.0 if after is None else (after - before) / os.sysconf("SC_CLK_TCK") / (monotonic() - begin)


def _ticks() -> int | None:
    """Ticks in which a core did something."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    except (OSError, IndexError):
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first[1:9])
    return user + nice + system + irq + softirq + steal
