"""The host of this process's executions: starts, adopts, and brings answers to what is at rest.

Everything here is orchestration around the keeper: it asks the store, waits, and hands values to a session. Whatever
is decided about an execution is decided by the tables, inside the keeper, or in one transaction of the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

import attrs

from pawl.generated.admission import Event as Slot
from pawl.generated.agent_invocation import State
from pawl.runtime.agent.agent_invocation import AgentInvocation
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.hooks import Hooks
from pawl.runtime.agent.payloads import Recovered, Stop
from pawl.runtime.barriers.admission import AlreadyStarted, same_start
from pawl.runtime.barriers.claim import Claimed, take_over
from pawl.runtime.barriers.rest import give_back
from pawl.runtime.execution.admitting import RunRequest
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.execution.load import recovered
from pawl.runtime.loop.environment import Environment
from pawl.runtime.loop.log import about, raised
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import (
    AgentBusy,
    DefinitionChanged,
    ExecutionNotFound,
    NotSuspended,
    OutcomeUnknown,
    PawlError,
    SpecMismatch,
    StoreUnavailable,
)
from pawl.runtime.records.errors import Superseded as SupersededError
from pawl.runtime.records.evolution import WAITS, goes_on
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.rests import Rest
from pawl.runtime.records.tools import ErrorInfo
from pawl.runtime.store.answers import Answer, Committed, Refused, Superseded, Unavailable, Uncertain
from pawl.runtime.store.port import Operation, Store

T = TypeVar("T")

_log = logging.getLogger("pawl.execution")

_TRIES = 5
_BACKOFF = 0.1


class Host:
    """Executions of the definitions that this process has code for."""

    decide: Callable[..., Coroutine[Any, Any, Rest[Any]]]
    """Decides a request of an execution, for handles that have a host only; whoever brings answers sets it."""

    def __init__(
        self,
        environment: Environment,
        store: Store,
        keeper: Keeper,
        owner: str,
        definitions: Mapping[str, Agent],
        hooks: Hooks | None = None,
    ) -> None:
        self.environment, self.store, self.keeper = environment, store, keeper
        self.owner, self.is_dead = owner, environment.is_dead
        self.definitions, self.hooks = definitions, hooks or Hooks()
        self._reloading: set[str] = set()
        keeper.read_again = self._reload_soon

    # the store, awaited -------------------------------------------------------------------------------------

    async def ask(self, operation: Operation[T], *, once: bool = False, tries: int = _TRIES) -> T:
        """Commit an operation, again and again for a while where it was not written, or where nobody knows.

        `once`: not where nobody knows; for what may not be written twice. `tries`: how often at most. Raises what it
        was refused with, Superseded, StoreUnavailable when nothing was written, OutcomeUnknown.
        """
        unknown: Exception | None = None
        for attempt in range(tries):
            match await self._answer(operation):
                case Committed(value):
                    return value
                case Refused(error):
                    raise error
                case Superseded(owner):
                    raise SupersededError(owner)
                case Uncertain(error):
                    unknown = last = error
                    if once:
                        break
                case Unavailable(error):
                    last = error
                    if isinstance(error, PawlError) and not isinstance(error, StoreUnavailable):
                        raise error
            await self.pause(_BACKOFF * 2**attempt)
        if unknown is not None:
            raise OutcomeUnknown(f"it is not known whether this was written: {unknown}; ask again") from unknown
        raise StoreUnavailable(f"the store cannot be written now, nothing was written: {last}") from last

    async def _answer(self, operation: Operation[T]) -> Answer[T]:
        future: asyncio.Future[Answer[T]] = self.environment.future()

        def arrived(said: Answer[T]) -> None:
            if not future.done():
                future.set_result(said)

        self.store.submit(operation, lambda said: self.environment.wake(lambda: arrived(said)))
        return await future

    async def read(self, operation: Operation[T]) -> T:
        """Read off the loop. Raises what the operation raises, and StoreError."""
        future: asyncio.Future[T] = self.environment.future()

        def arrived(value: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        self.environment.read(lambda: self.store.read(operation), arrived)
        return await future

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try again while somebody else holds the agent, or has just moved it on: a process that starts holds what is
        at rest for a moment, to announce it, and that is no reason to turn people away. `work` looks at what is on
        record each time. Raises what the last try raised.
        """
        for attempt in range(_TRIES):
            try:
                return await work()
            except (AgentBusy, NotSuspended, SupersededError):
                if attempt == _TRIES - 1:
                    raise
                await self.pause(_BACKOFF)
        raise AssertionError("unreachable")

    async def pause(self, seconds: float) -> None:
        """Wait on the environment's clock."""
        future: asyncio.Future[None] = self.environment.future()
        self.environment.later(seconds, lambda: None if future.done() else future.set_result(None))
        await future

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
                self.keeper.registry.take(agent_id, execution_id, Slot.ADMIT)
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
        earlier = await self.read(lambda tx: tx.executions.of_start(record.agent_id, record.start_id))
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
        self.keeper.registry.take(record.agent_id, record.execution_id, Slot.ADOPT)
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
        self.keeper.registry.take(record.agent_id, record.execution_id, Slot.RESUME)
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
            claimed = await self.ask(take_over(record.execution_id, self.owner, self.environment.now(), self.is_dead))
            if claimed.authority is None:
                self.keeper.registry.move(record.agent_id, Slot.RELEASE)
                return None
            found = replace_authority(await self.read(recovered(record.execution_id)), claimed.authority)
            _check_spec(found, record)
            invocation = self._recovered(agent, found)
        except BaseException as error:
            if claimed is None and isinstance(error, SupersededError | ExecutionNotFound | StoreUnavailable):
                self.keeper.registry.move(record.agent_id, Slot.RELEASE)  # known unwritten
            else:
                self._give_back(record.agent_id)
            raise
        self.keeper.registry.move(record.agent_id, Slot.ADMITTED)
        return invocation, found

    def _give_back(self, agent_id: str) -> None:
        """The claim may have been written: an agent that this process owns and does not run would wait for ever.

        The slot stays taken until it is known to be given back, so that no later claim is given back by mistake.
        """
        self.keeper.insist(give_back(agent_id, self.owner), lambda _: self.keeper.registry.move(agent_id, Slot.RELEASE))

    def _recovered(self, agent: Agent[Any], found: Recovered) -> AgentInvocation:
        assert found.record is not None
        assert found.authority is not None
        invocation = self._context(agent, found.record, self.environment.new_id(), found.authority)
        return invocation.found(found)

    # stopping -----------------------------------------------------------------------------------------------

    def stop_live(self, execution_id: str) -> bool:
        """Tell a live session of an intent that is on record. False when the execution is not run here."""
        return self.keeper.deliver(execution_id, "cancel_requested", Stop("cancel"))

    def holds_still(self, record: ExecutionRecord) -> bool:
        """Whether this process has the execution without running it: it is just being claimed, or let go."""
        slot = self.keeper.registry.slot(record.agent_id)
        held = slot is not None and slot.execution_id == record.execution_id
        return held and self.keeper.live(record.execution_id) is None

    async def reload(self, execution_id: str) -> None:
        """Read the store again for an execution that was closed here, and go on from what it says.

        Raises NotSuspended when it is not closed here, OutcomeUnknown while something that it started has not ended,
        Superseded when it was taken over, SpecMismatch when a version took it that this one cannot follow,
        StoreUnavailable.
        """
        live = self.keeper.live(execution_id)
        if live is None or not self.closed(execution_id):
            raise _not_closed(execution_id)
        if not self.keeper.can(live, "reload"):
            raise OutcomeUnknown(
                f"execution {execution_id} cannot be read again yet: something that it started has not ended"
            )
        self._reloading.add(execution_id)
        try:
            found = await self._read_again(live)
            reloaded = self.keeper.deliver(execution_id, "reload", found)
        except SupersededError as error:
            owner = ErrorInfo("Superseded", error.owner or "")
            self.keeper.deliver(execution_id, "ownership_lost", Stop("lost", owner))
            raise
        except PawlError as error:
            self.keeper.waiting.settle(execution_id, None, error)
            raise
        finally:
            self._reloading.discard(execution_id)
        if not reloaded:  # it moved on while the store was read
            raise _not_closed(execution_id)

    async def _read_again(self, live: Live) -> Recovered:
        name, before = live.execution_id, live.invocation.authority
        try:
            claimed = await self.ask(take_over(name, self.owner, self.environment.now(), self.is_dead))
            found = await self.read(recovered(name))
        except ExecutionNotFound:
            return Recovered(None)
        if claimed.authority is not None:
            try:
                _check_spec(found, live.invocation.record)
            except SpecMismatch:
                self.keeper.insist(give_back(live.invocation.agent_id, self.owner), lambda _: None)
                raise
        return replace_authority(found, claimed.authority or before)

    def _reload_soon(self, execution_id: str) -> None:
        """Where a closed execution was asked to stop: its intent is on record, and is found with the record."""

        def reloaded(_: None, error: BaseException | None) -> None:
            if error is not None:
                said = "execution %s could not be read again (%s)"
                _log.warning(said, execution_id, type(error).__name__, extra=about(execution_id))
                raised("reading a run again", error, execution_id)

        if execution_id not in self._reloading:
            self.environment.spawn(self.reload(execution_id), reloaded)

    def closed(self, execution_id: str) -> bool:
        """Whether the execution is closed here, and is not being read again."""
        return self.keeper.closed(execution_id) and execution_id not in self._reloading

    def check_open(self, execution_id: str) -> None:
        """Raises OutcomeUnknown for an execution that is closed here: nothing will come of waiting for it."""
        if self.closed(execution_id):
            raise OutcomeUnknown(
                f"execution {execution_id} is closed in this process, what was written is not known; "
                "`reload` reads the store again, and so does a new process"
            )


def _check_spec(found: Recovered, before: ExecutionRecord) -> None:
    """Another version may have gone on with it since `before` was read: then that one keeps it. Raises SpecMismatch."""
    if found.record is not None and found.record.spec_hash != before.spec_hash:
        goes_on(found.record)


def _not_closed(execution_id: str) -> NotSuspended:
    return NotSuspended(f"execution {execution_id} is not closed in this process, so there is nothing to reload")


def replace_authority(found: Recovered, authority: Authority) -> Recovered:
    """What was found, under the authority that was just claimed."""
    return attrs.evolve(found, authority=authority)
