"""The poll: what nobody owns is adopted, and stops that other processes asked for are noticed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import attrs

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.payloads import Recovered
from pawl.runtime.barriers.claim import existing
from pawl.runtime.barriers.clocks import deadline_passed, expired
from pawl.runtime.execution.host import Host
from pawl.runtime.execution.output import awaiting_of, ended
from pawl.runtime.loop.environment import Cancellable
from pawl.runtime.loop.log import about, place_of, raised
from pawl.runtime.records.agents import Owner
from pawl.runtime.records.errors import (
    AgentBusy,
    DefinitionChanged,
    NotSuspended,
    OutcomeUnknown,
    PawlError,
    SpecMismatch,
    StoreCorrupt,
    Superseded,
)
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.evolution import refusal
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.store.ownership import bury
from pawl.runtime.store.port import Operation, Transaction
from pawl.runtime.store.unreadable import Surveyed, Unreadable, unread

_log = logging.getLogger("pawl.adoption")

_AT_ONCE: Final = 100
"""How many that wait are announced together."""

_OF_RESTS: Final = (EventKind.APPROVAL_REQUIRED, EventKind.RECOVERY_RESOLUTION_REQUIRED)


class Watch:
    """Looks at the store every `interval` seconds; 0 never looks. Refused executions are kept with their reason."""

    def __init__(self, host: Host, interval: float) -> None:
        self._host, self._interval = host, interval
        self._timer: Cancellable | None = None
        self._stopped = self._unburied = False
        self.refused: dict[str, PawlError] = {}

    def keep(self) -> None:
        """Begin to look."""
        if self._interval > 0 and not self._stopped:
            self._timer = self._host.environment.later(self._interval, self._due)

    def _due(self) -> None:
        def looked(_: None, error: BaseException | None) -> None:
            if error is not None and not self._stopped:
                _log.warning("the store could not be looked at (%s)", type(error).__name__)
                raised("looking at the store", error)
            self.keep()

        if not self._stopped:
            self._host.environment.spawn(self.look(), looked)

    def stop(self) -> None:
        """Look no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    async def look(self) -> None:
        """Adopt what is open and owned by nobody."""
        host = self._host
        live = tuple(live.execution_id for live in host.keeper.executing)
        if live:
            for execution_id in await host.store.read(_asked_to_stop(live)):
                host.stop_live(execution_id)
        if not host.definitions:
            return
        await self._bury()
        await self._adopt_all(lambda after: _adoptable(host.owner, host.environment.now(), after))

    async def _bury(self) -> None:
        """The adapter knows leases by their end; a process of this machine that is gone need not be waited for."""
        host = self._host
        try:
            if await host.store.read(_any_dead(host.is_dead)):
                await host.store.commit(bury(host.is_dead))
        except StoreCorrupt as error:
            # What runs out without being read is waited for, and keeps nobody else's work from being adopted.
            if not self._unburied:
                _log.warning("a lease cannot be read (%s); `pawl fsck` says which", type(error).__name__)
            self._unburied = True

    async def begin(self) -> None:
        """The first look. Behind it, what waits is announced again, where anybody listens: the first page of it before
        anybody can act, for the others nobody waits, since there may be very many.
        """
        host, told = self._host, set[str]()
        if not (host.definitions and host.keeper.listeners.any):
            return await self.look()

        def hear(event: Event) -> None:
            if event.kind in _OF_RESTS:
                told.add(event.execution_id)

        def announced(_: None, error: BaseException | None) -> None:
            forget()
            if error is not None and not self._stopped:
                _log.warning("not all that waits could be announced (%s)", type(error).__name__)
                raised("announcing what waits", error)

        forget, now = host.keeper.listeners.add(hear), host.environment.now()
        await self.look()
        try:
            after = await self._adopt_page(_resting(now, ""), told)
        except Exception as error:
            announced(None, error)
        else:
            host.environment.spawn(self._adopt_all(lambda after: _resting(now, after), told, after), announced)
        return None

    async def _adopt_all(
        self, page: Callable[[str], Operation[Page]], told: Collection[str] = (), after: str | None = ""
    ) -> None:
        """Page by page. Not what was `told` of until then."""
        while after is not None and not self._stopped:
            after = await self._adopt_page(page(after), told)

    async def _adopt_page(self, page: Operation[Page], told: Collection[str]) -> str | None:
        """All of a page at once, so that their claims commit together; the id to go on after."""
        found = await self._host.store.read(page)
        for unreadable in found.unreadable:
            self.leave(unreadable)
        await asyncio.gather(*(self._adopt(*row, told) for row in found.rows))
        return found.last

    def leave(self, found: Unreadable) -> None:
        """Say once that it is left untouched. Not why: that shows the value which does not fit."""
        if found.execution_id not in self.refused:
            said = "execution %s of agent %s is left untouched, its record cannot be read; `pawl fsck` says why"
            _log.warning(said, *_names(found), extra=about(*_names(found)))
        self.refused[found.execution_id] = StoreCorrupt(str(found))

    async def _stopping(self, record: ExecutionRecord) -> bool:
        """Whether it is only to be ended; asked of work of another version alone."""
        now = self._host.environment.now()
        if expired(record, now) or deadline_passed(record, now):
            return True
        agent = self._host.definitions.get(record.definition)
        if agent is None or record.definition_version == agent.version:
            return False
        return bool(await self._host.store.read(_asked_to_stop((record.execution_id,))))

    async def _adopt(self, record: ExecutionRecord, awaiting: Awaiting | None, told: Collection[str]) -> None:
        try:
            agent = self._host.definition(record, awaiting, stopping=await self._stopping(record))
            if agent is None or self._stopped or record.execution_id in told:
                return
            if expired(record, self._host.environment.now()):
                await self._expire(record, agent)
            else:
                await self._host.adopt(record, agent)
            self.refused.pop(record.execution_id, None)
        except (DefinitionChanged, SpecMismatch) as error:
            if record.execution_id not in self.refused:
                _log.warning("left untouched: %s", error, extra=about(*_names(record)))
            self.refused[record.execution_id] = error
        except (AgentBusy, Superseded, NotSuspended):
            return  # another process, or another call of this one, was faster
        except Exception as error:
            passing = isinstance(error, PawlError) and not isinstance(error, StoreCorrupt)
            if passing or record.execution_id not in self.refused:
                self._not_adopted(record, error)
            if not passing:
                # One that cannot be made sense of must not keep the others from being adopted.
                left = f"it could not be adopted here: {error!r}"
                self.refused[record.execution_id] = error if isinstance(error, PawlError) else OutcomeUnknown(left)

    @staticmethod
    def _not_adopted(record: ExecutionRecord, error: Exception) -> None:
        said = "execution %s of agent %s could not be adopted (%s at %s)"
        _log.warning(said, *_names(record), type(error).__name__, place_of(error), extra=about(*_names(record)))
        raised("adopting a run", error, record.execution_id)

    async def _expire(self, record: ExecutionRecord, agent: Agent[Any]) -> None:
        """Nothing of it is alive while it waits: who finds that its request has expired claims it, and says so."""

        def payload(found: Recovered) -> None:
            now = found.record
            if now is None or not expired(now, self._host.environment.now()):
                raise NotSuspended(f"execution {record.execution_id} does not wait any more")

        await self._host.bring(record, agent, "approval", "approval_expired", payload)


