"""The host of this process's executions: starts, adopts, and brings answers to what is at rest.

Everything here is orchestration around the keeper: it asks the store, waits, and hands values to a session. Whatever
is decided about an execution is decided by the tables, inside the keeper, or in one transaction of the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import attrs

from pawl.generated.admission import Event as Admission
from pawl.generated.agent_invocation import State
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.hooks import Hooks
from pawl.runtime.agent.payloads import Recovered, Stop, StopReason
from pawl.runtime.barriers.admission import AlreadyStarted, same_start
from pawl.runtime.barriers.claim import Claimed, take_over
from pawl.runtime.barriers.rest import give_back
from pawl.runtime.execution.admitting import RunRequest
from pawl.runtime.execution.awaited import BACKOFF, TRIES, AwaitedStore, pause
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.execution.load import check_spec, recovered
from pawl.runtime.execution.reloading import Reloading
from pawl.runtime.loop.environment import Environment
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import (
    AgentBusy,
    DefinitionChanged,
    ExecutionNotFound,
    NotSuspended,
    StoreUnavailable,
)
from pawl.runtime.records.errors import Superseded as SupersededError
from pawl.runtime.records.evolution import WAITS, goes_on
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.store.port import Store

T = TypeVar("T")


class Host:
    """Executions of the definitions that this process has code for."""

    def __init__(
        self,
        environment: Environment,
        store: Store,
        keeper: Keeper,
        owner: str,
        definitions: Mapping[str, Agent[Any]],
        hooks: Hooks | None = None,
    ) -> None:
        self.environment, self.store, self.keeper = environment, AwaitedStore(environment, store), keeper
        self.owner, self.is_dead = owner, environment.is_dead
        self.definitions, self.hooks = definitions, hooks or Hooks()
        self.reloading = Reloading(environment, self.store, keeper, owner)

    async def pause(self, seconds: float) -> None:
        """Wait on the environment's clock."""
        await pause(self.environment, seconds)

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try again while somebody else holds the agent, or has just moved it on: a process that starts holds what is
        at rest for a moment, to announce it, and that is no reason to turn people away. `work` looks at what is on
        record each time. Raises what the last try raised.
        """
        for attempt in range(TRIES):
            try:
                return await work()
            except (AgentBusy, NotSuspended, SupersededError):
                if attempt == TRIES - 1:
                    raise
                await self.pause(BACKOFF)
        raise AssertionError("unreachable")

    # starting -----------------------------------------------------------------------------------------------

    async def start(self, asked: RunRequest, follow: Callable[[str], None] | None = None) -> str:
        """Admit a run; returns its id when the admission has committed, or the id that its `start_id` made before.

        `follow` is told the id of a new run before anything happens in it.

        Raises AgentBusy, AgentClosed, AgentNotFound, IdConflict, StoreUnavailable, OutcomeUnknown.
        """
        execution_id, session = f"x{self.environment.new_id()}", self.environment.new_id()
        command = asked.admission(execution_id, session, self.owner, self.environment.now(), self.is_dead)
        agent_id, record = asked.agent_id, command.record
        while True:
            try:
                self.keeper.registry.take(agent_id, execution_id, Admission.ADMIT)
                break
            except AgentBusy as busy:
                earlier = await self._same_start(record)
                if earlier is not None:
                    return earlier
                if self.keeper.registry.slot(agent_id) is not None:
                    raise busy from None
        invocation = self._context(asked.agent, record, session, Authority(self.owner, 0))
        invocation = replace(invocation, input=asked.text, context=asked.context or {})
        begun = self.keeper.waiting.start(execution_id)
        if follow is not None:
            follow(execution_id)
        self.keeper.begin(invocation, command)
        try:
            await asyncio.shield(begun)
        except AlreadyStarted as again:
            return again.record.execution_id
        return execution_id

    async def _same_start(self, record: ExecutionRecord) -> str | None:
        """The agent is taken here. The same start again is still the same execution, also while it is being admitted;
        None when there is no such start. Raises IdConflict.
        """
        for live in self.keeper.executing:
            begun = self.keeper.waiting.starting(live.execution_id)
            asked = live.invocation.record
            if begun is not None and (asked.agent_id, asked.start_id) == (record.agent_id, record.start_id):
                await asyncio.wait([begun])
        earlier = await self.store.read(lambda tx: tx.executions.of_start(record.agent_id, record.start_id))
        if earlier is None:
            return None
        match same_start(earlier, record):
            case AlreadyStarted():
                return earlier.execution_id
            case conflict:
                raise conflict

    def _context(
        self, agent: Agent[Any], record: ExecutionRecord, session: str, authority: Authority
    ) -> AgentInvocation:
        return AgentInvocation(
            session=session,
            execution_id=record.execution_id,
            agent_id=record.agent_id,
            now=self.environment.now(),
            agent=agent,
            record=record,
            draft=record,
            authority=authority,
            hooks=self.hooks.of_run(agent.callbacks.before_llm, record.agent_id),
        )

    # going on with what is on record --------------------------------------------------------------------------

    def definition(
        self, record: ExecutionRecord, awaiting: Awaiting | None = None, *, stopping: bool = False
    ) -> Agent[Any] | None:
        """The definition that may go on with this record, None when this process has none of that name.

        `awaiting` is what the run waits for. `stopping`: only to end it, for which any version will do, since nothing
        of the definition is run. Raises DefinitionChanged, SpecMismatch: the work is left untouched.
        """
        agent = self.definitions.get(record.definition)
        if agent is None:
            return None
        if not stopping and record.definition_version not in (agent.version, *agent.compatible_with):
            raise DefinitionChanged(
                f"execution {record.execution_id} was started by {record.definition} version "
                f"{record.definition_version}, this is version {agent.version}; "
                f"add compatible_with=[{record.definition_version}] to the agent to let it finish the run"
            )
        goes_on(record, awaiting)
        return agent

    async def adopt(self, record: ExecutionRecord, agent: Agent[Any]) -> None:
        """Go on with an open execution that nobody owns. Raises AgentBusy, Superseded when somebody does."""
        self.keeper.registry.take(record.agent_id, record.execution_id, Admission.ADOPT)
        claimed = await self._claimed(record, agent)
        if claimed is not None:
            invocation, found = claimed
            self.keeper.observer.adopted(record.execution_id, record.agent_id, record.phase)
            self.keeper.begin(invocation, found, State.RECOVERING)

    async def bring(
        self,
        record: ExecutionRecord,
        agent: Agent[Any],
        awaiting: Awaiting,
        event: str,
        make: Callable[[Recovered], object],
    ) -> asyncio.Future[Any]:
        """Bring an answer to an execution at rest: claim it, load it, resume it where it waits for that.

        `make` gives the event's payload from what was found, and may raise. Returns a future of the next rest.
        Raises AgentBusy, Superseded, NotSuspended, and what `make` raises; then nothing has changed.
        """
        self.keeper.registry.take(record.agent_id, record.execution_id, Admission.RESUME)
        claimed = await self._claimed(record, agent)
        if claimed is None:
            raise NotSuspended(f"execution {record.execution_id} has ended and waits for nothing")
        invocation, found = claimed
        try:
            payload = make(found)
        except Exception:
            self.keeper.abandon(invocation)
            raise
        rest = self.keeper.waiting.rest(record.execution_id, answering=True)
        self.keeper.resume(invocation, WAITS[awaiting], event, payload)
        return rest

    async def _claimed(self, record: ExecutionRecord, agent: Agent[Any]) -> tuple[AgentInvocation, Recovered] | None:
        """Claim, then read all of it; both are given back when that does not work. None: it has ended."""
        claimed: Claimed | None = None
        try:
            claimed = await self.store.commit(
                take_over(record.execution_id, self.owner, self.environment.now(), self.is_dead)
            )
            if claimed.authority is None:
                self.keeper.registry.move(record.agent_id, Admission.RELEASE)
                return None
            found = attrs.evolve(await self.store.read(recovered(record.execution_id)), authority=claimed.authority)
            check_spec(found, record)
            invocation = self._recovered(agent, found)
        except BaseException as error:
            if claimed is None and isinstance(error, SupersededError | ExecutionNotFound | StoreUnavailable):
                self.keeper.registry.move(record.agent_id, Admission.RELEASE)  # known unwritten
            else:
                self._give_back(record.agent_id)
            raise
        self.keeper.registry.move(record.agent_id, Admission.ADMITTED)
        return invocation, found

    def _give_back(self, agent_id: str) -> None:
        """The claim may have been written: an agent that this process owns and does not run would wait for ever.

        The slot stays taken until it is known to be given back, so that no later claim is given back by mistake.
        """
        self.keeper.insist(
            give_back(agent_id, self.owner), lambda _: self.keeper.registry.move(agent_id, Admission.RELEASE)
        )

    def _recovered(self, agent: Agent[Any], found: Recovered) -> AgentInvocation:
        assert found.record is not None
        assert found.authority is not None
        invocation = self._context(agent, found.record, self.environment.new_id(), found.authority)
        return invocation.found(found)

    # stopping -----------------------------------------------------------------------------------------------

    def stop_live(self, execution_id: str) -> bool:
        """Tell a live session of an intent that is on record. False when the execution is not run here."""
        return self.keeper.deliver(execution_id, "cancel_requested", Stop(StopReason.CANCEL))

    def holds_still(self, record: ExecutionRecord) -> bool:
        """Whether this process has the execution without running it: it is just being claimed, or let go."""
        held = self.keeper.registry.holds(record.agent_id, record.execution_id)
        return held and self.keeper.live(record.execution_id) is None
