"""Answers from people: decisions and cancellations, with or without the agent's code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.payloads import Decided, Recovered
from pawl.runtime.agent.redaction import fit_of
from pawl.runtime.app.rests import next_rest
from pawl.runtime.app.words import LONGEST_WORDS, Turns, check_edit, check_text
from pawl.runtime.barriers import hostless
from pawl.runtime.barriers.clocks import check_not_expired
from pawl.runtime.barriers.decide import receipts, to_commit
from pawl.runtime.barriers.edits import asked_about, unchecked, with_real_values
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.output import ended
from pawl.runtime.llm.port import MOST_CALLS
from pawl.runtime.records.approvals import Decision, Receipt, Verdict
from pawl.runtime.records.errors import (
    AgentBusy,
    InvalidArguments,
    NotSuspended,
    OutcomeUnknown,
    SpecMismatch,
    StaleRequest,
    StoreUnavailable,
    Superseded,
)
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.rests import Rest
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Operation, Transaction

Items = Mapping[str, "bool | Decision"]


_LOOKS, _LOOK = 10, 0.1
"""How often, and after how many seconds, a run that this process is claiming or letting go is looked at again."""


@attrs.frozen
class _Found:
    record: ExecutionRecord
    receipts: tuple[Receipt, ...]
    rows: tuple[ToolRow, ...]


class Answers:
    """Brings answers to executions at rest. Several for one execution take their turns."""

    def __init__(self, host: Host, turns: Turns) -> None:
        self._host, self.turns = host, turns

    # decisions ----------------------------------------------------------------------------------------------

    async def decide(
        self, request_id: str, *, approve: bool | None, message: str, items: Items | None, of: str | None = None
    ) -> Rest[Any]:
        """Commit what is new, go on with the run where its code is here, and give its next rest.

        `of`: the execution that the request has to be of.
        """
        found = await self._host.store.read(_request(request_id))
        execution_id = found.record.execution_id
        if of is not None and of != execution_id:
            raise InvalidArguments(
                f"request {request_id!r} is one of execution {execution_id}, not of {of}; decide it through that one"
            )

        def said(found: _Found) -> tuple[Decision, ...]:
            return _decisions(found, request_id, approve, message, items)

        async with self.turns.of(execution_id):
            rest = await self._host.patiently(lambda: self._decide(request_id, execution_id, said))
        return await (asyncio.shield(rest) if rest is not None else next_rest(self._host, execution_id))

    async def _decide(
        self, request_id: str, execution_id: str, said: Callable[[_Found], tuple[Decision, ...]]
    ) -> asyncio.Future[Rest[Any]] | None:
        """One try, on what is on record now: a future of the rest that it leads to, None when nothing was new here."""
        while True:
            found = await self._host.store.read(_request(request_id))
            decisions = said(found)
            if not to_commit(found.record, request_id, decisions, found.receipts, found.rows):
                return None
            check_not_expired(found.record, self._host.environment.now())
            if self._host.keeper.live(execution_id) is None:
                return await self._commit(found.record, request_id, decisions)
            # Somebody else's decision is being committed, or the run goes on with it: this one waits its turn.
            await next_rest(self._host, execution_id)

    async def _commit(
        self, record: ExecutionRecord, request_id: str, decisions: Sequence[Decision]
    ) -> asyncio.Future[Rest[Any]] | None:
        """Through a session where the agent's code is here; else in one transaction, and somebody else goes on."""
        agent = self._host.definition(record, "approval")
        if agent is None:
            await self._host.store.commit(self._hostless(record.execution_id, request_id, decisions, None))
            return None
        _validate(agent, record, decisions)
        return await self._bring(record, agent, request_id, decisions)

    async def record_decision(
        self, request_id: str, *, approve: bool | None, message: str, items: Items | None
    ) -> Sequence[Receipt]:
        """Commit what is new and nothing else."""
        found = await self._host.store.read(_request(request_id))
        decisions = _decisions(found, request_id, approve, message, items)
        agent = self._host.definition(found.record, "approval")
        if agent is not None:
            _validate(agent, found.record, decisions)
        operation = self._hostless(found.record.execution_id, request_id, decisions, agent)
        return await self._host.patiently(lambda: self._host.store.commit(operation))

    def _hostless(
        self, execution_id: str, request_id: str, decisions: Sequence[Decision], agent: Agent[Any] | None
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
            fit=fit_of(agent) if agent is not None else unchecked,
        )

    async def _bring(
        self, record: ExecutionRecord, agent: Agent[Any], request_id: str, decisions: Sequence[Decision]
    ) -> asyncio.Future[Rest[Any]]:
        def payload(found: Recovered) -> Decided:
            # It may have moved on between being read and being claimed; then what is on record decides, once more.
            now = found.record
            assert now is not None
            if now.status != "suspended" or now.request is None or now.request.id != request_id:
                raise NotSuspended(f"execution {now.execution_id} is {now.status} and waits for no decision of these")
            rows = [stored.row for stored in found.tools]
            fresh = to_commit(now, request_id, decisions, receipts(now, now.decisions, now.updated_at), rows)
            if not fresh:
                raise NotSuspended(f"execution {now.execution_id} got the same decision from somebody else")
            check_not_expired(now, self._host.environment.now())
            return Decided(request_id, now.revision, fresh)

        return await self._host.bring(record, agent, "approval", "decided", payload)

    # stops --------------------------------------------------------------------------------------------------

    async def cancel(self, execution_id: str) -> None:
        """Write the intent, then tell whoever runs it: this process now, another at its next look."""
        host = self._host
        record = await host.store.commit(hostless.stop_intent(execution_id, host.environment.now()))
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


def _request(request_id: str) -> Operation[_Found]:
    def read(tx: Transaction) -> _Found:
        earlier = tuple(tx.decisions.of_request(request_id))
        record = tx.executions.of_request(request_id)
        if record is None and earlier:
            record = tx.executions.get(earlier[0].execution_id)
        if record is None:
            raise StaleRequest(
                f"there is no pending request {request_id!r:.100}; look up the current one and decide that"
            )
        return _Found(record, earlier, asked_about(tx, record, request_id))

    return read


def _decisions(
    found: _Found, request_id: str, approve: bool | None, message: str, items: Items | None
) -> tuple[Decision, ...]:
    """The caller's words as decisions. Raises InvalidArguments."""
    if (approve is None) is (items is None):
        raise InvalidArguments("give either approve=True or False for the whole request, or items={…} for some of it")
    if items is not None and len(items) > MOST_CALLS:
        raise InvalidArguments(f"items= has {len(items)} items, more than the {MOST_CALLS} that any request has")
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
    return with_real_values([_decision(name, said, message) for name, said in items.items()], found.rows)


def _decision(name: str, said: bool | Decision, message: str) -> Decision:
    if isinstance(said, bool):
        said = Decision(name, Verdict.APPROVED if said else Verdict.REJECTED, message)
    if not isinstance(said, Decision) or not isinstance(said.verdict, Verdict):
        raise InvalidArguments(f"item {name!r:.100} is decided with True, False or a Decision, not {said!r:.40}")
    if not isinstance(said.message, str):
        raise InvalidArguments(f"the message about item {name!r:.100} must be text, not {said.message!r:.40}")
    check_text(f"the message about item {name!r:.100}", said.message, LONGEST_WORDS)
    check_edit(name, said.edit)
    return attrs.evolve(said, tool_call_id=name)


def _validate(agent: Agent[Any], record: ExecutionRecord, decisions: Sequence[Decision]) -> None:
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
