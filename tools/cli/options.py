"""Options that several commands have. Nothing of the runtime is imported here: `pawl --help` is to be fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_DB = "sqlite:///pawl.db"

Db = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="PAWL_DB",
        show_envvar=True,
        help="The store: sqlite:///relative.db, sqlite:////absolute.db, or a path.",
    ),
]

App = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE[:ATTR]",
        envvar="PAWL_APP",
        show_envvar=True,
        help="Where the agents are, and `runtime_options` (see `pawl run --help`): with it, the run goes on here and "
        "now, to its next rest.",
        show_default=False,
    ),
]

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of text.")]

ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="An execution's id, or the beginning of it.")]

Specs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SPECS",
        help="Spec files, or folders of them. Default: `specs` of [tool.pawl].",
        show_default=False,
    ),
]

ModulesOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder for the modules. Default: `out` of [tool.pawl], else beside each spec.",
    ),
]

Expand = Annotated[bool, typer.Option("--expand", help="Draw the inside of barriers, too.")]
