"""Commands that keep a store in order: fsck, gc, dump, load. Their words and options; the work is beside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import DEFAULT_DB, Db, ExecutionId, Json


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(short_help="Look a store over: is everything in it as it must be?")(fsck)
    app.command(short_help="Remove old executions that nobody needs.")(gc)
    app.command(short_help="Write one execution to a file, for a bug report.")(dump)
    app.command(short_help="Put a dumped execution into a store.")(load)


def fsck(db: Db = DEFAULT_DB, json: Json = False) -> None:
    """Look a store over, row by row: records, journals, bodies and their digests, tool calls, decisions, ownership.

    Says what is wrong and where, one line a finding: rule, place, what; where all is well, how much it looked at.
    Nothing is changed or repaired, also where the file may not be written. It may run while agents do.

    \b
    Exit code: 0 all is well; 1 something is wrong; 2 there is no such store.

    \b
    Examples:
      pawl fsck
      pawl fsck --db sqlite:///backup.db --json | jq -r '.findings[].execution_id'
    """
    from pawl.tools.cli.fscking import fsck as run

    run(db, json)


def gc(
    keep: Annotated[
        str, typer.Option("--keep", metavar="TIME", help="What ended within this time stays: 30d, 12h, 90min, 45s.")
    ],
    db: Db = DEFAULT_DB,
    idle: Annotated[
        bool,
        typer.Option(
            "--idle-agents",
            help="Forget agents whole, with their conversation, that have had no run for that time.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: Json = False,
) -> None:
    """Remove executions that ended before TIME ago, with all that is theirs, and bodies that nothing refers to.

    What is open stays, and so does every message that a later run of the same agent sees. So these go: an agent's
    oldest runs that failed, were cancelled or blocked, or lie behind a reset, up to the first one that has to stay;
    closed agents, whole. The newest run of an agent stays, so that its journal goes on. With --idle-agents, agents that
    are open and have had no run for that time are forgotten, as if they had never been.

    A start id is forgotten with its run: give a longer time than callers try again. Works in small steps beside
    running workers, may be interrupted, and goes on the next time. The file does not get smaller: what is free in it is
    used again.

    \b
    Examples:
      pawl gc --keep 30d --dry-run
      pawl gc --keep 30d --idle-agents --db sqlite:///runs.db
    """
    from pawl.tools.cli.clearing import gc as run

    run(keep, db, idle, dry_run, json)


def dump(
    given: ExecutionId,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="A file that does not exist yet; - is stdout, and the default.",
            show_default=False,
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Put placeholders in the place of texts and arguments.")
    ] = True,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="With the agent's earlier runs since its last reset.")
    ] = False,
    db: Db = DEFAULT_DB,
) -> None:  # fmt: skip
    """Write one execution, with its journal, tool calls, bodies and decisions, as JSON Lines.

    Texts, arguments, and the ids of the agent and the start become placeholders, the same for the same within the file,
    with the length of what was there. With --no-redact only what tools declare secret is left out. Names of tools,
    models and errors, ids of calls, times and counts stay either way. What was said in earlier runs is in it with
    --conversation only: a run that is to go on where it is loaded needs it, and --no-redact.

    \b
    Examples:
      pawl dump x6df04 -o report.jsonl
      pawl dump x6df04 | gzip > report.jsonl.gz
      pawl dump x6df04 --conversation --no-redact -o private.jsonl
    """
    from pawl.tools.cli.dumping import dump as run

    run(given, db, to, redact, conversation)


def load(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `pawl dump` wrote; - reads it from stdin.")],
    db: Db = DEFAULT_DB,
    json: Json = False,
) -> None:
    """Put a dumped execution into a store, whole or not at all. The store is made when it is not there.

    Every body is checked against its digest, and everything together as `pawl fsck` does. An agent or execution that is
    there already is left as it is, and refuses the load. Use a store of its own: where workers look, they go on with
    what is open.

    \b
    Examples:
      pawl load report.jsonl --db report.db
      pawl show x6df04 --db report.db
    """
    from pawl.tools.cli.dumping import load as run

    run(file, db, json)
