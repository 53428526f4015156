"""`pawl gc`: what went, or would go, in rows and bytes."""

from __future__ import annotations

import re
import time
from typing import Final

import attrs

from pawl.runtime.upkeep.collect import Collected, collect
from pawl.tools.cli.output import Misuse, as_json, err, out
from pawl.tools.cli.progress import bar
from pawl.tools.cli.stores import opened
from pawl.tools.cli.words import count

_UNITS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_REASONS: Final = {
    "open": "is open",
    "recent": "ended within --keep",
    "seen": "is part of a conversation that later runs see",
    "last": "is the newest of its agent",
    "unreadable": "cannot be read; see `pawl fsck`",
}


def gc(keep: str, db: str, idle: bool, dry_run: bool, json: bool) -> None:
    """Collect, and say what came of it."""
    before = time.time() - seconds(keep)
    with opened(db) as store, bar("agents") as moving:
        done = collect(store, before, idle=idle, dry_run=dry_run, progress=moving)
    if json:
        removed = attrs.asdict(done.cleared)
        as_json({"dry_run": dry_run, "before": before, "removed": removed, "stayed": done.stayed})
        return
    _tell(done, dry_run)


def _tell(done: Collected, dry_run: bool) -> None:
    cleared = done.cleared
    parts = [
        count(cleared.executions, "execution"),
        count(cleared.agents, "agent"),
        count(cleared.journal, "journal record"),
        count(cleared.tools, "tool call"),
        count(cleared.decisions, "decision"),
        f"{cleared.contents} {'body' if cleared.contents == 1 else 'bodies'}",
        count(cleared.owners, "lease"),
    ]
    if any(attrs.astuple(cleared)):
        out(f"{'would remove' if dry_run else 'removed'} {', '.join(parts)}: {size(cleared.bytes)}")
    else:
        out("nothing to remove")
    for reason, agents in sorted(done.stayed.items()):
        err(f"{count(agents, 'agent')}: the oldest execution that is left {_REASONS[reason]}")


def seconds(text: str) -> float:
    """`30d` as seconds. Raises Misuse."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)(s|min|h|d|w)", text.strip())
    if match is None:
        raise Misuse(f"--keep {text}: give a number and a unit, one of {', '.join(_UNITS)}; such as 30d")
    return float(match[1]) * _UNITS[match[2]]


def size(amount: int) -> str:
    """`3.4 MB`."""
    number = float(amount)
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
