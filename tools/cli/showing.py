"""`pawl show`: one execution, from what is on disk: where it stands, what happened, what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pawl.runtime.records.errors import SpecMismatch
from pawl.runtime.records.events import shown_call, told_result
from pawl.runtime.records.evolution import goes_on
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.tools import StoredTool
from pawl.tools.cli import finding, rests, timing
from pawl.tools.cli.history import Step, steps
from pawl.tools.cli.output import as_json, err, out
from pawl.tools.cli.record import Holder, Snapshot, snapshot
from pawl.tools.cli.rests import Ways
from pawl.tools.cli.stores import opened, option
from pawl.tools.cli.telling import error_words, result_words
from pawl.tools.cli.words import clock, compact, count, excerpt, moment, plain, printable, span


def show(given: str, db: str, json: bool, diagram: Path | None) -> None:
    """Print the execution that `given` is the beginning of, and draw where it stands."""
    with opened(db) as store:
        found = store.read(snapshot(finding.execution_id(store, given)))
    if diagram is not None:
        from pawl.tools.cli.picturing import draw

        draw(found, diagram)
        err(f"drawn: {diagram}")
    if json:
        as_json(as_data(found))
        return
    for text, style in lines(found, Ways(option(db))):
        out(text, style)


def lines(found: Snapshot, ways: Ways) -> Iterator[tuple[str, str]]:
    """The whole page, as (line, style)."""
    record = found.record
    yield f"execution {record.execution_id}", "bold"
    whose = f"definition {record.definition}, version {record.definition_version}"
    yield _fact("agent", f"{printable(record.agent_id)} ({whose})")
    yield _fact("started", moment(record.created_at) + _start_id(found))
    yield _fact("input", excerpt(found.input))
    if found.context is not None:
        yield _fact("context", excerpt(compact(found.context)))
    usage = record.usage
    lost = f", {record.lost_calls} lost" if record.lost_calls else ""
    calls = f"{count(record.model_calls, 'model call')}, {count(record.iterations, 'answer')}{lost}"
    yield _fact("usage", f"{usage.input} + {usage.output} tokens, {calls}")
    yield "", ""
    yield "on disk", "bold"
    yield from on_disk(found)
    yield "", ""
    yield "timeline", "bold"
    yield from _timeline(found)
    if found.tools:
        yield "", ""
        yield "tools", "bold"
        decided = {decision.tool_call_id: str(decision.verdict) for decision in record.decisions}
        yield from ((f"  {tool_words(stored, decided.get(stored.row.tool_call_id))}", "") for stored in found.tools)
    yield "", ""
    yield from _now(found, ways)


def on_disk(found: Snapshot) -> Iterator[tuple[str, str]]:
    """What would be found if the power failed now."""
    record = found.record
    yield _fact("barrier", f"{found.barrier}, the last one that has committed")
    yield _fact("status", f"{record.status}, phase {record.phase}")
    yield _fact("revision", str(record.revision))
    yield _fact("awaiting", found.awaiting or "nothing")
    yield _fact("owner", _owner(found))
    deadline = timing.deadline_words(record, time.time()) if not found.ended else None
    if deadline is not None:
        yield _fact("deadline", deadline)
    if found.intent is not None:
        yield _fact("stop", f"{found.intent.reason} asked for at {moment(found.intent.at)}")
    yield _fact("machine", f"{record.machine} {record.spec_hash[:12]}{_whose(found)}")


def _whose(found: Snapshot) -> str:
    """What this Pawl makes of an open run of another machine."""
    if found.ended:
        return ""
    try:
        state = goes_on(found.record, found.awaiting)
    except SpecMismatch:
        return "; this Pawl has another, and leaves the run to the version that wrote it"
    return f"; this Pawl has another, and goes on with the run, in '{state}'" if state is not None else ""


def tool_words(stored: StoredTool, verdict: str | None = None) -> str:
    """One tool row: the call, where it stands, and under which key it ran how often.

    A `verdict` on the pending request comes before the row, which is written when the call is let go.
    """
    row = stored.row
    arguments = compact(row.shown) if row.arguments is not None else printable(row.shown_raw)
    ran = f", {span(row.duration)}" if row.duration else ""
    say = error_words(plain(row.error)) if row.error is not None else excerpt(stored.body or row.message)
    status = str(told_result({"status": row.status, "attempt": row.attempt})["status"])
    status = f"{status}, {verdict}" if verdict is not None else status
    return (
        f"{printable(row.tool_call_id)}  {printable(row.tool)} {arguments}  {status}, attempt {row.attempt}{ran}, "
        f"recovery {row.policy}, {row.idempotency_key}{f': {say}' if say else ''}"
    )


def _fact(name: str, text: str) -> tuple[str, str]:
    return f"  {name:<9} {text}", ""


def _start_id(found: Snapshot) -> str:
    record = found.record
    return "" if record.start_id == record.execution_id else f", start id {printable(record.start_id)}"


def _owner(found: Snapshot) -> str:
    fence = f"fence {found.root.fence}"
    if found.lease is None:
        return f"nobody, {fence}" if found.holder is Holder.NOBODY else f"a process without a lease, {fence}"
    lease = found.lease
    where = f"pid {lease.pid} on {printable(lease.host.split('/')[0])}"
    if found.holder is Holder.EXPIRED:
        return f"{where}, whose lease ran out at {moment(lease.expires_at)}, {fence}"
    return f"{where}, {found.holder}, {fence}"


def _timeline(found: Snapshot) -> Iterator[tuple[str, str]]:
    yield f"  {'#':>4}  {'rev':<4} {'time':<12}  {'barrier':<17}  what", "dim"
    for step in _steps(found):
        revision = f"r{step.revision}" if step.revision is not None else "-"
        for entry in step.entries:
            head = f"  {entry.position:>4}  {revision:<4} {clock(entry.at)}  {step.barrier:<17}"
            yield f"{head}  {entry.kind:<19} {_words(entry)}".rstrip(), ""
        if not step.entries:
            yield f"  {'-':>4}  {revision:<4} {'-':<12}  {step.barrier:<17}  (tools let go)", ""


def _steps(found: Snapshot) -> tuple[Step, ...]:
    return steps(found.record, found.journal, [stored.row for stored in found.tools])


def _words(entry: JournalRecord) -> str:
    """What a record says, beside its kind, in one line."""
    say = _SAY.get(entry.kind)
    return say(entry) if say is not None else excerpt(entry.body or "")


def _call(entry: JournalRecord) -> str:
    usage = entry.meta.get("usage")
    tokens = f", {usage['input']} + {usage['output']} tokens" if usage else ""
    error = error_words(entry.meta.get("error"))
    late = ", late" if entry.meta.get("late") else ""
    return f"{entry.meta['status']}{late}{tokens}{f', {error}' if error else ''}"


def _answer(entry: JournalRecord) -> str:
    calls = ", ".join(f"{printable(call['id'])} {printable(call['name'])}" for call in entry.meta.get("calls", ()))
    return "  ".join(part for part in (excerpt(entry.body or ""), f"calls {calls}" if calls else "") if part)


def _decided(entry: JournalRecord) -> str:
    return ", ".join(
        f"{printable(one['tool_call_id'])} {one['verdict']}"
        + (f" with {compact(one['edit'])}" if one.get("edit") is not None else "")
        + (f": {excerpt(one['message'])}" if one.get("message") else "")
        for one in entry.meta["decisions"]
    )


def _asked(entry: JournalRecord) -> str:
    return f"{entry.meta['request_id']}: {', '.join(map(printable, entry.meta['calls']))}"


def _ended(entry: JournalRecord) -> str:
    return error_words(entry.meta.get("error"))


_SAY: dict[JournalKind, Callable[[JournalRecord], str]] = {
    JournalKind.LLM_CALL_RECORDED: _call,
    JournalKind.ASSISTANT_MESSAGE: _answer,
    JournalKind.TOOL_RESULT: lambda entry: result_words(entry.meta, entry.body),
    JournalKind.TOOL_MESSAGE: lambda entry: f"{printable(entry.meta['tool_call_id'])}: {excerpt(entry.body or '')}",
    JournalKind.APPROVAL_REQUIRED: _asked,
    JournalKind.APPROVAL_DECIDED: _decided,
    JournalKind.RECOVERY_RESOLVED: lambda entry: f"{printable(entry.meta['subject'])} {entry.meta['outcome']}",
    **dict.fromkeys((kind for kind in JournalKind if kind.startswith("execution_")), _ended),
}


def _now(found: Snapshot, ways: Ways) -> Iterator[tuple[str, str]]:
    """Where that leaves it, and what to do."""
    if found.refused is not None:
        yield f"left alone  {found.refused}", "red"
    elif found.rest is not None:
        yield from rests.lines(found.rest, ways)
    elif found.state == "running":
        yield f"running  {found.record.execution_id}: in another process", ""
    else:
        yield (
            f"unclaimed  {found.record.execution_id}: nobody runs it; it goes on where an agent's host starts",
            "yellow",
        )
        yield f"    go on  {ways.command('worker', 'MODULE')}", ""


def as_data(found: Snapshot) -> dict[str, Any]:
    """The same as JSON data; times are unix seconds."""
    record = found.record
    return {
        "execution_id": record.execution_id,
        "agent_id": record.agent_id,
        "definition": {"name": record.definition, "version": record.definition_version},
        "start_id": record.start_id,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "input": found.input,
        "context": found.context,
        "state": found.state,
        "usage": plain(record.usage)
        | {
            "answers": record.iterations,
            "lost": record.lost_calls,
            "model_calls": record.model_calls,
            "tool_calls": record.tool_calls,
        },
        "on_disk": {
            "barrier": found.barrier,
            "status": record.status,
            "phase": record.phase,
            "revision": record.revision,
            "awaiting": found.awaiting,
            "deadline": record.deadline,
            "time_left": record.time_left,
            "owner": plain(found.lease) if found.lease is not None else None,
            "holder": found.holder,
            "fence": found.root.fence,
            "stop": plain(found.intent) if found.intent is not None else None,
            "machine": record.machine,
            "spec_hash": record.spec_hash,
            "refused": found.refused,
        },
        "rest": rests.as_data(found.rest) if found.rest is not None else None,
        "request": plain(record.request) if record.request is not None else None,
        "decisions": [plain(decision) for decision in record.decisions],
        "tools": [_row_data(stored) for stored in found.tools],
        "journal": [_entry_data(step, entry) for step in _steps(found) for entry in step.entries],
    }


def _entry_data(step: Step, entry: JournalRecord) -> dict[str, Any]:
    return {
        "position": entry.position,
        "revision": step.revision,
        "barrier": step.barrier,
        "at": entry.at,
        "kind": entry.kind,
        "body": entry.body,
        "meta": _meta(entry),
    }


def _meta(entry: JournalRecord) -> dict[str, Any]:
    if entry.kind is JournalKind.TOOL_RESULT:
        return told_result(entry.meta)
    calls = entry.meta.get("calls")
    if entry.kind is not JournalKind.ASSISTANT_MESSAGE or calls is None:
        return entry.meta
    return {**entry.meta, "calls": [shown_call(call) for call in calls]}


def _row_data(stored: StoredTool) -> dict[str, Any]:
    row = stored.row
    arguments = row.shown if row.arguments is not None else None
    return told_result(plain(row)) | {"arguments": arguments, "raw_arguments": row.shown_raw, "result": stored.body}
