"""`pawl bench`: its words and options; the measurements are in `pawl.tools.bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from pawl.tools.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command(short_help="Measure speed and size against their limits.")(bench)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Figures, or how their names begin. Default: all.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed and size, and compare each figure with its limit. Exit code 1 when one does not hold.

    Times are measured against a reference in the same run, so that a slow machine fails nothing. What is being
    measured is told on stderr.

    \b
    Examples:
      pawl bench
      pawl bench advance import_ms
      pawl bench --json | jq '.figures[] | select(.holds | not)'
    """
    from pawl.tools.cli.benching import bench as run

    run(names or [], json)
