"""What `pawl simulate` does: one seed after the other, and what was found."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from pawl.runtime.simulation.simulating import Simulated, Violation
from pawl.runtime.simulation.simulating import simulate as simulate_one
from pawl.runtime.simulation.spelling import scenario_text
from pawl.tools.cli.beside import beside
from pawl.tools.cli.fresh import check_kind, stores
from pawl.tools.cli.output import as_json as print_json
from pawl.tools.cli.output import leave, out
from pawl.tools.cli.progress import bar
from pawl.tools.cli.words import count

_CHUNK = 25
"""Seeds that a process takes at a time."""


def simulate(seeds: int, start: int, store: str, *, jobs: int, as_json: bool) -> None:
    """Play every seed. Raises Misuse; leaves with 1 when one of them found something."""
    check_kind(store)
    began, digest, found = time.perf_counter(), hashlib.sha256(), list[Violation]()
    with bar("seeds") as moving:
        for done, one in enumerate(_simulated(range(start, start + seeds), store, jobs), 1):
            digest.update(one.digest.encode())
            if one.violation is not None:
                found.append(one.violation)
                if not as_json:
                    _tell(one.violation, store)
            moving(done, seeds)
    pace = round(seeds / (time.perf_counter() - began) * 60)
    if as_json:
        data = [_data(violation, store) for violation in found]
        said = {"ok": not found, "seeds": seeds, "start": start, "store": store, "trace_digest": digest.hexdigest()}
        print_json({**said, "seeds_a_minute": pace, "violations": data})
    else:
        how = "found nothing" if not found else f"{len(found)} of them found something"
        what = f"{count(seeds, 'seed')} from {start} on {store}"
        out(f"{what}: {how} ({pace} a minute, traces {digest.hexdigest()[:16]})")
    if found:
        leave(1)


def _simulated(seeds: range, store: str, jobs: int) -> Iterator[Simulated]:
    """All of them in their order, in processes beside each other where that pays."""
    chunks = [seeds[place : place + _CHUNK] for place in range(0, len(seeds), _CHUNK)]
    for played in beside(partial(_play, store=store), chunks, jobs):
        yield from played


def _play(seeds: range, *, store: str) -> list[Simulated]:
    played: list[Simulated] = []
    for seed in seeds:
        with stores(store) as new:  # its files are gone before the next seed's come
            played.append(simulate_one(seed, store=new))
    return played


def command(violation: Violation, store: str) -> str:
    """What finds it again."""
    where = "" if store == "memory" else f" --store {store}"
    return f"pawl simulate --seeds 1 --start {violation.seed}{where}"


def shown(violation: Violation, store: str) -> str:
    """The scenario file that shows it, with how to play it in its first lines."""
    order = "" if violation.order is None else f" --seed {violation.order}"
    where = "" if store == "memory" else f" --store {store}"
    how = f"pawl scenario run FILE{order}{where}" if violation.reproduces else command(violation, store)
    words = " ".join(violation.what.split())
    beyond = "".join(f"# It needs what no scenario file can say: {one}\n" for one in violation.beyond)
    return f"# {words}\n# Shown by: {how}\n{beyond}{scenario_text(violation.scenario)}"


def _tell(violation: Violation, store: str) -> None:
    out(f"FAIL  seed {violation.seed}: {violation.what}", "red")
    out(f"      {command(violation, store)}")
    out(f"---\n{shown(violation, store)}")


def _data(violation: Violation, store: str) -> dict[str, Any]:
    said = {"seed": violation.seed, "what": violation.what, "order": violation.order}
    found = {"command": command(violation, store), "reproduces": violation.reproduces}
    return {**said, **found, "scenario": shown(violation, store)}
