"""What was measured, as Markdown for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs

from pawl.tools.bench.peers.pins import PEERS
from pawl.tools.bench.peers.running import Amounts, Line
from pawl.tools.bench.rounds import on_disk


@attrs.frozen
class Column:
    """One column of a table: its key in the measurements, its title, and how a number is written."""

    key: str
    title: str
    form: str


@attrs.frozen
class Table:
    """One table: what was done in it, in words with `{…}` for the amounts."""

    key: str
    title: str
    text: str
    columns: tuple[Column, ...]


_QUIET: Final = 0.3
_TIMES: Final = Column("times", "× bare program", "{:.1f}")

TABLES: Final = (
    Table(
        "steps",
        "Steps of a state machine",
        "15 states, 25 rows, 13 guards, an entry action; a day of 30 events. Ratios are to a table of dicts, as a "
        "person would write it for speed. Automat has no guards: there the caller asks them.",
        (
            Column("events_per_s", "events/s", "{:,.0f}"),
            Column("times", "× a table of dicts", "{:.1f}"),
            Column("construct_us", "to make one, µs", "{:.1f}"),
            Column("bytes", "bytes of one", "{:,.0f}"),
        ),
    ),
    Table(
        "alone",
        "Durable agent loops, one after the other",
        "5 rounds of a model's answer and a tool's result and a last answer, 2 KB of text each; SQLite on disk; model "
        "and tools take no time. The bare program commits before each of its 11 steps, at the start and at the end.",
        (
            Column("ms", "ms a run", "{:.1f}"),
            _TIMES,
            Column("cpu_ms", "processor, ms", "{:.1f}"),
            Column("fsyncs", "syncs a run", "{:.0f}"),
            Column("written_kb", "written a run, KB", "{:.0f}"),
            Column("stored_kb", "stored a run, KB", "{:.0f}"),
        ),
    ),
    Table(
        "together",
        "{together:,} durable agent loops at once",
        "The same, in one process; a model takes 20 ms, a tool 5 ms. The bare program is asyncio and a thread that "
        "commits whatever waits as one transaction.",
        (
            Column("seconds", "seconds", "{:.2f}"),
            _TIMES,
            Column("cpu_s", "processor, s", "{:.1f}"),
            Column("peak_mb", "peak memory, MB", "{:.0f}"),
        ),
    ),
    Table(
        "starting",
        "Starting",
        "From the start of the process: until it has imported the library, and until its first durable run has ended.",
        (Column("import_ms", "import, ms", "{:.0f}"), Column("first_ms", "first run, ms", "{:.0f}")),
    ),
)


def markdown(found: dict[str, list[Line]], amounts: Amounts, machine: dict[str, Any]) -> str:
    """All tables that were measured, with the date and the machine."""
    parts = [
        f"Measured {machine['date']} on {machine['cpu']}, {machine['cores']} cores, {machine['disk']}; "
        f"{machine['python']}, SQLite {machine['sqlite']}. Medians of {amounts.rounds} rounds, the contestants in "
        f"turns, each in a process of its own; × is to the bare program of the same round."
        + (f" {machine['busy']}" if machine["busy"] else "")
    ]
    for table in TABLES:
        if table.key in found:
            title = table.title.format(**attrs.asdict(amounts))
            parts += [f"**{title}.** {table.text}", _rows(table, found[table.key])]
    if any(key in found for key in ("alone", "together")):
        parts.append("What is committed, and when:\n\n" + _durability())
    return "\n\n".join(parts) + "\n"


def _rows(table: Table, lines: Sequence[Line]) -> str:
    head = ["", *(column.title for column in table.columns)]
    rows = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * len(table.columns)]
    for line in lines:
        cells = [_cell(line.median(column.key), column.form) for column in table.columns]
        if line.why and not line.values:
            cells = [_plain(line.why), *[""] * (len(cells) - 1)]
        name = f"**{line.name}**" if line.name.startswith("Pawl") else line.name
        note = f" ({_plain(line.why)})" if line.why and line.values else ""
        rows.append("| " + " | ".join([name + note, *cells]) + " |")
    return "\n".join(rows)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")


def _durability() -> str:
    lines = [
        "* Pawl: write-ahead log, synced: each model call and each batch of tools before it begins, with its arguments "
        "and keys; each tool's outcome; the end.",
        "* The bare program: write-ahead log, synced: one row before each step and at the end.",
        *(f"* {peer.name} {peer.packages[0].partition('==')[2]}: {peer.durable}." for peer in PEERS if peer.durable),
    ]
    return "\n".join([*lines, "", "That a step is about to begin is on record with Pawl and the bare program only."])


def machine(busy: Sequence[float]) -> dict[str, Any]:
    """What the figures depend on; `busy` are the cores that others used when the measurements began."""
    used = median(busy) if busy else 0.0
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": f"Python {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.release()}",
        "disk": _disk(),
        "others_used_cores": used,
        "busy": f"Other work was going on: it used {used:.1f} cores." if used > _QUIET else "",
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _disk() -> str:
    """The file system that the runs are on, where `df` says."""
    with on_disk() as folder:
        try:
            said = subprocess.run(["df", "--output=fstype,source", folder], capture_output=True, text=True, timeout=10)
            kind, device = said.stdout.splitlines()[1].split()
        except (OSError, subprocess.SubprocessError, IndexError, ValueError):
            return "a disk"
    return f"{kind} on {device}"


def data(found: dict[str, list[Line]], amounts: Amounts, machine: dict[str, Any]) -> dict[str, Any]:
    """Every value of every round."""
    return {
        "machine": machine,
        "amounts": attrs.asdict(amounts),
        "versions": {peer.name: list(peer.packages) for peer in PEERS},
        "works": {
            work: [
                {
                    "name": line.name,
                    "why": line.why,
                    "median": {column: line.median(column) for column in line.values},
                    "values": line.values,
                }
                for line in lines
            ]
            for work, lines in found.items()
        },
    }
