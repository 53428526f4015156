"""Rounds of measurements: every contestant in turn, each in a process of its own, beside the bare program's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import attrs

import pawl
from pawl.tools.bench.peers.installing import Place
from pawl.tools.bench.peers.machines import CONTESTANTS
from pawl.tools.bench.peers.ours import ALL_ALONE, ALL_TOGETHER, BARE
from pawl.tools.bench.peers.pins import PEERS
from pawl.tools.bench.peers.quiet import await_quiet
from pawl.tools.bench.rounds import on_disk

Found = dict[str, float]


@attrs.frozen
class Amounts:
    """How much is measured: rounds, seconds of steps, runs one by one, runs at once, and how long is waited for one."""

    rounds: int
    seconds: float
    alone: int
    together: int
    patience: float


FULL: Final = Amounts(rounds=5, seconds=0.4, alone=60, together=1000, patience=240.0)
QUICK: Final = Amounts(rounds=2, seconds=0.1, alone=10, together=100, patience=60.0)


@attrs.define
class Line:
    """What was found of one contestant: a value for each round and column; or why there is nothing."""

    name: str
    why: str = ""
    values: dict[str, list[float]] = attrs.Factory(dict)

    def add(self, found: Found) -> None:
        """One round's."""
        for column, value in found.items():
            self.values.setdefault(column, []).append(value)

    def median(self, column: str) -> float | None:
        """Of all rounds."""
        values = self.values.get(column)
        return median(values) if values else None


class Runner:
    """Measures in the environment of `place`; `tell` hears of every measurement that begins."""

    def __init__(self, place: Place, amounts: Amounts, tell: Callable[[str], None], quiet: float = 0.0) -> None:
        self._place, self.amounts, self._tell, self._quiet = place, amounts, tell, quiet
        self.busy: list[float] = []
        """Cores that others used when each measurement began."""

    def steps(self) -> list[Line]:
        """Steps of a state machine; `times` is how many times as slow as a table of dicts."""
        contestants = {name: peer for name, (peer, _) in CONTESTANTS.items()}
        bare = next(iter(contestants))
        lines = self._rounds(contestants, "steps", str(self.amounts.seconds))
        return _with_times(lines, bare, "events_per_s", fewer_is_worse=True)

    def alone(self) -> list[Line]:
        """One durable run after the other, with the syncs of each where strace can count them."""
        lines = self._rounds(_peers_of(ALL_ALONE), "alone", str(self.amounts.alone))
        for line in lines:
            if not line.why and (syncs := self._syncs(line.name)) is not None:
                line.values["fsyncs"] = [syncs]
        return _with_times(lines, BARE, "ms")

    def together(self) -> list[Line]:
        """Many durable runs at once."""
        lines = self._rounds(_peers_of(ALL_TOGETHER), "together", str(self.amounts.together))
        return _with_times(lines, BARE, "seconds")

    def starting(self) -> list[Line]:
        """Milliseconds to import, and from the start of a process to the end of its first durable run."""
        imports = {"Python itself": "pass", "Pawl": "from pawl import Agent, Runtime, tool"}
        imports |= {peer.name: peer.imports for peer in PEERS}
        lines = [Line(name, self._place.lacking.get(name, "")) for name in imports]
        for turn in range(self.amounts.rounds):
            for line in (line for line in lines if not line.why):
                self._tell(f"starting: {line.name}, round {turn + 1} of {self.amounts.rounds}")
                command = [str(self._place.python), "-c", imports[line.name]]
                line.add(self._timed(command, "import_ms", line))
                if line.name in ALL_ALONE and not line.why:
                    with on_disk() as folder:
                        line.add(self._timed(self._child("first", line.name, str(folder)), "first_ms", line))
        return lines

    def _rounds(self, contestants: dict[str, str], work: str, amount: str) -> list[Line]:
        lines = [Line(name, self._place.lacking.get(peer, "")) for name, peer in contestants.items()]
        for turn in range(self.amounts.rounds):
            for line in (line for line in lines if not line.why):
                self._tell(f"{work}: {line.name}, round {turn + 1} of {self.amounts.rounds}")
                found = self._measured(self._child(work, line.name, amount))
                if isinstance(found, str):
                    line.why = found
                else:
                    line.add(found)
        return lines

    def _child(self, *arguments: str) -> list[str]:
        return [str(self._place.python), "-m", "pawl.tools.bench.peers.child", *arguments]

    def _measured(self, command: Sequence[str]) -> Found | str:
        """What the child found, or in a few words why it found nothing."""
        self.busy.append(await_quiet(self._quiet))
        try:
            done = self._run(command)
        except subprocess.TimeoutExpired:
            return f"did not end within {self.amounts.patience:g} s"
        try:
            found: Found = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            return _last_word(done)
        return found

    def _timed(self, command: Sequence[str], column: str, line: Line) -> Found:
        self.busy.append(await_quiet(self._quiet))
        begin = perf_counter()
        try:
            done = self._run(command)
        except subprocess.TimeoutExpired:
            line.why = f"did not end within {self.amounts.patience:g} s"
            return {}
        if done.returncode:
            line.why = _last_word(done)
            return {}
        return {column: (perf_counter() - begin) * 1e3}

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(Path(pawl.__file__).parents[1]), "PYTHONHASHSEED": "0"}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=self.amounts.patience, env=environment, cwd="/"
        )

    def _syncs(self, name: str) -> float | None:
        """fsync and fdatasync a run, as the difference of two amounts; None where they cannot be counted."""
        if shutil.which("strace") is None:
            return None
        self._tell(f"counting the syncs of {name}")
        few, many = self._syncs_of(name, 4), self._syncs_of(name, 14)
        return None if few is None or many is None else (many - few) / 10

    def _syncs_of(self, name: str, executions: int) -> int | None:
        with _report() as report:
            trace = ["strace", "-f", "-c", "-o", str(report), "-e", "trace=fsync,fdatasync"]
            try:
                self._run([*trace, *self._child("alone", name, str(executions))])
            except subprocess.TimeoutExpired:
                return None
            counted = re.findall(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)\s.*\b(?:fsync|fdatasync)$", _read(report), re.MULTILINE)
        return sum(map(int, counted)) if counted else None


@contextmanager
def _report() -> Iterator[Path]:
    with on_disk() as folder:
        yield folder / "syncs.txt"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _last_word(done: subprocess.CompletedProcess[str]) -> str:
    said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return (said[-1] if said else f"exit code {done.returncode}")[:200]


def _peers_of(contestants: dict[str, tuple[str, object]]) -> dict[str, str]:
    return {name: peer for name, (peer, _) in contestants.items()}


def _with_times(lines: list[Line], bare: str, column: str, *, fewer_is_worse: bool = False) -> list[Line]:
    """Add `times`: the median over rounds of how many times as slow as the bare program in the same round."""
    reference = next(line for line in lines if line.name == bare).values.get(column, [])
    for line in lines:
        pairs = zip(line.values.get(column, ()), reference, strict=False)
        times = [base / value if fewer_is_worse else value / base for value, base in pairs]
        if times:
            line.values["times"] = times
    return lines