def _names(record: Surveyed) -> tuple[str, str]:
    return record.execution_id, record.agent_id


def _asked_to_stop(execution_ids: Sequence[str]) -> Operation[list[str]]:
    def read(tx: Transaction) -> list[str]:
        return [name for name in execution_ids if tx.intents.get(name) is not None]

    return read


def _any_dead(is_dead: Callable[[Owner], bool]) -> Operation[bool]:
    def read(tx: Transaction) -> bool:
        return any(is_dead(owner) for owner in tx.owners.list())

    return read


def unclaimed(known: Collection[str], refused: Mapping[str, PawlError]) -> Operation[list[ExecutionRecord]]:
    """Open work that is left alone here: of definitions or specs that are not known, and what was `refused`, by id.
    Not what cannot be read: there is no record of that to give.
    """
    left = dict(refused)

    def read(tx: Transaction) -> list[ExecutionRecord]:
        found: list[ExecutionRecord] = []
        after = ""
        while rows := tx.executions.survey(open_only=True, after=after):
            records = ((record, awaiting) for record, awaiting in rows if isinstance(record, ExecutionRecord))
            found += [record for record, awaiting in records if _why(record, awaiting, known, left) is not None]
            after = rows[-1][0].execution_id
        return found

    return read


def why_unclaimed(execution_id: str, known: Collection[str], refused: Mapping[str, PawlError]) -> Operation[str | None]:
    """Why an open execution is left alone here; None where it is not. Raises ExecutionNotFound."""
    left = dict(refused)

    def read(tx: Transaction) -> str | None:
        try:
            record = existing(tx, execution_id)
        except StoreCorrupt as error:
            return unread(execution_id, error)
        return None if ended(record) else _why(record, awaiting_of(tx, record), known, left)

    return read


def _why(
    record: ExecutionRecord, awaiting: Awaiting | None, known: Collection[str], refused: Mapping[str, PawlError]
) -> str | None:
    if record.definition not in known:
        return f"execution {record.execution_id} is of {record.definition}, and no code of that is here"
    error = refused.get(record.execution_id)
    return refusal(record, awaiting) or (str(error) if error is not None else None)


@attrs.frozen
class Page:
    """Some records with what each waits for, what cannot be read, and the id to go on after; None when there are no
    more.
    """

    rows: Sequence[tuple[ExecutionRecord, Awaiting | None]]
    unreadable: Sequence[Unreadable]
    last: str | None

    @classmethod
    def of(cls, found: Sequence[tuple[Surveyed, Awaiting | None]]) -> Page:
        """A page of what a look over the store found."""
        rows = [(one, awaiting) for one, awaiting in found if isinstance(one, ExecutionRecord)]
        unreadable = [one for one, _ in found if isinstance(one, Unreadable)]
        return cls(rows, unreadable, found[-1][0].execution_id if found else None)


def readable(agent_id: str | None, open_only: bool, after: str, limit: int) -> Operation[Page]:
    """The first `limit` executions behind `after` that can be read, and those between them that cannot."""

    def read(tx: Transaction) -> Page:
        page = Page((), (), after)
        while page.last is not None and len(page.rows) < limit:
            wanted = limit - len(page.rows)
            more = Page.of(found := tx.executions.survey(agent_id, open_only, page.last, wanted))
            last = more.last if len(found) == wanted else None
            page = Page((*page.rows, *more.rows), (*page.unreadable, *more.unreadable), last)
        return page

    return read


def _adoptable(owner: str, now: float, after: str) -> Operation[Page]:
    def read(tx: Transaction) -> Page:
        return Page.of([(found, None) for found in tx.executions.adoptable(owner, now, after=after)])

    return read


def _resting(now: float, after: str) -> Operation[Page]:
    """What waits for answers, but for what has waited too long: that is ended, not announced."""

    def read(tx: Transaction) -> Page:
        page = Page.of(tx.executions.survey(None, True, after, _AT_ONCE))
        waiting = [row for row in page.rows if row[1] is not None and not expired(row[0], now)]
        return attrs.evolve(page, rows=waiting)

    return read
