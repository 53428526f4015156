"""Answers from a process that has no code of the agent: recorded in one transaction, run when a host adopts them."""

from __future__ import annotations

from collections.abc import Sequence

from pawl.runtime.barriers.claim import IsDead, existing
from pawl.runtime.barriers.clocks import check_not_expired
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.decide import approval_entry, fully_decided, receipts, to_commit
from pawl.runtime.barriers.edits import Fit, asked_about, recorded, unchecked, with_real_values
from pawl.runtime.barriers.facts import answer_entries, call_entry, counted
from pawl.runtime.barriers.resolve import MODEL, Performed, resolve_model, resolve_tool, subjects
from pawl.runtime.barriers.standing import moved
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.approvals import Decision, Receipt
from pawl.runtime.records.errors import NotSuspended, UnknownSubject
from pawl.runtime.records.evolution import goes_on, under_this_spec
from pawl.runtime.records.executions import ExecutionRecord, StopIntent
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.redaction import REDACTED
from pawl.runtime.records.statuses import TERMINAL, Move
from pawl.runtime.records.tools import ErrorInfo, ToolRow
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
        fresh, edited = recorded(fresh, rows, fit)
        written = receipts(record, fresh, now)
        decided = replace(record, decisions=(*record.decisions, *fresh))
        done = fully_decided(decided)
        command = _command(
            tx,
            record,
            moved(decided, Move.APPROVAL, now),
            (approval_entry(record, fresh, now),),
            owner=owner,
            token=token,
            now=now,
            is_dead=is_dead,
        )
        replace(command, receipts=written, tools=edited, awaiting=None if done else "approval").run(tx)
        return (*earlier, *written)

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
        meta = {"subject": subject, "outcome": outcome}
        journal = [JournalEntry(JournalKind.RECOVERY_RESOLVED, execution_id, now, None, meta)]
        asked_still = [name for name in subjects(record, rows) if name != subject]
        after = moved(record, Move.RESOLUTION, now)
        if asked_still:  # it rests on, and its time stands still
            after = replace(after, deadline=record.deadline, time_left=record.time_left)
        if subject == MODEL:
            if outcome == "succeeded":
                said = answer or ModelAnswer()
                # Which arguments may be shown only the tools know, and their code is not here.
                shown = [REDACTED] * len(said.calls)
                journal[:0] = answer_entries(execution_id, str(record.llm_call_id), said, now, shown)
                after = counted(after, said)
            elif outcome == "failed":
                journal.insert(0, call_entry(execution_id, str(record.llm_call_id), "failed", now))
            after = replace(after, **resolve_model(record, outcome, answer, error))
            tools: tuple[ToolRow, ...] = ()
            contents: tuple[Content, ...] = ()
        else:
            row = next(row for row in rows if row.tool_call_id == subject)
            resolved = resolve_tool(row, outcome, result, error)
            tools = (resolved.row,)
            contents = (resolved.content,) if resolved.content is not None else ()
        command = _command(tx, record, after, tuple(journal), owner=owner, token=token, now=now, is_dead=is_dead)
        replace(command, tools=tools, contents=contents).run(tx)
        return after

    return run


def unknown_subject(execution_id: str, subject: str, known: Sequence[str]) -> str:
    """The message of UnknownSubject."""
    waits = f"it waits for: {', '.join(known)}" if known else "nothing of it waits for an answer"
    return f"execution {execution_id} does not wait for an answer about {subject!r}; {waits}"


def _command(
    tx: Transaction,
    record: ExecutionRecord,
    after: ExecutionRecord,
    journal: tuple[JournalEntry, ...],
    *,
    owner: str,
    token: str,
    now: float,
    is_dead: IsDead,
) -> Commit:
    """Claim, and the commit that releases again in the same transaction."""
    root = claim(record.agent_id, owner, now, is_dead)(tx)
    after = replace(under_this_spec(after), revision=record.revision + 1, token=token, updated_at=now)
    return Commit(
        "hostless",
        Authority(owner, root.fence),
        after,
        (record.revision, record.token),
        tx.journal.position(record.agent_id),
        journal,
        release=True,
        bump=True,
    )
