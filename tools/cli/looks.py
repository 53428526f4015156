"""Commands that look at specs: coverage, diff, docs, watch. Their words and options; the work is beside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import Expand, Json, ModulesOut, Specs


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(short_help="Which rows did tests or runs take, and which never?")(coverage)
    app.command(short_help="What is different between two specs; can old runs go on?")(diff)
    app.command(short_help="One HTML page about machines: drawing, tables, source.")(docs)
    app.command(short_help="Generate, check and draw again whenever a spec is saved.")(watch)


def coverage(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
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
    expand: Expand = False,
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

    Sessions in flight, state by state: continues, mapped to another state, or refused, as the `migrations` of the new
    spec say of the old one. Where they say nothing, everything is refused, and what the verdict vouches for is told
    as YAML to paste. States that they lead elsewhere are compared under their new names, as with --rename.

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


def docs(
    specs: Specs = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page; - is stdout. Default: NAME.html or machines.html."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What the page is called.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: exit 1 with a diff when the page is not fresh.")
    ] = False,
    json: Json = False,
) -> None:
    """Write one HTML page about machines, for people: drawings, tables that link to each other, and the source.

    The page needs no network and no other file. It can be read on a phone, in the dark, on paper and without scripts.

    \b
    Examples:
      pawl docs order.yaml                            order.html
      pawl docs my_specs -o docs/machines.html        all of them, on one page
      pawl docs my_specs -o docs/machines.html --check
    """
    from pawl.tools.cli.documenting import docs as run

    run(specs or [], out, title, check, json)


def watch(
    specs: Specs = None,
    out: ModulesOut = None,
    diagrams: Annotated[
        Path | None,
        typer.Option(
            "--diagrams",
            metavar="FOLDER",
            help="Folder for the drawings. Default: `diagrams` of [tool.pawl], else none.",
        ),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="FILE", help="Write the page of `pawl docs`, too.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Clear the terminal before each round.")] = False,
) -> None:
    """Generate, check and draw machines again whenever a spec is saved, until Ctrl-C.

    A spec that is broken for a moment is told, and what it made before stays.

    \b
    Examples:
      pawl watch
      pawl watch order.yaml --diagrams pictures
      pawl watch my_specs --out my_package/machines --docs machines.html --clear
    """
    from pawl.tools.cli.watching import Wish
    from pawl.tools.cli.watching import watch as run

    run(specs or [], Wish(out, diagrams, docs, clear))
