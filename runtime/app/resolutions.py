"""What an application says of an effect whose outcome nobody knows, with or without the agent's code."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs

from pawl.runtime.agent.answers import normalise
from pawl.runtime.agent.payloads import Recovered, Resolved
from pawl.runtime.app.rests import next_rest
from pawl.runtime.app.words import LONGEST_WORDS, Turns, check_text
from pawl.runtime.barriers import hostless
from pawl.runtime.barriers.claim import existing
from pawl.runtime.barriers.resolve import MODEL, Performed, subjects
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.output import ended
from pawl.runtime.records.errors import InvalidArguments, MalformedModelAnswer, StaleRevision, UnknownSubject
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.rests import Rest
from pawl.runtime.records.tools import ErrorInfo, ToolRow
from pawl.runtime.store.port import Operation, Transaction


@attrs.frozen
class Resolution:
    """A caller's words about `subject`, a tool call id or "model"; `revision` is the one that they were made on."""

    subject: str
    outcome: Performed
    result: str | ModelAnswer | None = None
    error: str | None = None
    revision: int | None = None

    def check(self) -> None:
        """Raises InvalidArguments for words that contradict each other, or cannot be written."""
        wanted = {"succeeded": (True, False), "failed": (False, True), "not_performed": (False, False)}
        if self.outcome not in wanted:
            raise InvalidArguments(f"outcome={self.outcome!r} is unknown; it is succeeded, failed or not_performed")
        takes_result, takes_error = wanted[self.outcome]
        if (self.result is not None) is not takes_result or (self.error is not None) is not takes_error:
            takes = "result=" if takes_result else "error=" if takes_error else "neither result= nor error="
            raise InvalidArguments(f"outcome={self.outcome!r} takes {takes}")
        if not isinstance(self.result, str | ModelAnswer | None) or not isinstance(self.error, str | None):
            raise InvalidArguments("result= is text, or a ModelAnswer for the subject 'model'; error= is text")
        check_text("result=", self.result)
        check_text("error=", self.error, LONGEST_WORDS)
        check_text("subject=", self.subject, LONGEST_WORDS)

    def at(self, revision: int) -> Resolved:
        """The words as a session gets them. Raises InvalidArguments."""
        text = self.result if isinstance(self.result, str) else None
        kind = "ToolError" if self.subject != MODEL else "ModelError"
        info = ErrorInfo(kind, self.error) if self.error is not None else None
        return Resolved(self.subject, revision, self.outcome, text, self._answer(), info)

    def _answer(self) -> ModelAnswer | None:
        """A model's answer as a provider could have given it."""
        if self.subject != MODEL:
            if isinstance(self.result, ModelAnswer):
                raise InvalidArguments("a tool's result is text; a ModelAnswer is for the subject 'model'")
            return None
        if self.outcome != "succeeded":
            return None
        answer = self.result if isinstance(self.result, ModelAnswer) else ModelAnswer(str(self.result))
        try:
            return normalise(answer, "result=")
        except MalformedModelAnswer as error:
            raise InvalidArguments(str(error)) from None


class Resolutions:
    """Brings resolutions to executions at rest."""

    def __init__(self, host: Host, turns: Turns) -> None:
        self._host, self._turns = host, turns

    async def resolve(self, execution_id: str, words: Resolution) -> Rest[Any]:
        """Commit the answer, go on with the run where its code is here, and give its next rest."""
        words.check()
        async with self._turns.of(execution_id):
            rest = await self._host.patiently(lambda: self._resolve(execution_id, words))
        return await (asyncio.shield(rest) if rest is not None else next_rest(self._host, execution_id))

    async def record_resolution(self, execution_id: str, words: Resolution) -> ExecutionRecord:
        """Commit the answer and nothing else."""
        words.check()
        async with self._turns.of(execution_id):
            _, said = await self._unresolved(execution_id, words)
            operation = self._hostless(execution_id, said)
            return await self._host.patiently(lambda: self._host.store.commit(operation))

    async def _resolve(self, execution_id: str, words: Resolution) -> asyncio.Future[Rest[Any]] | None:
        """One try, on what is on record now: a future of the rest that it leads to, None when somebody else goes on."""
        record, said = await self._unresolved(execution_id, words)
        agent = self._host.definition(record, "resolution")
        if agent is None:
            await self._host.store.commit(self._hostless(execution_id, said))
            return None

        def payload(found: Recovered) -> Resolved:
            assert found.record is not None
            _check_subject(found.record, [stored.row for stored in found.tools], words.subject, record.revision)
            return attrs.evolve(said, revision=found.record.revision)

        return await self._host.bring(record, agent, "resolution", "resolved", payload)

    async def _unresolved(self, execution_id: str, words: Resolution) -> tuple[ExecutionRecord, Resolved]:
        """The record, once nothing here moves it, and the caller's words. Raises UnknownSubject, StaleRevision."""
        while self._host.keeper.live(execution_id) is not None:
            await next_rest(self._host, execution_id)
        record, rows = await self._host.store.read(_unresolved(execution_id))
        _check_subject(record, rows, words.subject, words.revision)
        return record, words.at(record.revision)

    def _hostless(self, execution_id: str, said: Resolved) -> Operation[ExecutionRecord]:
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
