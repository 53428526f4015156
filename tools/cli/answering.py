"""`pawl approve`, `reject`, `cancel` and `resolve`: answers, recorded here, and gone on with where there is code."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeVar

import attrs

from pawl.runtime.app.runtime import Runtime
from pawl.runtime.records.approvals import Decision, Receipt, Verdict
from pawl.runtime.records.errors import NotSuspended
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.rests import Rest
from pawl.runtime.store.open import store_at
from pawl.tools.cli import apps, finding, rests
from pawl.tools.cli.output import Misuse, as_json, err, out
from pawl.tools.cli.record import Snapshot, snapshot
from pawl.tools.cli.rests import Ways
from pawl.tools.cli.running import end, go_on, interrupted, json_object
from pawl.tools.cli.stores import opened, option
from pawl.tools.cli.telling import Teller
from pawl.tools.cli.words import compact, moment, plain, printable

T = TypeVar("T")

Performed = Literal["succeeded", "failed", "not_performed"]


@attrs.frozen
class Where:
    """The options that every answer has."""

    db: str
    app: str | None
    json: bool

    @property
    def ways(self) -> Ways:
        """What suggested commands have to name."""
        return Ways(option(self.db), f" --app {shlex.quote(self.app)}" if self.app is not None else "")


def decide(given: str, approve: bool, items: Sequence[str], edits: Sequence[str], message: str, where: Where) -> None:
    """Decide a request: the whole of it, or the items that are named."""
    said = _decisions(approve, items, edits, message)
    whole = approve if said is None else None
    with opened(where.db) as store:
        request = finding.request_id(store, given)
        record = store.read(lambda tx: finding.record_of(tx, request))
    if where.app is not None:
        _continue(
            where, record, lambda runtime: runtime.decide(request, approve=whole, message=message, items=said)
        )  # fmt: skip
    receipts, found = _record(
        where,
        record.execution_id,
        lambda runtime: runtime.record_decision(request, approve=whole, message=message, items=said),
    )
    if edits:
        err("note: the edit was not checked against the tool, whose code is not here; `--app` does that")
    _tell_decided(found, receipts, where)


def _decisions(
    approve: bool, items: Sequence[str], edits: Sequence[str], message: str
) -> Mapping[str, bool | Decision] | None:
    """The items that were named, None for the whole request. Raises Misuse."""
    if not items and not edits:
        return None
    verdict = Verdict.APPROVED if approve else Verdict.REJECTED
    said: dict[str, bool | Decision] = {name: Decision(name, verdict, message) for name in items}
    for edit in edits:
        name, equals, text = edit.partition("=")
        if not name or not equals:
            raise Misuse(f"--edit {edit}: write CALL='{{…}}', such as --edit c1='{{\"cents\": 400}}'")
        said[name] = Decision(name, verdict, message, json_object(text, f"--edit {name}"))
    return said


def _tell_decided(found: Snapshot, receipts: Sequence[Receipt], where: Where) -> None:
    record = found.record
    if where.json:
        as_json({"execution_id": record.execution_id, "state": found.state, "receipts": [*map(plain, receipts)]})
        return
    calls = {stored.row.tool_call_id: stored.row for stored in found.tools}
    for receipt in receipts:
        decision = receipt.decision
        row = calls.get(decision.tool_call_id)
        arguments = decision.edit if decision.edit is not None else row.shown if row is not None else None
        call = f" {printable(row.tool)} {compact(arguments)}" if row is not None else ""
        line = f"{decision.verdict:<9} {printable(decision.tool_call_id)}{call}  at {moment(receipt.decided_at)}"
        out(line, "green" if decision.verdict is Verdict.APPROVED else "red")
    _tell_state(found, where)


def cancel(given: str, where: Where) -> None:
    """Ask a run to stop."""
    found = _found(given, where)
    name = found.record.execution_id
    if found.ended and found.record.status != "cancelled":
        raise NotSuspended(f"execution {name} has ended already, {found.record.status}: there is nothing to cancel")

    async def stop(runtime: Runtime) -> Rest[Any]:
        await runtime.cancel(name)
        return await (await runtime.execution(name)).terminal()

    if not found.ended and where.app is not None:
        _continue(where, found.record, stop, asked="cancelled")
    if not found.ended:
        _, found = _record(where, name, lambda runtime: runtime.cancel(name))
    if where.json:
        as_json({"execution_id": name, "state": found.state, "stop": plain(found.intent) if found.intent else None})
        return
    if not found.ended:
        out(f"asked to stop  {name}", "yellow")
    _tell_state(found, where)


@attrs.frozen
class Words:
    """What `pawl resolve` was told of an effect; with a `revision`, of the execution as it stood then."""

    subject: str
    outcome: Performed
    result: str | None = None
    error: str | None = None
    revision: int | None = None


def resolve(given: str, words: Words, where: Where) -> None:
    """Say what became of an effect."""
    _check_resolution(words)
    found = _found(given, where)
    name = found.record.execution_id
    if found.state == "running":
        raise NotSuspended(f"execution {name} is running, and asks nothing; `pawl show {name}` says where it stands")
    said = attrs.asdict(words)
    if where.app is not None:
        _continue(where, found.record, lambda runtime: runtime.resolve(name, **said))
    _, found = _record(where, name, lambda runtime: runtime.record_resolution(name, **said))
    if where.json:
        as_json({"execution_id": name, "state": found.state, "subject": words.subject, "outcome": words.outcome})
        return
    out(f"resolved  {printable(words.subject)} {words.outcome}", "green")
    _tell_state(found, where)


def _check_resolution(words: Words) -> None:
    if (words.result is not None) is not (words.outcome == "succeeded"):
        raise Misuse("`succeeded` takes --result 'WHAT IT RETURNED', and nothing else does")
    if (words.error is not None) is not (words.outcome == "failed"):
        raise Misuse("`failed` takes --error 'WHY', and nothing else does")


def _found(given: str, where: Where) -> Snapshot:
    with opened(where.db) as store:
        return store.read(snapshot(finding.execution_id(store, given)))


def _continue(
    where: Where, record: ExecutionRecord, work: Callable[[Runtime], Awaitable[Rest[Any]]], asked: str | None = None
) -> NoReturn:
    """Answer and go on here, to the next rest. What was `asked` for is no failure."""
    assert where.app is not None
    code = apps.load(where.app)
    code.has(record)
    teller = Teller(quiet=where.json)
    teller.follow(record.execution_id)
    try:
        rest = go_on(code, where.db, code.all(), teller, work)
    except KeyboardInterrupt:
        interrupted([record.execution_id], Ways(option(where.db)), where.app)
    end(rest, teller, where.ways, where.json, asked)


def _record(where: Where, name: str, work: Callable[[Runtime], Awaitable[T]]) -> tuple[T, Snapshot]:
    """Answer without any agent's code; what that gives, and where the execution stands then."""

    async def main() -> tuple[T, Snapshot]:
        store = store_at(where.db)
        async with Runtime(store) as runtime:
            return await work(runtime), store.read(snapshot(name))

    return asyncio.run(main())


def _tell_state(found: Snapshot, where: Where) -> None:
    """Where that leaves the run: it waits for more, or for a host to go on with it."""
    if found.rest is not None:
        for line, style in rests.lines(found.rest, where.ways):
            out(line, style)
    elif found.state == "running":
        out(f"recorded; the process that runs it {'stops it' if found.intent is not None else 'goes on'}")
    elif found.refused is not None:
        out("recorded; it is done by a Pawl of the version that wrote the run, and not by this one")
    else:
        out("recorded; a host of the agent goes on with the run, within a second where one is at work")
        out(f"    go on  {where.ways.command('worker', 'MODULE')}")
