"""Answers from people and applications: decisions, cancellations and resolutions, with or without the agent's code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

import attrs

from pawl.runtime.agent.answers import normalise
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.payloads import Decided, Recovered, Resolved
from pawl.runtime.app.execution import next_rest
from pawl.runtime.barriers import hostless
from pawl.runtime.barriers.claim import existing
from pawl.runtime.barriers.decide import receipts, to_commit
from pawl.runtime.barriers.resolve import MODEL, Performed, subjects
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.output import ended
from pawl.runtime.records.approvals import Decision, Receipt, Verdict
from pawl.runtime.records.errors import (
    AgentBusy,
    InvalidArguments,
    MalformedModelAnswer,
    NotSuspended,
    OutcomeUnknown,
    SpecMismatch,
    StaleRequest,
    StaleRevision,
    StoreUnavailable,
    Superseded,
    UnknownSubject,
)
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.rests import Rest
from pawl.runtime.records.tools import ErrorInfo, ToolRow
from pawl.runtime.store.port import Operation, Transaction

Items = Mapping[str, "bool | Decision"]


_LOOKS, _LOOK = 10, 0.1
"""How often, and after how many seconds, a run that this process is claiming or letting go is looked at again."""


@attrs.frozen
class _Found:
    record: ExecutionRecord
    receipts: tuple[Receipt, ...]


class Answers:
    """Brings answers to executions at rest. Several for one execution take their turns."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # decisions ----------------------------------------------------------------------------------------------

    async def decide(self, request_id: str, *, approve: bool | None, message: str, items: Items | None) -> Rest:
        """Commit what is new, go on with the run where its code is here, and give its next rest."""
        found = await self._host.read(_request(request_id))
        execution_id = found.record.execution_id

        def said(found: _Found) -> tuple[Decision, ...]:
            return _decisions(found, request_id, approve, message, items)

        async with self._turn(execution_id):
            rest = await self._host.patiently(lambda: self._decide(request_id, execution_id, said))
        return await (asyncio.shield(rest) if rest is not None else next_rest(self._host, execution_id))

    async def _decide(
        self, request_id: str, execution_id: str, said: Callable[[_Found], tuple[Decision, ...]]
    ) -> asyncio.Future[Rest] | None:
        """One try, on what is on record now: a future of the rest that it leads to, None when nothing was new here."""
        while True:
            found = await self._host.read(_request(request_id))
            decisions = said(found)
            if not to_commit(found.record, request_id, decisions, found.receipts):
                return None
            if self._host.keeper.live(execution_id) is None:
                return await self._commit(found.record, request_id, decisions)
            # Somebody else's decision is being committed, or the run goes on with it: this one waits its turn.
            await next_rest(self._host, execution_id)

    async def _commit(
        self, record: ExecutionRecord, request_id: str, decisions: Sequence[Decision]
    ) -> asyncio.Future[Rest] | None:
        """Through a session where the agent's code is here; else in one transaction, and somebody else goes on."""
        agent = self._host.definition(record)
        if agent is None:
            await self._host.ask(self._hostless(record.execution_id, request_id, decisions))
            return None
        _validate(agent, record, decisions)
        return await self._bring(record, agent, request_id, decisions)

    async def record_decision(
        self, request_id: str, *, approve: bool | None, message: str, items: Items | None
    ) -> Sequence[Receipt]:
        """Commit what is new and nothing else."""
        found = await self._host.read(_request(request_id))
        decisions = _decisions(found, request_id, approve, message, items)
        agent = self._host.definition(found.record)
        if agent is not None:
            _validate(agent, found.record, decisions)
        operation = self._hostless(found.record.execution_id, request_id, decisions)
        return await self._host.patiently(lambda: self._host.ask(operation))

    def _hostless(
        self, execution_id: str, request_id: str, decisions: Sequence[Decision]
    ) -> Operation[tuple[Receipt, ...]]:
        host = self._host
        return hostless.decide(
            execution_id,
            request_id,
            decisions,
            owner=host.owner,
            token=f"decision-{host.environment.new_id()}",
            now=host.environment.now(),
            is_dead=host.is_dead,
        )

    async def _bring(
        self, record: ExecutionRecord, agent: Agent, request_id: str, decisions: Sequence[Decision]
    ) -> asyncio.Future[Rest]:
        def payload(found: Recovered) -> Decided:
            # It may have moved on between being read and being claimed; then what is on record decides, once more.
            now = found.record
            assert now is not None
            if now.status != "suspended" or now.request is None or now.request.id != request_id:
                raise NotSuspended(f"execution {now.execution_id} is {now.status} and waits for no decision of these")
            fresh = to_commit(now, request_id, decisions, receipts(now, now.decisions, now.updated_at))
            if not fresh:
                raise NotSuspended(f"execution {now.execution_id} got the same decision from somebody else")
            return Decided(request_id, now.revision, fresh)

        return await self._host.bring(record, agent, "decided", payload)

    # stops --------------------------------------------------------------------------------------------------

    async def cancel(self, execution_id: str) -> None:
        """Write the intent, then tell whoever runs it: this process now, another at its next look."""
        host = self._host
        record = await host.ask(hostless.stop_intent(execution_id, host.environment.now()))
        if ended(record):
            return
        for _ in range(_LOOKS):
            if host.stop_live(execution_id):
                return
            if not host.holds_still(record):
                break
            await host.pause(_LOOK)
        # Nobody runs it: this process ends it. Where another does, or only another may, that one sees the intent.
        with suppress(AgentBusy, Superseded, SpecMismatch, StoreUnavailable, OutcomeUnknown):
            agent = host.definition(record, stopping=True)
            if agent is not None:
                await host.adopt(record, agent)

    # resolutions --------------------------------------------------------------------------------------------

    async def resolve(
        self,
        execution_id: str,
        subject: str,
        outcome: Performed,
        *,
        result: str | ModelAnswer | None,
        error: str | None,
        revision: int | None,
    ) -> Rest:
        """Commit the answer, go on with the run where its code is here, and give its next rest."""
        _check_resolution(outcome, result, error)
        async with self._turn(execution_id):
            rest = await self._host.patiently(
                lambda: self._resolve(execution_id, subject, outcome, result, error, revision)
            )
        return await (asyncio.shield(rest) if rest is not None else next_rest(self._host, execution_id))

    async def _resolve(
        self,
        execution_id: str,
        subject: str,
        outcome: Performed,
        result: str | ModelAnswer | None,
        error: str | None,
        revision: int | None,
    ) -> asyncio.Future[Rest] | None:
        """One try, on what is on record now: a future of the rest that it leads to, None when somebody else goes on."""
        record, said = await self._unresolved(execution_id, subject, outcome, result, error, revision)
        agent = self._host.definition(record)
        if agent is None:
            await self._host.ask(self._hostless_resolution(execution_id, said))
            return None

        def payload(found: Recovered) -> Resolved:
            assert found.record is not None
            _check_subject(found.record, [stored.row for stored in found.tools], subject, record.revision)
            return attrs.evolve(said, revision=found.record.revision)

        return await self._host.bring(record, agent, "resolved", payload)

    async def record_resolution(
        self,
        execution_id: str,
        subject: str,
        outcome: Performed,
        *,
        result: str | ModelAnswer | None,
        error: str | None,
        revision: int | None,
    ) -> ExecutionRecord:
        """Commit the answer and nothing else."""
        _check_resolution(outcome, result, error)
        async with self._turn(execution_id):
            _, said = await self._unresolved(execution_id, subject, outcome, result, error, revision)
            operation = self._hostless_resolution(execution_id, said)
            return await self._host.patiently(lambda: self._host.ask(operation))

    async def _unresolved(
        self,
        execution_id: str,
        subject: str,
        outcome: Performed,
        result: str | ModelAnswer | None,
        error: str | None,
        revision: int | None,
    ) -> tuple[ExecutionRecord, Resolved]:
        """The record, once nothing here moves it, and the caller's words. Raises UnknownSubject, StaleRevision."""
        while self._host.keeper.live(execution_id) is not None:
            await next_rest(self._host, execution_id)
        record, rows = await self._host.read(_unresolved(execution_id))
        _check_subject(record, rows, subject, revision)
        answer = _model_answer(subject, outcome, result)
        text = result if isinstance(result, str) else None
        info = ErrorInfo("ToolError" if subject != MODEL else "ModelError", error) if error is not None else None
        return record, Resolved(subject, record.revision, outcome, text, answer, info)

    def _hostless_resolution(self, execution_id: str, said: Resolved) -> Operation[ExecutionRecord]:
        host = self._host
        return hostless.resolve(
            execution_id,
            said.subject,
            said.outcome,
            result=said.result,
            answer=said.answer,
            error=said.error,
            owner=host.owner,
            token=f"resolution-{host.environment.new_id()}",
            now=host.environment.now(),
            is_dead=host.is_dead,
        )

    def _turn(self, execution_id: str) -> asyncio.Lock:
        return self._turns.setdefault(execution_id, asyncio.Lock())


