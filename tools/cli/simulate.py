"""`pawl simulate`: its words and options; programs are generated and played by the simulation."""

from __future__ import annotations

from typing import Annotated

import typer

from pawl.tools.cli.options import Json
from pawl.tools.cli.scenarios import Jobs, ManyStores


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command(short_help="Play random programs in random trouble.")(simulate)


def simulate(
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="How many programs.")] = 1000,
    start: Annotated[int, typer.Option("--start", metavar="S", min=0, help="The first seed.")] = 0,
    store: ManyStores = "memory",
    jobs: Jobs = 0,
    json: Json = False,
) -> None:
    """Generate agents, tools, policies, steps of callers, and faults, from one seed after the other; play each, and
    then heal everything: every run must come to an end, and what must always be true is checked all along.

    A failure is printed with its seed, the command that finds it again, and the smallest scenario file that was found
    to show it. Exit code 1 then.

    \b
    Examples:
      pawl simulate --seeds 1000
      pawl simulate --seeds 1 --start 4711 --store sqlite
    """
    from pawl.tools.cli.simulating import simulate as play

    play(seeds, start, store, jobs=jobs, as_json=json)
