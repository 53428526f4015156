"""Commands that look at specs: coverage, diff. Their words and options; the work is in the modules beside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(short_help="Which rows did tests or runs take, and which never?")(coverage)
    app.command(short_help="What is different between two specs; can old runs go on?")(diff)


def coverage(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[SPECS] FILES",
            help="Coverage files (*.json), and spec files or folders of them. Default for specs: [tool.pawl].",
            show_default=False,
        ),
    ],
    at_least: Annotated[
        float,
        typer.Option("--at-least", metavar="PERCENT", min=0, max=100, help="Exit 1 when a machine has less."),
    ] = 0,
    written: Annotated[
        bool, typer.Option("--written", help="Count the rows of the spec only, not those of its barriers' protocol.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Tell every row, not only those that were never taken.")] = False,
    json: Json = False,
) -> None:
    """Tell which rows of machines tests or runs took, and which never, by line of the spec.

    Several files are added up. `pawl diagram --coverage FILE` draws the same.

    \b
    Record in tests:
      pytest -p pawl.tools.coverage.plugin --pawl-coverage rows.json
    or in a program:
      with pawl.tools.coverage.recorder.Recorder() as recorder: ...
      recorder.save("rows.json")

    \b
    Examples:
      pawl coverage order.yaml rows.json
      pawl coverage rows.json --at-least 95            all specs of the project, in CI
      pawl coverage my_specs monday.json tuesday.json --json
    """
    from pawl.tools.cli.covering import coverage as run

    run(paths, at_least, written, every, json)


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The spec as it was; - is stdin.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The spec as it is; - is stdin.")],
    diagram: Annotated[
        Path | None,
        typer.Option("--diagram", metavar="FILE", help="Draw both at once, in colours, into an .svg or .dot."),
    ] = None,
    expand: Annotated[bool, typer.Option("--expand", help="Draw the inside of barriers, too.")] = False,
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="OLD=NEW", help="A state that has another name now. Repeatable."),
    ] = None,
    compatible: Annotated[bool, typer.Option("--compatible", help="Exit 1 when old runs could not go on.")] = False,
    json: Json = False,
) -> None:
    """Compare two versions of a machine: states, events, rows and their order, and what a stored run would meet.

    "Compatible" means: every sequence of events that the old machine accepts, whatever its guards answer, is
    accepted by the new one and leads through the same states. Actions, timers and payloads are compared, and no
    part of that verdict. With --json there is a verdict for every state.

    \b
    Examples:
      pawl diff old/order.yaml order.yaml
      git show HEAD:order.yaml | pawl diff - order.yaml --compatible
      pawl diff old/order.yaml order.yaml --diagram changes.svg
      pawl diff old/order.yaml order.yaml --rename packing=boxing
    """
    from pawl.tools.cli.diffing import Wish
    from pawl.tools.cli.diffing import diff as run

    run(old, new, Wish(rename or [], diagram, expand, compatible, json))
