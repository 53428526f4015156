"""`pawl scenario`: its words and options; scenarios are read in `pawl.tools.scenario` and played by the simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import Json

_HELP = "Whole runs as data: play scenario files, and disturb them in every way."

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Scenario files, or folders of them.", show_default=False),
]
ManyStores = Annotated[
    str, typer.Option("--store", metavar="memory|sqlite", help="Where runs are kept: in memory, or in SQLite files.")
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="memory|sqlite|URL",
        help="Where runs are kept: in memory, in a SQLite file that is removed, or in a new file (sqlite:///path.db).",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", min=0, help="How many are played at a time; 0 for one a core.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="Let things happen in an order drawn from N.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the group to `app`."""
    group = typer.Typer(name="scenario", no_args_is_help=True, rich_markup_mode=None)
    group.command(short_help="Play scenario files; is everything as they expect?")(run)
    group.command(short_help="Play them again with every single fault in turn.")(explore)
    app.add_typer(group, name="scenario", help=_HELP, short_help=_HELP)


def run(
    files: Files,
    store: Store = "memory",
    seed: Seed = None,
    json: Json = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print every step, fault, transition, barrier answer and dropped event.")
    ] = False,
) -> None:
    """Play every scenario of the files: one line each, `ok` or the first difference. Exit code 1 unless all hold.

    A scenario has a clock of its own, no network, and does the same every time. What must always be true of a run is
    checked as well, whatever the file expects.

    \b
    Examples:
      pawl scenario run tests/scenarios
      pawl scenario run refund.yaml --trace
      pawl scenario run refund.yaml --store sqlite --json
    """
    from pawl.tools.cli.playing import run as play

    play(files, store, seed, as_json=json, trace=trace)


def explore(
    files: Files,
    store: ManyStores = "memory",
    pairs: Annotated[bool, typer.Option("--pairs", help="Every pair of faults, too.")] = False,
    jobs: Jobs = 0,
    json: Json = False,
) -> None:
    """Play every scenario again and again, each time with one more thing going wrong: a crash before or after each
    commit, a lost reply, an unavailable store, a crash before, during or after each tool and model call.

    Each time the run must come to what it comes to undisturbed, or ask about what nobody can know. What does not is
    printed as a scenario file. Exit code 1 then.

    \b
    Examples:
      pawl scenario explore tests/scenarios
      pawl scenario explore refund.yaml --pairs --store sqlite
    """
    from pawl.tools.cli.playing import explore as play

    play(files, store, pairs=pairs, jobs=jobs, as_json=json)
