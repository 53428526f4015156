"""Executions that are closed in this process, because nobody knows what was written: the store is read again."""

from __future__ import annotations

import logging

import attrs

from pawl.runtime.agent.payloads import Recovered, Stop, StopReason
from pawl.runtime.barriers.claim import take_over
from pawl.runtime.barriers.rest import give_back
from pawl.runtime.execution.awaited import AwaitedStore
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.execution.load import check_spec, recovered
from pawl.runtime.loop.environment import Environment
from pawl.runtime.loop.log import about, raised
from pawl.runtime.records.errors import (
    ExecutionNotFound,
    NotSuspended,
    OutcomeUnknown,
    PawlError,
    SpecMismatch,
    Superseded,
)
from pawl.runtime.records.tools import ErrorInfo

_log = logging.getLogger("pawl.execution")


class Reloading:
    """Reads closed executions again, for the process that owns agents as `owner`."""

    def __init__(self, environment: Environment, store: AwaitedStore, keeper: Keeper, owner: str) -> None:
        self._environment, self._store, self._keeper, self._owner = environment, store, keeper, owner
        self._running: set[str] = set()
        keeper.read_again = self._reload_soon

    def closed(self, execution_id: str) -> bool:
        """Whether the execution is closed here, and is not being read again."""
        return self._keeper.closed(execution_id) and execution_id not in self._running

    def check_open(self, execution_id: str) -> None:
        """Raises OutcomeUnknown for an execution that is closed here: nothing will come of waiting for it."""
        if self.closed(execution_id):
            raise OutcomeUnknown(
                f"execution {execution_id} is closed in this process, what was written is not known; "
                "`reload` reads the store again, and so does a new process"
            )

    async def reload(self, execution_id: str) -> None:
        """Read the store again for an execution that was closed here, and go on from what it says.

        Raises NotSuspended when it is not closed here, OutcomeUnknown while something that it started has not ended,
        Superseded when it was taken over, SpecMismatch when a version took it that this one cannot follow,
        StoreUnavailable.
        """
        live = self._keeper.live(execution_id)
        if live is None or not self.closed(execution_id):
            raise _not_closed(execution_id)
        if not self._keeper.can(live, "reload"):
            raise OutcomeUnknown(
                f"execution {execution_id} cannot be read again yet: something that it started has not ended"
            )
        self._running.add(execution_id)
        try:
            found = await self._read_again(live)
            reloaded = self._keeper.deliver(execution_id, "reload", found)
        except Superseded as error:
            owner = ErrorInfo("Superseded", error.owner or "")
            self._keeper.deliver(execution_id, "ownership_lost", Stop(StopReason.LOST, owner))
            raise
        except PawlError as error:
            self._keeper.waiting.settle(execution_id, None, error)
            raise
        finally:
            self._running.discard(execution_id)
        if not reloaded:  # it moved on while the store was read
            raise _not_closed(execution_id)

    async def _read_again(self, live: Live) -> Recovered:
        name, before = live.execution_id, live.invocation.authority
        environment = self._environment
        try:
            claim = take_over(name, self._owner, environment.now(), environment.is_dead)
            claimed = await self._store.commit(claim)
            found = await self._store.read(recovered(name))
        except ExecutionNotFound:
            return Recovered(None)
        if claimed.authority is not None:
            try:
                check_spec(found, live.invocation.record)
            except SpecMismatch:
                self._keeper.insist(give_back(live.invocation.agent_id, self._owner), lambda _: None)
                raise
        return attrs.evolve(found, authority=claimed.authority or before)

    def _reload_soon(self, execution_id: str) -> None:
        """Where a closed execution was asked to stop: its intent is on record, and is found with the record."""

        def reloaded(_: None, error: BaseException | None) -> None:
            if error is not None:
                said = "execution %s could not be read again (%s)"
                _log.warning(said, execution_id, type(error).__name__, extra=about(execution_id))
                raised("reading a run again", error, execution_id)

        if execution_id not in self._running:
            self._environment.spawn(self.reload(execution_id), reloaded)


def _not_closed(execution_id: str) -> NotSuspended:
    return NotSuspended(f"execution {execution_id} is not closed in this process, so there is nothing to reload")
