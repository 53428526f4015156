"""Commands for specs: new, generate, check, diagram. Their words and options; the work is in the modules beside."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import Expand, Json, ModulesOut, Specs


class Format(StrEnum):
    """What `pawl diagram` can write."""

    SVG = "svg"
    DOT = "dot"
    MERMAID = "mermaid"
    MARKDOWN = "markdown"


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(short_help="Write a small machine that runs at once.")(new)
    app.command(short_help="Compile specs to typed Python modules.")(generate)
    app.command(short_help="Say all that is wrong with specs.")(check)
    app.command(short_help="The JSON Schema of specs, for editors.")(schema)
    app.command(short_help="Draw machines: DOT, SVG, Mermaid, tables.")(diagram)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the machine, in snake_case.")],
    folder: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; made when it does not exist.")
    ] = Path(),
) -> None:
    """Write a small machine that runs at once: a spec, its context class, and the generated module.

    \b
    Examples:
      pawl new order                      ./order.yaml, ./order_context.py, ./order.py
      pawl new order --out my_specs
      python order_context.py             run it
    """
    from pawl.tools.cli.starting import start

    start(name, folder)


def generate(
    specs: Specs = None,
    out: ModulesOut = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: exit 1 with a diff when a module is not fresh.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove generated modules whose spec is gone.")] = False,
    json: Json = False,
) -> None:
    """Compile specs to typed Python modules, one NAME.py for each machine.

    Nothing is written when any spec has an error. Each module is run and compared with its spec before it is
    written, unchanged files are left alone, and files that pawl did not write are never overwritten.

    \b
    Examples:
      pawl generate order.yaml                          order.py beside it
      pawl generate my_specs --out my_package/machines
      pawl generate --check                             in CI: is what is committed fresh?
      pawl generate my_specs --prune                    also remove modules of deleted specs
    """
    from pawl.tools.cli.generating import generate as run

    run(specs or [], out, check, prune, json)


def check(
    specs: Specs = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    expand: Annotated[
        bool, typer.Option("--expand", help="Also list every row as compiled: groups, wildcards, fragments, barriers.")
    ] = False,
    json: Json = False,
) -> None:
    """Say all that is wrong with specs, and compare each table with a second engine, cell by cell.

    Findings go to stderr as `file:line:col: RULE what is wrong; what to do`. The exit code is 1 when there is an
    error.

    \b
    Examples:
      pawl check
      pawl check order.yaml
      pawl check my_specs --strict --json
      pawl check order.yaml --expand            where does each row of the table come from?
    """
    from pawl.tools.cli.checking import check as run

    run(specs or [], strict, json, expand)


def schema(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write it there, e.g. beside the specs; - is stdout, and the default."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: exit 1 when --out, or what pawl ships, is not fresh.")
    ] = False,
) -> None:
    """The JSON Schema of specs: editors complete, explain and check with it as you type.

    A spec names it in its first line:  # yaml-language-server: $schema=pawl.schema.json

    \b
    Examples:
      pawl schema --out my_specs/pawl.schema.json
      pawl schema --check --out my_specs/pawl.schema.json     in CI
      pawl schema | jq '."$defs".state.properties | keys'
    """
    from pawl.tools.cli.schemas import schema as run

    run(out, check)


def diagram(
    specs: Specs = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the files. Default: `diagrams` of [tool.pawl]."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: exit 1 with a diff when a file is not fresh.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove generated files whose spec is gone.")] = False,
    expand: Expand = False,
    format: Annotated[  # noqa: A002 - it is the name of the option
        Format | None,
        typer.Option("--format", help="Only this one: to stdout for one machine, or to files with --out."),
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="NAME", help="Highlight the state that a session is in.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path", metavar="A,B,C", help="Highlight a path: states in the order they were entered. Repeatable."
        ),
    ] = None,
    coverage: Annotated[
        list[Path] | None,
        typer.Option(
            "--coverage", metavar="FILE", help="Colour the rows that were taken, and those never. Repeatable: added up."
        ),
    ] = None,
) -> None:
    """Draw machines: NAME.dot, NAME.svg, and NAME.md (Mermaid and tables) for each.

    \b
    Examples:
      pawl diagram my_specs --out docs/machines
      pawl diagram --check                                    in CI
      pawl diagram order.yaml --format svg > order.svg
      pawl diagram order.yaml --format svg --state packing --path cart,paying,checking,packing > here.svg
      pawl diagram order.yaml --format svg --coverage rows.json > covered.svg
    """
    from pawl.tools.cli.drawing import Wish, draw

    wish = Wish(check, prune, expand, format, state, tuple(path or ()), tuple(coverage or ()))
    draw(specs or [], out, wish)
