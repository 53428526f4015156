"""The `pawl` command: puts its rooms together and turns what goes wrong into one line and an exit code.

Exit codes: 0 all is well; 1 the thing asked about is wrong (a spec, a drifted file, a failed run); 2 the command was
used wrongly, or the place is not usable (no such file, a folder that cannot be written); 3 a run waits for somebody.

A room is a module with `register(app)`. It imports what it needs inside its commands, so that `pawl --help` is fast.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import typer

ROOMS = (
    "pawl.tools.cli.specs",
    "pawl.tools.cli.looks",
    "pawl.tools.cli.demo",
    "pawl.tools.cli.runs",
    "pawl.tools.cli.answers",
    "pawl.tools.cli.upkeep",
    "pawl.tools.cli.scenarios",
    "pawl.tools.cli.simulate",
    "pawl.tools.cli.bench",
)
"""Modules with commands, in the order of `pawl --help`."""

_HEADINGS = {
    "specs": "Machines", "looks": "Machines",
    "demo": "Runs", "runs": "Runs", "answers": "Runs",
    "upkeep": "Store",
}  # fmt: skip
"""Where `pawl --help` lists the commands of a room; the others are under Development."""

_HELP = """
Explicit state machines, compiled from YAML, and AI agents that run on them.

\b
Start here:
  pawl new order            a small machine that runs at once
  pawl check                is every spec right? (all findings, and a second engine's opinion)
  pawl generate             specs to typed Python modules
  pawl diagram              specs to pictures and tables

\b
Run agents:
  pawl demo                 processes are killed, and a refund still happens once
  pawl run my_app "hello"   an agent of my_app.py, to its first rest
  pawl ls --open            what has not ended
  pawl show x6df04          one run: what happened, what it waits for, what to do
  pawl approve x6df04       from any process, without the agent's code
  pawl fsck                 is everything on disk as it must be?

\b
Folders come from pyproject.toml when they are not given:
  [tool.pawl]
  specs = "specs"
  out = "my_package/machines"
  diagrams = "docs/machines"
"""


def build() -> typer.Typer:
    """The whole command line."""
    import typer

    from pawl.tools.cli.grouping import Grouped, under

    app = typer.Typer(
        name="pawl",
        cls=Grouped,
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # help is plain text: [brackets] are brackets, and it can be piped
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )

    @app.callback(invoke_without_command=True)
    def root(
        version: bool = typer.Option(False, "--version", help="Show the version and exit."),
        debug: bool = typer.Option(False, "--debug", envvar="PAWL_DEBUG", help="Show errors with their tracebacks."),
    ) -> None:
        if debug:
            os.environ["PAWL_DEBUG"] = "1"
        if version:
            _tell_version()

    for room in ROOMS:
        commands, groups = len(app.registered_commands), len(app.registered_groups)
        importlib.import_module(room).register(app)
        under(_HEADINGS.get(room.rpartition(".")[2], "Development"), app, commands, groups)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; the entry point of the `pawl` script."""
    from pawl.runtime.records.errors import PawlError
    from pawl.tools.cli.output import Misuse, err, never_fail_to_print

    never_fail_to_print()
    try:
        app = build()
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("pawl"):
            raise
        err(f"pawl: {error.name} is not installed; the command line needs it: pip install 'pawl-fsm[tools]'")
        sys.exit(2)
    try:
        app(args=arguments if arguments is None else list(arguments), prog_name="pawl")
    except (Misuse, PawlError) as error:
        _tell_error(error)
    except BrokenPipeError:
        # The reader of our output has gone (`pawl … | head`): not an error, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _tell_error(error: Exception) -> NoReturn:
    """One line that says what to do, and an exit code: 2 where the question was wrong, 1 where the answer is no."""
    from pawl.runtime.records import errors
    from pawl.tools.cli.output import Misuse, debugging, err
    from pawl.tools.cli.words import printable

    if debugging():
        traceback.print_exception(error)
    said = printable(" ".join(str(error).split()))
    if isinstance(error, errors.CodecError):
        said += "; `pawl fsck` says where"
    err(f"pawl: {said}")
    questions = (
        *(Misuse, errors.InvalidArguments, errors.IdConflict, errors.UnknownSubject, errors.WrongAgent),
        *(errors.AgentNotFound, errors.ExecutionNotFound, errors.StoreError),
    )
    sys.exit(2 if isinstance(error, questions) else 1)


def _tell_version() -> None:
    from importlib import metadata

    from pawl.tools.cli.output import leave, out

    try:
        out(f"pawl {metadata.version('pawl-fsm')}")
    except metadata.PackageNotFoundError:
        out("pawl, from a checkout that is not installed")
    leave(0)


if __name__ == "__main__":
    main()
