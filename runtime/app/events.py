"""Streams of events: what has happened to one run, read from its journal, and then what happens, as it does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

import attrs

from pawl.runtime.execution.host import Host
from pawl.runtime.execution.looks import SHORTEST, Looks
from pawl.runtime.execution.pages import Page, page
from pawl.runtime.execution.streams import BUFFER, ENDINGS, Buffer, Sync
from pawl.runtime.records.errors import InvalidArguments, StoreUnavailable
from pawl.runtime.records.events import Event, EventKind
from pawl.runtime.records.rests import Rest, T_co

if TYPE_CHECKING:
    from pawl.runtime.app.execution import Execution

_TRIES = 6
"""How often a page is read while the store cannot be."""

_RESTS = ENDINGS | {EventKind.APPROVAL_REQUIRED}
"""Whoever is told of one of these may count on the agent having been let go."""

Start = Callable[[Callable[[str], None]], Coroutine[Any, Any, "Execution[T_co]"]]
"""Starts a run, and tells its id before it begins to move."""


@attrs.frozen
class Wanted:
    """What a stream is to give: see `Execution.events`."""

    after: int = 0
    through_rests: bool = False
    tokens: bool = True
    buffer: int = BUFFER

    def checked(self) -> Self:
        """Raises InvalidArguments."""
        if type(self.buffer) is not int or self.buffer < 1:
            raise InvalidArguments(f"buffer={self.buffer!r:.40} must be a whole number of events, from 1")
        for name in ("through_rests", "tokens"):
            if type(getattr(self, name)) is not bool:
                raise InvalidArguments(f"{name}={getattr(self, name)!r:.40} must be True or False")
        return self


class EventStream(Generic[T_co]):
    """The events of one run, as an asynchronous iterator; `await` it for the run's first rest.

    It ends behind the event of the run's end, or of a rest. One that goes on `through_rests` is awaited for the last of
    them: where the run stands, or what it comes to next. Leaving it (`break`, an error, `async with`, or just dropping
    it) detaches this consumer and touches neither the run nor other consumers. A consumer that is slow loses tokens,
    counted in `dropped` and on the next event; events with a cursor are never lost and come once.

    Raises, while it is iterated: what starting raises, ExecutionNotFound, InvalidArguments for a cursor of elsewhere,
    OutcomeUnknown when the execution had to be closed here, RuntimeClosed.
    """

    def __init__(
        self, host: Host, wanted: Wanted, execution: Execution[T_co] | None = None, start: Start[T_co] | None = None
    ) -> None:
        self._host, self._wanted = host, wanted.checked()
        self._execution, self._start = execution, start
        self._starting: asyncio.Task[Execution[T_co]] | None = None
        self._buffer = Buffer(wanted.buffer, tokens=wanted.tokens, through_rests=wanted.through_rests)
        self._attached: str | None = None
        self._ready: deque[Event] = deque()
        self._place = wanted.after
        self._sync: Sync | None = None
        self._told: int | None = None
        self._missed = 0
        self._over, self._reading = False, False
        self._looks = Looks()

    @property
    def execution(self) -> Execution[T_co]:
        """The handle of the run. Raises InvalidArguments while it is not started: enter or iterate the stream first."""
        if self._execution is None:
            raise InvalidArguments(
                "this stream has not started its run yet; use it as `async with … as stream`, or iterate it"
            )
        return self._execution

    @property
    def dropped(self) -> int:
        """Events without a cursor that this consumer has missed: it did not keep up."""
        return self._buffer.dropped

    # life ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self._begun()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Follow the run no more; it goes on. Closing again does nothing."""
        self._over = True
        self._ready.clear()
        self._detach()
        self._buffer.wake()

    def __await__(self) -> Generator[Any, None, Rest[T_co]]:
        return self._rest().__await__()

    async def _rest(self) -> Rest[T_co]:
        await self._begun()
        if self._wanted.through_rests:
            return await self.execution._now()  # noqa: SLF001 - one library
        return await self.execution

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._reading:
            raise InvalidArguments("one consumer reads a stream at a time; make another with `execution.events()`")
        self._reading = True
        try:
            while not self._ready:
                if self._over:
                    raise StopAsyncIteration
                await self._begun()
                self._attach(self.execution.id)
                await self._more()
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self._over = True
                self._detach()
            raise
        finally:
            self._reading = False
        return self._marked(self._ready.popleft())

    async def _begun(self) -> None:
        """Start the run, once, whoever asks; a caller who is cancelled does not stop the others' start."""
        if self._execution is not None or self._start is None:
            return
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start(self._attach))
            self._starting.add_done_callback(_seen)
        try:
            execution = await asyncio.shield(self._starting)
        except Exception:
            self._detach()
            raise
        if self._execution is None:
            self._execution = execution
            if self._attached != execution.id:  # it was started before, under this id
                self._detach()

    def _attach(self, execution_id: str) -> None:
        if self._attached is not None or self._over:
            return
        keeper = self._host.keeper
        self._attached = execution_id
        keeper.streams.attach(execution_id, self._buffer)
        live = keeper.live(execution_id)
        if live is not None:
            self._buffer.sync(live.invocation.position)

    def _detach(self) -> None:
        if self._attached is not None:
            self._host.keeper.streams.detach(self._attached, self._buffer)
            self._attached = None

    # what comes ---------------------------------------------------------------------------------------------

    async def _more(self) -> None:
        """Take what waits, or look at the store, or wait. Cancelled anywhere, it loses nothing."""
        if self._sync is not None:
            await self._catch_up(self._sync)
            return
        item, missed = self._buffer.take()
        self._missed += missed
        match item:
            case Sync():
                self._sync = item
            case tuple():
                self._take(item)
            case None if self._buffer.error is not None:
                raise self._buffer.error
            case None:
                self._host.reloading.check_open(self.execution.id)
                if self._host.keeper.live(self.execution.id) is not None:
                    await self._woken(None)
                else:
                    await self._look()

    def _take(self, events: tuple[Event, ...]) -> None:
        """Events in order; those that are known already are not given again, and end the stream all the same."""
        cursor, last = events[-1].cursor, events[-1]
        if cursor is None or cursor > self._place:
            self._ready.extend(events)
            self._place = max(self._place, cursor or 0)
        if last.kind in ENDINGS:
            self._finish()

    async def _catch_up(self, sync: Sync) -> None:
        """Read a page of what is on record up to there; at a rest give its event too, and end if it is to end there."""
        if self._place < sync.upto:
            found = await self._read(sync.upto)
            for group in found.groups:
                self._take(group)
            self._place = max(self._place, found.place if found.full else sync.upto)
        if self._place >= sync.upto:
            self._sync = None
            if sync.rest is not None:
                self._rested(sync.rest)

    async def _look(self) -> None:
        """The run is not run here: read a page of what is on record, and see where that leaves it."""
        found = await self._read(None)
        if self._buffer.waiting or self._host.keeper.live(self.execution.id) is not None:
            return None  # it came here meanwhile: what there is to read is told in the buffer
        held = self._held(found)
        for group in found.groups:
            if held and group[-1].kind in _RESTS:
                break
            self._take(group)
        else:
            self._place = max(self._place, found.place)
        if not (held or found.full):
            if found.ended:
                self._finish()
            elif found.rest is not None:
                self._rested(found.rest)
        if self._ready or self._over or found.full:
            self._looks.found()
            return None
        return await self._woken(self._looks.next())

    def _held(self, found: Page) -> bool:
        """Whether this process is just about to let the agent go: whoever is told of a rest may count on that."""
        return self._host.keeper.registry.holds(found.agent_id, self.execution.id)

    async def _read(self, upto: int | None) -> Page:
        """A page behind the place; a store that cannot be read just now is asked again for a while."""
        for attempt in range(_TRIES):
            try:
                return await self._host.store.read(page(self.execution.id, self._place, upto=upto))
            except StoreUnavailable:
                if attempt == _TRIES - 1 or self._over:
                    raise
                await self._host.pause(SHORTEST * 2**attempt)
        raise AssertionError("unreachable")

    def _rested(self, rest: Event) -> None:
        """At a rest. One that is on no record is told here, once for each revision that asks."""
        if rest.kind is EventKind.RECOVERY_RESOLUTION_REQUIRED and rest.data["revision"] != self._told:
            self._told = rest.data["revision"]
            self._ready.append(rest)
        if not self._wanted.through_rests:
            self._finish()

    def _finish(self) -> None:
        self._over = True
        self._detach()

    async def _woken(self, seconds: float | None) -> None:
        """Wait until something is told, for so long at most."""
        environment = self._host.environment
        woken: asyncio.Future[None] = environment.future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = environment.later(seconds, wake) if seconds is not None else None
        self._buffer.wake = wake
        try:
            await woken
        finally:
            self._buffer.wake = _nobody
            if timer is not None:
                timer.cancel()

    def _marked(self, event: Event) -> Event:
        missed, self._missed = self._missed, 0
        return attrs.evolve(event, dropped=missed) if missed else event

    def __repr__(self) -> str:
        return f"<events of {self._execution!r}>" if self._execution is not None else "<events of a run to be started>"


def _nobody() -> None:
    """Whom a buffer wakes that nobody waits at."""


def _seen(starting: asyncio.Task[Any]) -> None:
    if not starting.cancelled():
        starting.exception()
