"""Options that several commands have. Nothing of the runtime is imported here: `pawl --help` is to be fast."""

from __future__ import annotations

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
