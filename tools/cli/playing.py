"""What `pawl scenario` does: read files, play what they hold, say what is not as expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pawl.runtime.simulation.exploring import Explored, Progress, nobody
from pawl.runtime.simulation.exploring import explore as explore_one
from pawl.runtime.simulation.playing import Played, play
from pawl.runtime.simulation.scenario import Place, Scenario
from pawl.runtime.simulation.spelling import scenario_text
from pawl.tools.cli.beside import beside
from pawl.tools.cli.compiling import as_data
from pawl.tools.cli.fresh import check_kind, stores
from pawl.tools.cli.output import Misuse, err, finding, leave, out
from pawl.tools.cli.output import as_json as print_json
from pawl.tools.cli.progress import bar
from pawl.tools.compiler.findings import Finding
from pawl.tools.scenario.load import load_scenarios


def run(files: Sequence[Path], store: str, seed: int | None, *, as_json: bool, trace: bool) -> None:
    """Play everything once. Raises Misuse; leaves with 1 when something does not hold."""
    scenarios, findings = read(files)
    played: list[Played] = []
    with stores(store) as new:
        for scenario in scenarios:
            one = play(scenario, store=new(), seed=seed)
            played.append(one)
            if not as_json:
                _tell(one, trace=trace)
    ok = not findings and all(one.ok for one in played)
    if as_json:
        said = {"ok": ok, "findings": list(map(as_data, findings))}
        print_json({**said, "scenarios": [_data(one, trace) for one in played]})
    if not ok:
        leave(1)


def explore(files: Sequence[Path], store: str, *, pairs: bool, jobs: int, as_json: bool) -> None:
    """Play everything with every single fault. Raises Misuse; leaves with 1 when something is not made up for."""
    check_kind(store)
    scenarios, findings = read(files)
    explored: list[Explored] = []
    alone = len(scenarios) == 1  # then it is explored in this process, which can tell how far it is
    with bar("disturbances" if alone else "scenarios") as moving:
        work = partial(_explore, store=store, pairs=pairs, progress=moving if alone else nobody)
        for one in beside(work, scenarios, jobs):
            explored.append(one)
            if not as_json:
                _tell_explored(one)
            if not alone:
                moving(len(explored), len(scenarios))
    ok = not findings and all(one.ok for one in explored)
    if as_json:
        said = {"ok": ok, "findings": list(map(as_data, findings))}
        print_json({**said, "scenarios": [_explored(one) for one in explored]})
    if not ok:
        leave(1)


def _explore(scenario: Scenario, *, store: str, pairs: bool, progress: Progress) -> Explored:
    with stores(store) as new:
        return explore_one(scenario, store=new, pairs=pairs, progress=progress)


def read(files: Sequence[Path]) -> tuple[list[Scenario], list[Finding]]:
    """All scenarios of the files, and what is wrong with any, which is printed as well. Raises Misuse."""
    scenarios: list[Scenario] = []
    findings: list[Finding] = []
    for path in paths(files):
        loaded = load_scenarios(path)
        scenarios += loaded.scenarios
        findings += loaded.findings
        for found in loaded.findings:
            finding(found)
    return scenarios, findings


def paths(files: Sequence[Path]) -> Iterator[Path]:
    """The files themselves, and those of folders, sorted. Raises Misuse for what is not there."""
    for path in files:
        if path.is_dir():
            found = sorted(one for pattern in ("*.yaml", "*.yml") for one in path.rglob(pattern))
            if not found:
                raise Misuse(f"there is no .yaml file in {path}")
            yield from found
        elif path.exists():
            yield path
        else:
            raise Misuse(f"there is no file {path}")


def _tell(played: Played, *, trace: bool) -> None:
    if trace:
        for line in played.trace:
            out(line)
    at = played.at or played.scenario.at
    for note in played.notes:
        err(f"note: {note}")
    if played.ok:
        out(f"ok    {played.scenario.name}", "green")
    else:
        out(f"FAIL  {played.scenario.name}", "red")
        out(f"      {at}: {played.failure}")


def _tell_explored(explored: Explored) -> None:
    name, number = explored.scenario.name, explored.tried
    if explored.ok:
        return out(f"ok    {name} ({number} disturbances)", "green")
    if explored.refused is not None:
        out(f"FAIL  {name}", "red")
        return out(f"      {explored.at or explored.scenario.at}: {explored.refused}")
    out(f"FAIL  {name} ({len(explored.failures)} of {number} disturbances)", "red")
    for failure in explored.failures:
        out(f"      {failure.fault}: {failure.what}")
    out(f"---\n# {explored.failures[0].fault}\n{scenario_text(explored.failures[0].scenario)}")
    return None


def _explored(explored: Explored) -> dict[str, Any]:
    failures = [
        {"fault": failure.fault, "what": failure.what, "scenario": scenario_text(failure.scenario)}
        for failure in explored.failures
    ]
    said = {"name": explored.scenario.name, "ok": explored.ok, "tried": explored.tried, "refused": explored.refused}
    return {**said, "at": _place(explored.at or explored.scenario.at), "failures": failures}


def _data(played: Played, trace: bool) -> dict[str, Any]:
    place = _place(played.at or played.scenario.at)
    said: dict[str, Any] = {"name": played.scenario.name, "ok": played.ok, "failure": played.failure, "at": place}
    said["notes"] = list(played.notes)
    return {**said, "trace": list(played.trace)} if trace else said


def _place(at: Place | None) -> dict[str, Any] | None:
    return {"file": at.file, "line": at.line, "column": at.column} if at is not None else None
