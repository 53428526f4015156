"""`Runtime`: the object an application holds. Everything durable is behind it, everything live inside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pawl.runtime.agent.definition import Agent
from pawl.runtime.app.agents import AgentHandle
from pawl.runtime.app.definitions import known
from pawl.runtime.app.events import EventStream, Wanted
from pawl.runtime.app.execution import Execution
from pawl.runtime.app.life import FORKED, Life
from pawl.runtime.app.resolutions import Resolution
from pawl.runtime.barriers.claim import existing
from pawl.runtime.execution.listeners import Listener
from pawl.runtime.execution.measuring import stats_of
from pawl.runtime.execution.output import current_rest
from pawl.runtime.execution.stats import Stats
from pawl.runtime.execution.streams import BUFFER
from pawl.runtime.execution.watch import readable, unclaimed, why_unclaimed
from pawl.runtime.records.approvals import Decision, Receipt
from pawl.runtime.records.errors import InvalidArguments, RuntimeClosed
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.messages import ModelAnswer
from pawl.runtime.records.rests import Rest, T
from pawl.runtime.store.port import LARGEST


class Runtime(Life):
    """Runs agents over a durable store; use it as `async with Runtime("sqlite:///runs.db", agents=[…]) as runtime`.

    Arguments:
      store: a URL (`sqlite:///relative.db`, `sqlite:////absolute.db`, `memory://`), a path, or a Store.
      agents: the definitions that this process has code for. Open work of theirs that nobody owns is adopted, at the
        start and every `poll_interval` seconds (0: never).
      on_event: called on the loop with each Event, before handles settle.
      on_listener_error: "report" logs and detaches a listener that raises, "fail" fails the run it was told about.
      deps: anything; tools, their policies and probes find it as `ToolContext.deps`, filters, hooks and context
        policies as `query.deps`. Without them, a tool that takes a `ToolContext[X]` is refused.
      before_llm: hooks of every agent, asked before those of the definition and of the logical agent.
      close_timeout: seconds that `close` waits for running work to come to rest; what does not is adopted later.

    Raises, on entering: StoreUnavailable, StoreReadOnly, StoreCorrupt, SchemaTooNew, InvalidArguments; ModelError
    when there is no SDK or key for the model of an agent. Whatever looks at runs raises RuntimeClosed before that and
    after `close`.
    """

    # agents -------------------------------------------------------------------------------------------------

    async def create(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """A new logical agent. Raises AgentExists, InvalidArguments, StoreUnavailable, OutcomeUnknown."""
        self._open()
        return await self._identities.create(known(self._definitions, agent), agent_id)

    async def load(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """A logical agent that exists.

        Raises AgentNotFound, WrongAgent when it is of another definition, InvalidArguments, StoreError.
        """
        self._open()
        return await self._identities.load(known(self._definitions, agent), agent_id)

    async def open(self, agent: Agent[T], agent_id: str) -> AgentHandle[T]:
        """Create it, or load it.

        Raises WrongAgent when it is of another definition, InvalidArguments, StoreUnavailable, OutcomeUnknown.
        """
        self._open()
        return await self._identities.open(known(self._definitions, agent), agent_id)

    def get(self, agent_id: str) -> AgentHandle[Any] | None:
        """The handle that this runtime has already, without looking at the store."""
        self._open()
        return self._identities.get(agent_id)

    async def purge(self, agent_id: str) -> None:
        """Delete a logical agent with all that it did.

        Raises AgentBusy while it runs, AgentNotFound, StoreUnavailable, OutcomeUnknown.
        """
        self._open()
        await self._identities.purge(agent_id)

    # runs ---------------------------------------------------------------------------------------------------

    async def start(
        self,
        agent: Agent[T],
        text: str,
        *,
        agent_id: str | None = None,
        id: str | None = None,  # noqa: A002 - the word that callers use
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Execution[T]:
        """Open the logical agent (named like the definition by default) and start a run.

        Raises WrongAgent, and what AgentHandle.start raises.
        """
        handle = await self.open(agent, known(self._definitions, agent).name if agent_id is None else agent_id)
        return await handle.start(text, id=id, durable_context=durable_context, run_timeout=run_timeout)

    async def run(
        self,
        agent: Agent[T],
        text: str,
        *,
        agent_id: str | None = None,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
    ) -> Rest[T]:
        """Start a run and await its first rest. Raises what `start` raises, and what awaiting an Execution raises."""
        return await (
            await self.start(
                agent, text, agent_id=agent_id, id=id, durable_context=durable_context, run_timeout=run_timeout
            )
        )

    def stream(
        self,
        agent: Agent[T],
        text: str,
        *,
        agent_id: str | None = None,
        id: str | None = None,  # noqa: A002
        durable_context: Mapping[str, Any] | None = None,
        run_timeout: float | None = None,
        through_rests: bool = False,
        buffer: int = BUFFER,
    ) -> EventStream[T]:
        """Open the logical agent and start a run whose model answers are streamed: see AgentHandle.stream."""

        async def start(follow: Callable[[str], None]) -> Execution[T]:
            handle = await self.open(agent, known(self._definitions, agent).name if agent_id is None else agent_id)
            return await handle._admit(text, id, durable_context, run_timeout, follow)  # noqa: SLF001 - one library

        return EventStream(self._open(), Wanted(through_rests=through_rests, buffer=buffer), start=start)

    async def execution(self, execution_id: str) -> Execution[Any]:
        """A new handle of an execution, run here or anywhere. Raises ExecutionNotFound, StoreError."""
        host = self._open()
        await host.store.read(lambda tx: existing(tx, execution_id))
        return Execution(host, self._answers, execution_id)

    async def executions(
        self, agent_id: str | None = None, *, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[ExecutionRecord]:
        """Records in order of creation, `limit` of them at most; `after` is the last id seen.

        One that cannot be read is left out, and hides none of the others: that is logged, `why_unclaimed` says why, and
        `pawl ls` shows it in its place. Raises InvalidArguments, StoreError.
        """
        host = self._open()
        if type(limit) is not int or not 0 <= limit <= LARGEST:
            raise InvalidArguments(f"limit={limit!r:.40} must be a whole number, 0 or more, and less than 2**63")
        found = await host.store.read(readable(agent_id, open_only, after, limit))
        for unreadable in found.unreadable:
            self._watch.leave(unreadable)
        return [record for record, _ in found.rows]

    async def result(self, execution_id: str) -> Rest[Any] | None:
        """The rest that an execution is at, None while it moves. Raises ExecutionNotFound, StoreError."""
        host = self._open()
        return await host.store.read(current_rest(execution_id, host.definitions))

    async def unclaimed(self) -> Sequence[ExecutionRecord]:
        """Open work that this process has no code for, or refuses to touch. Raises StoreError."""
        return await self._open().store.read(unclaimed(self._definitions, self._watch.refused))

    async def why_unclaimed(self, execution_id: str) -> str | None:
        """Why this process leaves an open execution alone, in words; None when it does not, or when that has ended.

        Raises ExecutionNotFound, StoreError.
        """
        return await self._open().store.read(why_unclaimed(execution_id, self._definitions, self._watch.refused))

    # answers ------------------------------------------------------------------------------------------------

    async def decide(
        self,
        request_id: str,
        *,
        approve: bool | None = None,
        message: str = "",
        items: Mapping[str, bool | Decision] | None = None,
    ) -> Rest[Any]:
        """Decide an approval request, the whole of it (`approve`) or some `items` by tool call id; the next rest.

        An item is True, False, or a Decision (with a message, or edited arguments). The same decision again is no
        error; a different one raises AlreadyDecided. Raises StaleRequest, InvalidArguments, NotSuspended, AgentBusy or
        Superseded where somebody else holds the agent, DefinitionChanged, SpecMismatch, StoreUnavailable,
        OutcomeUnknown. Without code of the agent here, the decision is recorded and the rest is awaited elsewhere.
        """
        self._open()
        return await self._answers.decide(request_id, approve=approve, message=message, items=items)

    async def record_decision(
        self,
        request_id: str,
        *,
        approve: bool | None = None,
        message: str = "",
        items: Mapping[str, bool | Decision] | None = None,
    ) -> Sequence[Receipt]:
        """The same, without going on: the decision is committed, whoever adopts the run applies it. The receipts.

        Raises what `decide` raises.
        """
        self._open()
        return await self._answers.record_decision(request_id, approve=approve, message=message, items=items)

    async def receipts(self, request_id: str) -> Sequence[Receipt]:
        """What was decided about a request so far. Raises StoreError."""
        host = self._open()
        return await host.store.read(lambda tx: tuple(tx.decisions.of_request(request_id)))

    async def cancel(self, execution_id: str) -> None:
        """Ask a run to stop, from any process. Returns when that is on record: the run will end, cancelled unless it
        was ending already. An ended run is left as it is. Raises ExecutionNotFound, StoreUnavailable, OutcomeUnknown.
        """
        self._open()
        await self._answers.cancel(execution_id)

    async def resolve(
        self,
        execution_id: str,
        subject: str,
        outcome: Literal["succeeded", "failed", "not_performed"],
        *,
        result: str | ModelAnswer | None = None,
        error: str | None = None,
        revision: int | None = None,
    ) -> Rest[Any]:
        """Say what became of an effect whose outcome is not known; the next rest.

        `subject` is a tool call id or "model". succeeded takes `result`, failed takes `error`, not_performed runs it
        now. Raises ExecutionNotFound, UnknownSubject, InvalidArguments, StaleRevision when the execution is not at
        `revision` any more, or has just moved on, AgentBusy or Superseded where somebody else holds the agent,
        DefinitionChanged, SpecMismatch, StoreUnavailable, OutcomeUnknown.
        """
        self._open()
        words = Resolution(subject, outcome, result, error, revision)
        return await self._resolutions.resolve(execution_id, words)

    async def record_resolution(
        self,
        execution_id: str,
        subject: str,
        outcome: Literal["succeeded", "failed", "not_performed"],
        *,
        result: str | ModelAnswer | None = None,
        error: str | None = None,
        revision: int | None = None,
    ) -> ExecutionRecord:
        """The same, without going on: the answer is committed, whoever adopts the run applies it. The new record.

        Raises what `resolve` raises.
        """
        self._open()
        words = Resolution(subject, outcome, result, error, revision)
        return await self._resolutions.record_resolution(execution_id, words)

    async def reload(self, execution_id: str) -> None:
        """Read the store again for an execution that was closed here because a write's outcome was not known.

        Raises NotSuspended when it is not closed here, OutcomeUnknown while something that it started has not ended,
        Superseded when another process took it over, StoreUnavailable.
        """
        await self._open().reloading.reload(execution_id)

    def stats(self) -> Stats:
        """Counters for a host's own monitoring, as they stand now; `to_dict()` gives plain data. Cheap; on the loop.

        Raises RuntimeClosed before the runtime has been opened; afterwards the last counters can still be read.
        """
        if self._process is None:
            raise RuntimeClosed("the runtime has not been opened; use it inside `async with Runtime(…) as runtime`")
        if self._process != os.getpid():
            raise RuntimeClosed(FORKED)
        return stats_of(self._keeper)

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called with every Event from now on, as `on_event` is; call the result to take it away.

        It hears of all runs of this process; an event names its run and its agent. On the loop. Raises
        InvalidArguments for what is no plain function.
        """
        return self._listeners.add(listener)

    def remove_listener(self, listener: Listener) -> None:
        """Call a listener no more. Nothing when it is not there (any more)."""
        self._listeners.remove(listener)