def _request(request_id: str) -> Operation[_Found]:
    def read(tx: Transaction) -> _Found:
        earlier = tuple(tx.decisions.of_request(request_id))
        record = tx.executions.of_request(request_id)
        if record is None and earlier:
            record = tx.executions.get(earlier[0].execution_id)
        if record is None:
            raise StaleRequest(f"there is no pending request {request_id!r}; look up the current one and decide that")
        return _Found(record, earlier)

    return read


def _decisions(
    found: _Found, request_id: str, approve: bool | None, message: str, items: Items | None
) -> tuple[Decision, ...]:
    """The caller's words as decisions. Raises InvalidArguments."""
    if (approve is None) is (items is None):
        raise InvalidArguments("give either approve=True or False for the whole request, or items={…} for some of it")
    if items is None:
        request = found.record.request
        if request is not None and request.id == request_id:
            names: Sequence[str] = [item.tool_call_id for item in request.items]
            known = {receipt.decision.tool_call_id for receipt in found.receipts}
            # The whole request is what is left of it: items that were decided one by one stay as they are.
            names = [name for name in names if name not in known] or names
        else:
            names = [receipt.decision.tool_call_id for receipt in found.receipts]
        items = dict.fromkeys(names, bool(approve))
    return tuple(_decision(name, said, message) for name, said in items.items())


