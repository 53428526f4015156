"""What a rest is to a person: what became of the run, and the commands that lead on, with the real ids in them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from typing import Any, Final, assert_never

import attrs

from pawl.runtime.records.approvals import ApprovalItem
from pawl.runtime.records.rests import (
    Blocked,
    Cancelled,
    Completed,
    Failed,
    NeedsResolution,
    Rejected,
    Rest,
    Suspended,
    Unresolved,
)
from pawl.tools.cli.timing import expiry_words
from pawl.tools.cli.words import compact, count, plain, printable

AT_REST: Final = 3
"""Exit code: the run waits for somebody."""

_NAMES: Final[dict[type[Rest[Any]], str]] = {
    Completed: "completed",
    Rejected: "rejected",
    Failed: "failed",
    Cancelled: "cancelled",
    Blocked: "blocked",
    Suspended: "suspended",
    NeedsResolution: "needs_resolution",
}


@attrs.frozen
class Ways:
    """What the suggested commands have to name: options for the store and for the code, as they are to be written."""

    db: str = ""
    app: str = ""

    def command(self, *words: str) -> str:
        """`pawl` with these words, quoted for a shell."""
        return f"pawl {shlex.join(words)}{self.db}{self.app}"


def name(rest: Rest[Any]) -> str:
    """`completed`, `suspended`, …"""
    return _NAMES[type(rest)]


def exit_code(rest: Rest[Any]) -> int:
    """0 completed, 1 ended otherwise, 3 waits for somebody."""
    match rest:
        case Completed():
            return 0
        case Suspended() | NeedsResolution():
            return AT_REST
        case _:
            return 1


def as_data(rest: Rest[Any]) -> dict[str, Any]:
    """The rest as JSON data, its name under `rest`."""
    return {"rest": name(rest)} | plain(rest)


def lines(rest: Rest[Any], ways: Ways) -> Iterator[tuple[str, str]]:
    """What to print, as (line, style)."""
    match rest:
        case Completed(output=output):
            yield f"completed  {rest.execution_id}", "green"
            yield from ((printable(line), "") for line in output.splitlines())
        case Rejected(reason=reason):
            yield f"rejected  {rest.execution_id}: {printable(reason)}", "red"
        case Failed(error=error) | Blocked(error=error):
            yield f"{name(rest)}  {rest.execution_id}: {error.type}: {printable(error.message)}", "red"
        case Cancelled():
            yield f"cancelled  {rest.execution_id}", "yellow"
        case Suspended():
            yield from _suspended(rest, ways)
        case NeedsResolution():
            yield from _unresolved(rest, ways)
        case _:
            assert_never(rest)


def _suspended(rest: Suspended, ways: Ways) -> Iterator[tuple[str, str]]:
    waiting = [item for item in rest.request.items if item.tool_call_id in rest.undecided]
    of = "" if len(waiting) == len(rest.request.items) else f" of {len(rest.request.items)}"
    verb = "waits" if len(waiting) == 1 else "wait"
    yield f"suspended  {rest.execution_id}: {count(len(waiting), 'call')}{of} {verb} for a decision", "yellow"
    expiry = expiry_words(rest.request, time.time())
    if expiry is not None:
        yield f"  {expiry}", ""
    for item in waiting:
        yield f"  {_item(item)}", "bold"
        one = () if len(rest.request.items) == 1 else ("--item", item.tool_call_id)
        yield f"    approve    {ways.command('approve', rest.request.id, *one)}", ""
        yield f"    reject     {ways.command('reject', rest.request.id, *one)}", ""
    if len(waiting) > 1:
        yield f"  all of them  {ways.command('approve', rest.request.id)}", ""


def _item(item: ApprovalItem) -> str:
    why = f"  ({printable(item.reason)})" if item.reason else ""
    return f"{printable(item.tool_call_id)}  {printable(item.tool)} {compact(item.arguments)}{why}"


def _unresolved(rest: NeedsResolution, ways: Ways) -> Iterator[tuple[str, str]]:
    number = count(len(rest.unresolved), "call")
    yield f"needs_resolution  {rest.execution_id}: nobody knows what became of {number}", "yellow"
    for subject in rest.unresolved:
        yield f"  {_subject(subject)}", "bold"
        words = ("resolve", rest.execution_id, subject.subject)
        result = "WHAT IT RETURNED" if subject.tool is not None else "WHAT IT SAID"
        yield f"    it happened  {ways.command(*words, 'succeeded', '--result', result)}", ""
        yield f"    it failed    {ways.command(*words, 'failed', '--error', 'WHY')}", ""
        yield f"    run it now   {ways.command(*words, 'not-performed')}", ""


def _subject(subject: Unresolved) -> str:
    if subject.tool is None:
        return "model  a model call was let go, and no answer is on record"
    call = f"{printable(subject.subject)}  {printable(subject.tool)} {printable(subject.arguments)}"
    return f"{call}  attempt {subject.attempt}, {subject.idempotency_key}"
