"""What `pawl scenario` does: read files, play what they hold, say what is not as expected."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pawl.runtime.simulation.exploring import Explored
from pawl.runtime.simulation.exploring import explore as explore_one
from pawl.runtime.simulation.playing import Played, play
from pawl.runtime.simulation.scenario import Scenario
from pawl.runtime.simulation.spelling import scenario_text
from pawl.runtime.store.port import Store
from pawl.tools.cli.output import Misuse, finding, leave, out
from pawl.tools.cli.output import as_json as print_json
from pawl.tools.scenario.load import load_scenarios

MakeStore = Callable[[], Store]


def run(files: Sequence[Path], store: str, seed: int | None, *, as_json: bool, trace: bool) -> None:
    """Play everything once. Raises Misuse; leaves with 1 when something does not hold."""
    scenarios, sound = read(files)
    played: list[Played] = []
    with stores(store) as new:
        for scenario in scenarios:
            one = play(scenario, store=new(), seed=seed)
            played.append(one)
            if not as_json:
                _tell(one, trace=trace)
    if as_json:
        print_json({"ok": sound and all(one.ok for one in played), "scenarios": [_data(one, trace) for one in played]})
    if not (sound and all(one.ok for one in played)):
        leave(1)


def explore(files: Sequence[Path], store: str, *, pairs: bool, jobs: int, as_json: bool) -> None:
    """Play everything with every single fault. Raises Misuse; leaves with 1 when something is not made up for."""
    if store not in ("memory", "sqlite"):
        raise Misuse(f"--store {store} is for one time, and exploring needs many; give memory or sqlite")
    scenarios, sound = read(files)
    explored: list[Explored] = []
    for one in _explored_all(scenarios, partial(_explore, store=store, pairs=pairs), jobs or os.cpu_count() or 1):
        explored.append(one)
        if not as_json:
            _tell_explored(one)
    if as_json:
        print_json({"ok": sound and all(one.ok for one in explored), "scenarios": [_explored(one) for one in explored]})
    if not (sound and all(one.ok for one in explored)):
        leave(1)


def _explored_all(
    scenarios: Sequence[Scenario], explore: Callable[[Scenario], Explored], jobs: int
) -> Iterator[Explored]:
    """Explore them, in processes beside each other where there is more than one; in their order."""
    if jobs == 1 or len(scenarios) < 2:
        yield from map(explore, scenarios)
        return
    # A new interpreter each: a fork would take along what this one's threads hold.
    with ProcessPoolExecutor(min(jobs, len(scenarios)), multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(explore, scenarios)


def _explore(scenario: Scenario, *, store: str, pairs: bool) -> Explored:
    with stores(store) as new:
        return explore_one(scenario, store=new, pairs=pairs)


def read(files: Sequence[Path]) -> tuple[list[Scenario], bool]:
    """All scenarios of the files, and whether nothing is wrong with any; what is wrong is printed. Raises Misuse."""
    scenarios: list[Scenario] = []
    sound = True
    for path in paths(files):
        loaded = load_scenarios(path)
        scenarios += loaded.scenarios
        sound = sound and not loaded.findings
        for found in loaded.findings:
            finding(found)
    return scenarios, sound


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


@contextmanager
def stores(word: str) -> Iterator[MakeStore]:
    """Makes the store of each scenario: `memory`, `sqlite`, or the URL of a file that does not exist yet."""
    from pawl.runtime.store.memory import MemoryStore
    from pawl.runtime.store.sqlite import SqliteStore

    if word in ("memory", "memory://"):
        yield lambda: MemoryStore(inline=True)
        return
    made, path = 0, None if word == "sqlite" else _named(word)
    with TemporaryDirectory(prefix="pawl-scenario-", dir=_in_memory(), ignore_cleanup_errors=True) as folder:

        def in_file() -> Store:
            nonlocal made
            made += 1
            if path is None:
                return SqliteStore(Path(folder) / f"{made}.db", "NORMAL", inline=True)
            return SqliteStore(path if made == 1 else path.with_stem(f"{path.stem}-{made}"), inline=True)

        yield in_file


def _in_memory() -> str | None:
    """A folder that needs no disk, where there is one: what is written to it need not survive."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None


def _named(word: str) -> Path:
    if not word.startswith("sqlite:///"):
        raise Misuse(
            f"--store {word} is no store that scenarios are played on; it is memory, sqlite or sqlite:///NEW.db"
        )
    path = Path(word.removeprefix("sqlite:///"))
    if path.exists():
        raise Misuse(f"{path} exists already; scenarios begin with an empty store, name a new file")
    return path


def _tell(played: Played, *, trace: bool) -> None:
    if trace:
        for line in played.trace:
            out(line)
    at = played.at or played.scenario.at
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
    return {**said, "failures": failures}


def _data(played: Played, trace: bool) -> dict[str, Any]:
    at = played.at or played.scenario.at
    place = {"file": at.file, "line": at.line, "column": at.column} if at is not None else None
    said: dict[str, Any] = {"name": played.scenario.name, "ok": played.ok, "failure": played.failure, "at": place}
    return {**said, "trace": list(played.trace)} if trace else said