def _decision(name: str, said: bool | Decision, message: str) -> Decision:
    if isinstance(said, bool):
        said = Decision(name, Verdict.APPROVED if said else Verdict.REJECTED, message)
    if not isinstance(said, Decision) or not isinstance(said.verdict, Verdict):
        raise InvalidArguments(f"item {name!r} is decided with True, False or a Decision, not {said!r:.40}")
    if not isinstance(said.message, str):
        raise InvalidArguments(f"the message about item {name!r} must be text, not {said.message!r:.40}")
    _check_text(f"the message about item {name!r}", said.message)
    return attrs.evolve(said, tool_call_id=name)


def _validate(agent: Agent, record: ExecutionRecord, decisions: Sequence[Decision]) -> None:
    """Edited arguments have to fit the tool before anything is committed. Raises InvalidArguments."""
    tools = {item.tool_call_id: item.tool for item in record.request.items} if record.request is not None else {}
    for decision in decisions:
        if decision.edit is None:
            continue
        if decision.verdict is not Verdict.APPROVED:
            raise InvalidArguments(f"item {decision.tool_call_id!r} is rejected: there is nothing to edit")
        tool = agent.tool(tools.get(decision.tool_call_id, ""))
        if tool is not None:
            tool.validate_value(decision.edit)


def _unresolved(execution_id: str) -> Operation[tuple[ExecutionRecord, list[ToolRow]]]:
    def read(tx: Transaction) -> tuple[ExecutionRecord, list[ToolRow]]:
        record = existing(tx, execution_id)
        if record.batch_call_id is None:
            return record, []
        return record, list(tx.tools.of_execution(execution_id, record.batch_call_id))

    return read


def _check_subject(record: ExecutionRecord, rows: Sequence[ToolRow], subject: str, revision: int | None) -> None:
    if revision is not None and revision != record.revision:
        raise StaleRevision(
            f"execution {record.execution_id} is at revision {record.revision}, not {revision}; read it again"
        )
    known = () if ended(record) else subjects(record, rows)
    if subject not in known:
        raise UnknownSubject(hostless.unknown_subject(record.execution_id, subject, known))


def _check_resolution(outcome: str, result: object, error: object) -> None:
    wanted = {"succeeded": (True, False), "failed": (False, True), "not_performed": (False, False)}
    if outcome not in wanted:
        raise InvalidArguments(f"outcome={outcome!r} is unknown; it is succeeded, failed or not_performed")
    takes_result, takes_error = wanted[outcome]
    if (result is not None) is not takes_result or (error is not None) is not takes_error:
        takes = "result=" if takes_result else "error=" if takes_error else "neither result= nor error="
        raise InvalidArguments(f"outcome={outcome!r} takes {takes}")
    if not isinstance(result, str | ModelAnswer | None) or not isinstance(error, str | None):
        raise InvalidArguments("result= is text, or a ModelAnswer for the subject 'model'; error= is text")
    _check_text("result=", result)
    _check_text("error=", error)


def _model_answer(subject: str, outcome: str, result: str | ModelAnswer | None) -> ModelAnswer | None:
    """A model's answer as a provider could have given it. Raises InvalidArguments."""
    if subject != MODEL:
        if isinstance(result, ModelAnswer):
            raise InvalidArguments("a tool's result is text; a ModelAnswer is for the subject 'model'")
        return None
    if outcome != "succeeded":
        return None
    try:
        return normalise(result if isinstance(result, ModelAnswer) else ModelAnswer(str(result)), "result=")
    except MalformedModelAnswer as error:
        raise InvalidArguments(str(error)) from None


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments(f"{what} is not Unicode text: a lone surrogate at character {error.start}") from None
