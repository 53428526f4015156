"""Commands for executions: run, worker, ls, show, tail. Their words and options; the work is in the modules beside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pawl.tools.cli.options import DEFAULT_DB, Db, ExecutionId, Json

Trace = Annotated[bool, typer.Option("--trace", help="Also show each row of the machines that is taken, on stderr.")]

ModuleArgument = Annotated[
    str, typer.Argument(metavar="MODULE[:ATTR]", help="Your code: an Agent, a list of them, or the module's agents.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(short_help="Run an agent to its first rest.")(run)
    app.command(short_help="Go on with open runs, until stopped.")(worker)
    app.command(short_help="List executions.")(ls)
    app.command(short_help="Show one execution: what happened, what waits.")(show)
    app.command(short_help="Print the events of one execution, and follow it.")(tail)


def run(
    app: ModuleArgument,
    text: Annotated[str, typer.Argument(metavar="INPUT", help="What to say to the agent; - reads it from stdin.")],
    db: Db = DEFAULT_DB,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="ID", help="The logical agent; default: the agent's name.", show_default=False),
    ] = None,
    start_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="START_ID", help="The same id again is the same run, however often you ask.",
            show_default=False,
        ),
    ] = None,
    durable_context: Annotated[
        str | None,
        typer.Option(
            "--durable-context", metavar="JSON", help="JSON object for tools and policies.", show_default=False
        ),
    ] = None,
    run_timeout: Annotated[
        float | None,
        typer.Option(
            "--run-timeout", metavar="SECONDS",
            help="The run fails when it takes longer, not counting waits for people.",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text of answers as the model writes it.")] = False,
    trace: Trace = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Run an agent to its first rest, and say what to do next.

    MODULE is imported with the current folder first on the path. The store is made when it is not there. A run that
    was interrupted goes on when it is asked for again under the same --id.

    What else the Runtime is to be given, MODULE says as `runtime_options`: a dict, or a function (async or not) that
    returns one, of deps, on_event, on_listener_error, before_llm, poll_interval, close_timeout. So it is wherever a
    command takes MODULE or --app.

    \b
      runtime_options = {"deps": Books("books.db"), "close_timeout": 30}

    \b
    Exit code: 0 completed; 1 failed, rejected, blocked or cancelled; 3 at rest (a decision is needed, or somebody has
    to say what became of a call); 2 used wrongly.

    \b
    Examples:
      pawl run my_app "Refund order 7"
      pawl run my_app:support "Refund order 7" --db sqlite:///runs.db --agent customer-42 --id req-1
      pawl run my_app - --durable-context '{"tenant": "acme"}' < question.txt
      pawl run my_app "Tell me a story" --stream
    """
    from pawl.tools.cli.running import Wish
    from pawl.tools.cli.running import run as start

    start(Wish(app, text, agent, start_id, durable_context, trace, stream, run_timeout), db, json)


def worker(app: ModuleArgument, db: Db = DEFAULT_DB, trace: Trace = False) -> None:
    """Go on with what is open: runs that were approved, resolved or cancelled elsewhere, or whose process has died.

    Looks once a second, until Ctrl-C or SIGTERM. Any number of workers may share a store on one machine. MODULE may
    have `runtime_options`, such as deps: see `pawl run --help`.

    \b
    Examples:
      pawl worker my_app
      pawl worker my_app:support --db sqlite:///runs.db
    """
    from pawl.tools.cli.running import work

    work(app, db, trace)


def ls(
    db: Db = DEFAULT_DB,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="ID", help="Only of this logical agent.", show_default=False)
    ] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Only what has not ended.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="The last N.")] = 50,
    json: Json = False,
) -> None:
    """List executions, the newest last. STATE is the outcome; or suspended, needs_resolution; running, unclaimed.
    A run that is left alone was written by a version that this one cannot follow; stderr says why. An unreadable one is
    damaged in the store: stderr says how, `pawl fsck` says all that is wrong; the exit code is that of the listing, 0.

    \b
    Examples:
      pawl ls --open
      pawl ls --agent customer-42
      pawl ls | grep suspended
      pawl ls --json | jq -r '.executions[].execution_id'
    """
    from pawl.tools.cli.listing import ls as run

    run(db, agent, open_only, limit, json)


def show(
    given: ExecutionId,
    db: Db = DEFAULT_DB,
    json: Json = False,
    diagram: Annotated[
        Path | None,
        typer.Option(
            "--diagram", metavar="FILE", help="Draw the way of the run through its machine; .svg or .dot.",
            show_default=False,
        ),
    ] = None,
) -> None:  # fmt: skip
    """Show one execution: where it stands, what is on disk, what happened, and the commands that lead on.

    \b
    Examples:
      pawl show x6df04
      pawl show x6df04 --json
      pawl show x6df04 --diagram here.svg
    """
    from pawl.tools.cli.showing import show as run

    run(given, db, json, diagram)


def tail(
    given: ExecutionId,
    after: Annotated[
        int, typer.Option("--after", metavar="N", min=0, help="Only what is behind this cursor, the first column.")
    ] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more until the run has ended, through its rests.")
    ] = False,
    db: Db = DEFAULT_DB,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False,
) -> None:
    """Print the durable events of one execution, from the store, whoever runs it.

    Each line begins with its cursor; what has none is on no record. Several events may have one cursor. With --follow
    it ends when the run has, or with Ctrl-C, and touches nothing either way. Tokens are seen by the process that runs
    the model only: `pawl run --stream`.

    \b
    Examples:
      pawl tail x6df04
      pawl tail x6df04 --follow
      pawl tail x6df04 --after 12 --json | jq -r .kind
    """
    from pawl.tools.cli.tailing import tail as run

    run(given, after, follow, db, json)
