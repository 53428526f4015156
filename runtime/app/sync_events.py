"""A stream of events as a blocking iterator, for `pawl.sync`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from pawl.runtime.app import events
from pawl.runtime.records.errors import RuntimeClosed
from pawl.runtime.records.events import Event
from pawl.runtime.records.rests import Rest, T_co

if TYPE_CHECKING:
    from pawl.runtime.app.execution import Execution as LiveExecution
    from pawl.runtime.app.sync_handles import Execution

R = TypeVar("R")


class Calls(Protocol):
    """Runs coroutines on the thread of the loop."""

    def call(self, work: Coroutine[Any, Any, R]) -> R:
        """Block until it has ended. Raises what it raises."""


class EventStream(Generic[T_co]):
    """See pawl.EventStream: here `for`, `with` and `wait()` take the place of their asynchronous twins."""

    def __init__(
        self,
        thread: Calls,
        inner: events.EventStream[T_co],
        handle: Callable[[LiveExecution[T_co]], Execution[T_co]],
    ) -> None:
        self._thread, self._inner, self._handle = thread, inner, handle

    @property
    def execution(self) -> Execution[T_co]:
        """See pawl.EventStream.execution."""
        return self._handle(self._inner.execution)

    @property
    def dropped(self) -> int:
        """See pawl.EventStream.dropped."""
        return self._inner.dropped

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._thread.call(self._next())
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> Event | None:
        async for event in self._inner:
            return event
        return None

    def wait(self) -> Rest[T_co]:
        """What `await` gives of a pawl.EventStream: the run's first rest, or its last; starts it if it is not."""

        async def rest() -> Rest[T_co]:
            return await self._inner

        return self._thread.call(rest())

    def __enter__(self) -> Self:
        async def enter() -> None:
            await self._inner.__aenter__()

        self._thread.call(enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Follow the run no more; it goes on. Closing again, or when the runtime is closed, does nothing."""
        with suppress(RuntimeClosed):
            self._thread.call(self._inner.aclose())

    def __repr__(self) -> str:
        return repr(self._inner)
