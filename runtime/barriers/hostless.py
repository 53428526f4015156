"""Answers from a process that has no code of the agent: recorded in one transaction, run when a host adopts them."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pawl.runtime.barriers.answering import Writing, decided, resolved_model, resolved_tool
from pawl.runtime.barriers.claim import IsDead, existing
from pawl.runtime.barriers.clocks import check_not_expired
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.decide import to_commit
from pawl.runtime.barriers.edits import Fit, asked_about, unchecked, with_real_values
from pawl.runtime.barriers.resolve import MODEL, Performed, subjects
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.approvals import Decision, Receipt
from pawl.runtime.records.errors import NotSuspended, UnknownSubject
from pawl.runtime.records.evolution import goes_on, under_this_spec
from pawl.runtime.records.executions import ExecutionRecord, StopIntent
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.redaction import REDACTED
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import ErrorInfo
from pawl.runtime.store.ownership import claim
from pawl.runtime.store.port import Operation, Transaction


def stop_intent(execution_id: str, now: float) -> Operation[ExecutionRecord]:
    """Write that the run is to stop; its own row, no revision. An ended one is left.

    It waits for nothing any more, also where somebody owns it just now, who may let it go as it was found, or die: so
    whoever looks next ends it. Raises ExecutionNotFound.
    """

    def run(tx: Transaction) -> ExecutionRecord:
        record = existing(tx, execution_id)
        if record.status in TERMINAL:
            return record
        tx.intents.put(StopIntent(execution_id, "cancel", now))
        tx.executions.rest(execution_id, None)
        return record

    return run


def decide(
    execution_id: str,
    request_id: str,
    decisions: Sequence[Decision],
    *,
    owner: str,
    token: str,
    now: float,
    is_dead: IsDead,
    fit: Fit = unchecked,
) -> Operation[tuple[Receipt, ...]]:
    """The `approval` barrier without a session; `fit` knows the tools, where their code is here.

    Raises AlreadyDecided, StaleRequest, NotSuspended, SpecMismatch, InvalidArguments, Fenced.
    """

    def run(tx: Transaction) -> tuple[Receipt, ...]:
        record = existing(tx, execution_id)
        earlier = tuple(tx.decisions.of_request(request_id))
        rows = asked_about(tx, record, request_id)
        fresh = to_commit(record, request_id, with_real_values(decisions, rows), earlier, rows)
        if not fresh:
            return earlier
        if record.status != "suspended":
            raise NotSuspended(f"execution {execution_id} is {record.status} and waits for no decision")
        goes_on(record, "approval")
        check_not_expired(record, now)
        written = decided(record, fresh, rows, fit, now)
        _command(tx, record, written, owner=owner, token=token, now=now, is_dead=is_dead).run(tx)
        return (*earlier, *written.receipts)

    return run


def resolve(
    execution_id: str,
    subject: str,
    outcome: Performed,
    *,
    result: str | None,
    answer: ModelAnswer | None,
    error: ErrorInfo | None,
    owner: str,
    token: str,
    now: float,
    is_dead: IsDead,
) -> Operation[ExecutionRecord]:
    """The `resolution` barrier without a session; repeated under its `token` it is nothing. Raises UnknownSubject,
    SpecMismatch, Fenced.
    """

    def run(tx: Transaction) -> ExecutionRecord:
        record = existing(tx, execution_id)
        if record.token == token:
            return record
        rows = tx.tools.of_execution(execution_id, record.batch_call_id) if record.batch_call_id is not None else ()
        if subject not in subjects(record, rows):
            raise UnknownSubject(unknown_subject(execution_id, subject, subjects(record, rows)))
        goes_on(record, "resolution")
        if subject == MODEL:
            said = answer or ModelAnswer()
            # Which arguments may be shown only the tools know, and their code is not here.
            written = resolved_model(record, outcome, said, error, [REDACTED] * len(said.calls), now)
        else:
            row = next(row for row in rows if row.tool_call_id == subject)
            written = resolved_tool(record, row, outcome, result, error, now)
        if len(subjects(record, rows)) > 1:  # it rests on, and its time stands still
            still = replace(written.record, deadline=record.deadline, time_left=record.time_left)
            written = attrs.evolve(written, record=still)
        command = _command(tx, record, written, owner=owner, token=token, now=now, is_dead=is_dead)
        command.run(tx)
        return command.record

    return run


def unknown_subject(execution_id: str, subject: str, known: Sequence[str]) -> str:
    """The message of UnknownSubject."""
    waits = f"it waits for: {', '.join(known)}" if known else "nothing of it waits for an answer"
    return f"execution {execution_id} does not wait for an answer about {subject!r}; {waits}"


def _command(
    tx: Transaction,
    record: ExecutionRecord,
    written: Writing,
    *,
    owner: str,
    token: str,
    now: float,
    is_dead: IsDead,
) -> Commit:
    """Claim, and the commit that releases again in the same transaction."""
    root = claim(record.agent_id, owner, now, is_dead)(tx)
    after = replace(under_this_spec(written.record), revision=record.revision + 1, token=token, updated_at=now)
    return Commit(
        "hostless",
        Authority(owner, root.fence),
        after,
        (record.revision, record.token),
        tx.journal.position(record.agent_id),
        written.journal,
        written.contents,
        written.tools,
        written.receipts,
        written.awaiting,
        release=True,
        bump=True,
    )
