"""`pawl demo`: its words and options; the story is in `pawl.tools.demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import Json


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command(short_help="Kill processes, lose nothing: a refund that happens once.")(demo)


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder for its files; emptied if a demo made it.")
    ] = Path("demo-out"),
    json: Json = False,
) -> None:
    """Run an agent through two kills, and check that nothing was lost and nothing happened twice.

    A support agent looks up an order, suspends for an approval and is killed; another process approves; a second host
    goes on and is killed right after the refund ran; a third one takes over and finishes. The refund is called twice
    under one idempotency key and paid once. Real processes, a scripted model, no network; a few seconds.

    \b
    Exit code 0 when every check holds, 1 when not.

    \b
    Examples:
      pawl demo
      pawl demo --out /tmp/demo --json | jq .checks
    """
    from pawl.tools.demo.perform import demo as perform

    perform(out, json)
