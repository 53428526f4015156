"""Commands that answer: approve, reject, cancel, resolve. Their words and options; the work is in `answering`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pawl.tools.cli.options import DEFAULT_DB, App, Db, ExecutionId, Json

Request = Annotated[
    str,
    typer.Argument(metavar="ID_OR_REQUEST", help="A request's id, or the execution's (its last request); or a prefix."),
]
Items = Annotated[
    list[str] | None,
    typer.Option("--item", metavar="CALL", help="Only this call; repeatable. Default: all that is undecided.",
                 show_default=False),
]  # fmt: skip


class Performed(StrEnum):
    """What became of an effect."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NOT_PERFORMED = "not-performed"
    NOT_PERFORMED_AS_IN_CODE = "not_performed"


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command(short_help="Approve calls that wait for a decision.")(approve)
    app.command(short_help="Reject calls that wait for a decision.")(reject)
    app.command(short_help="Ask a run to stop.")(cancel)
    app.command(short_help="Say what became of a call that nobody knows of.")(resolve)


def approve(
    given: Request,
    item: Items = None,
    edit: Annotated[
        list[str] | None,
        typer.Option(
            "--edit", metavar="CALL=JSON", help="Approve this call with other arguments; repeatable.",
            show_default=False,
        ),
    ] = None,
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="TEXT", help="Kept with the decision.", show_default=False)
    ] = "",
    db: Db = DEFAULT_DB,
    app: App = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Approve calls that wait for a decision: all of the request, or those named by --item and --edit.

    No code of the agent is needed: the decision is recorded, and a host goes on with the run. With --app it goes on
    here, to its next rest, with that exit code (see `pawl run --help`). A decision is final: the same again is no
    error, another one is. Name the request, not the execution, to decide exactly what you have seen.

    \b
    Examples:
      pawl approve x6df04
      pawl approve request-6fe5 --item c2 -m "asked the customer"
      pawl approve request-6fe5 --edit c2='{"cents": 400}' --app my_app
    """
    from pawl.tools.cli.answering import Where, decide

    decide(given, True, item or [], edit or [], message, Where(db, app, json))


def reject(
    given: Request,
    item: Items = None,
    message: Annotated[
        str,
        typer.Option(
            "--message", "-m", metavar="TEXT", help="Why; the model is told where it goes on.", show_default=False
        ),
    ] = "",
    db: Db = DEFAULT_DB,
    app: App = None,
    json: Json = False,
) -> None:
    """Reject calls that wait for a decision. By default one rejection ends the run (`Agent(on_rejection=…)`).

    \b
    Examples:
      pawl reject x6df04 -m "over the limit"
      pawl reject request-6fe5 --item c2 --app my_app
    """
    from pawl.tools.cli.answering import Where, decide

    decide(given, False, item or [], [], message, Where(db, app, json))


def cancel(given: ExecutionId, db: Db = DEFAULT_DB, app: App = None, json: Json = False) -> None:
    """Ask a run to stop, whichever process runs it. Exit code 0 when it stops, or has been cancelled before.

    That is on record when the command returns; tools that run are asked to end, and waited for. With --app the run
    is also ended here when nobody else runs it.

    \b
    Examples:
      pawl cancel x6df04
      pawl cancel x6df04 --app my_app
    """
    from pawl.tools.cli.answering import Where
    from pawl.tools.cli.answering import cancel as run

    run(given, Where(db, app, json))


def resolve(
    given: ExecutionId,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="The tool call's id, or `model`.")],
    outcome: Annotated[Performed, typer.Argument(help="What became of it.", show_default=False)],
    result: Annotated[
        str | None,
        typer.Option("--result", metavar="TEXT", help="What it returned; with `succeeded`.", show_default=False),
    ] = None,
    error: Annotated[
        str | None, typer.Option("--error", metavar="TEXT", help="What went wrong; with `failed`.", show_default=False)
    ] = None,
    revision: Annotated[
        int | None,
        typer.Option(
            "--revision",
            metavar="N",
            help="Only while the run is at this revision, as you have seen it.",
            show_default=False,
        ),
    ] = None,
    db: Db = DEFAULT_DB,
    app: App = None,
    json: Json = False,
) -> None:
    """Say what became of a call that was started and has no outcome on record, because its process died.

    `pawl show ID` lists what is asked. `not-performed` lets it run now, under the same idempotency key.

    \b
    Examples:
      pawl resolve x6df04 c2 succeeded --result "refunded 500"
      pawl resolve x6df04 c2 failed --error "card expired"
      pawl resolve x6df04 c2 not-performed --app my_app
    """
    from pawl.tools.cli import answering

    outcomes: dict[Performed, answering.Performed] = {
        Performed.SUCCEEDED: "succeeded",
        Performed.FAILED: "failed",
        Performed.NOT_PERFORMED: "not_performed",
        Performed.NOT_PERFORMED_AS_IN_CODE: "not_performed",
    }
    where = answering.Where(db, app, json)
    answering.resolve(given, answering.Words(subject, outcomes[outcome], result, error, revision), where)
