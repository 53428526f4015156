"""`pawl demo`: makes a fresh folder, plays the story, checks it, draws the way that the run took."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import attrs

from pawl.tools.cli.output import Misuse, as_json, err, leave, out
from pawl.tools.cli.picturing import agent_machine, save, standing
from pawl.tools.cli.words import count
from pawl.tools.demo.checks import Check, checks
from pawl.tools.demo.host import STORE, TRACE
from pawl.tools.demo.ledger import Ledger
from pawl.tools.demo.process import DemoFailed
from pawl.tools.demo.story import Line, Story, Told

MARKER = "pawl-demo.txt"
_README = "Written by `pawl demo`. The next one in this folder deletes everything here first.\n"
_STYLES = {"KILLED": "bold red", "completed": "green", "approved": "green", "on disk": "dim"}


def demo(folder: Path, json: bool) -> None:
    """Leave with 0 when everything is as it should be, else 1. Raises Misuse when the folder cannot be used."""
    began = time.monotonic()
    _fresh(folder)
    lines: list[Line] = []

    def tell(line: Line) -> None:
        lines.append(line)
        if not json:
            _print(line, lines[-2] if len(lines) > 1 else None)

    if not json:
        out("A refund that must happen once, in three processes, two of which are killed.\n", "bold")
    try:
        told = Story(folder.resolve(), tell).play()
        found = checks(told)
    except DemoFailed as error:
        err(f"pawl: the demo failed: {error}", "red")
        leave(1)
    pictures = _draw(folder, told, found)
    seconds = time.monotonic() - began
    if json:
        as_json(_as_data(told, lines, found, pictures, seconds))
    else:
        _print_end(folder, told, found, pictures, seconds)
    leave(0 if all(check.holds for check in found) else 1)


def _fresh(folder: Path) -> None:
    """An empty folder; one that an earlier demo made is emptied, any other is left alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = list(folder.iterdir())
        if there and not (folder / MARKER).is_file():
            raise Misuse(f"{folder} is not empty and no demo made it; choose another folder with --out")
        for path in there:
            if not path.is_file():
                raise Misuse(f"{path} was not made by a demo; choose another folder with --out")
        for path in there:
            path.unlink()
        (folder / MARKER).write_text(_README, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"cannot use {folder}: {error.strerror or error}; choose another folder with --out") from None


def _draw(folder: Path, told: Told, found: list[Check]) -> list[Path]:
    """The machine of the run with the rows that were taken, from the traces of all processes.

    What cannot be drawn is one more check that failed.
    """
    assert told.end is not None
    model = agent_machine()
    rows = [json.loads(line) for line in (folder / TRACE).read_text(encoding="utf-8").splitlines()]
    of_run = [(row["source"], row["target"]) for row in rows if row["tool"] is None]
    hops = [
        hop for hop in of_run if hop[1] not in (None, hop[0])
    ]  # what stays, and the entry to a first state, is none
    drawn: list[Path] = []
    for path in (folder / "path.dot", folder / "path.svg"):
        try:
            save(path, model, standing(told.end), hops)
            drawn.append(path)
        except Misuse as error:
            found.append(Check("the way was drawn", False, str(error)))
    return drawn


def _print(line: Line, before: Line | None) -> None:
    again = before is not None and (before.who, before.what) == (line.who, line.what)
    who = f"{line.who} (pid {line.pid})" if line.pid is not None else ""
    at = f"{line.at:6.2f} s" if not again else ""
    out(f"{at:<8}  {who:<24} {'' if again else line.what:<13} {line.text}".rstrip(), _STYLES.get(line.what, ""))


def _print_end(folder: Path, told: Told, found: list[Check], pictures: list[Path], seconds: float) -> None:
    ledger = Ledger(told.folder)
    calls = sum(call.tool == "refund" for call in ledger.calls())
    out(f"\nthe provider's ledger: {count(calls, 'call')}, {count(len(ledger.refunds()), 'refund')}", "bold")
    out("\nchecked", "bold")
    for check in found:
        line = f"  {'ok' if check.holds else 'WRONG':<6} {check.claim}"
        out(f"{line}: {check.found}" if not check.holds or len(check.found) < 60 else line,
            "" if check.holds else "bold red")  # fmt: skip
    out("\nlook at it", "bold")
    out(f"  pawl show {told.execution_id} --db {os.fspath(folder / STORE)}")
    for path in pictures[-1:]:
        out(f"  {path}  the machine, with the way that the run took through three processes")
    wrong = sum(not check.holds for check in found)
    end = f"{count(wrong, 'check')} of {len(found)} failed" if wrong else f"all {len(found)} checks hold"
    out(f"\n{end}, {seconds:.1f} s", "bold red" if wrong else "bold green")


def _as_data(told: Told, lines: list[Line], found: list[Check], pictures: list[Path], seconds: float) -> dict[str, Any]:
    return {
        "ok": all(check.holds for check in found),
        "seconds": round(seconds, 3),
        "execution_id": told.execution_id,
        "folder": os.fspath(told.folder),
        "pictures": [os.fspath(path) for path in pictures],
        "timeline": [attrs.asdict(line) for line in lines],
        "checks": [attrs.asdict(check) for check in found],
    }
