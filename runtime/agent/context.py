"""What a tool is told about its call."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from typing import Any, Generic, cast

import attrs
from typing_extensions import TypeVar

from pawl.runtime.agent.freeze import freeze_mapping


class Cancellation:
    """A request to stop, set once from any thread and seen in every thread and event loop."""

    def __init__(self) -> None:
        self._asked = False
        self._event: threading.Event | None = None  # half a dozen objects, and few bodies wait for one
        self._lock = threading.Lock()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def set(self) -> None:
        """Ask to stop; asking again does nothing."""
        with self._lock:
            self._asked = True
            waiters, self._waiters = self._waiters, []
            if self._event is not None:
                self._event.set()
        for loop, waiter in waiters:
            with contextlib.suppress(RuntimeError):  # that loop is closed: nobody waits there
                loop.call_soon_threadsafe(_wake, waiter)

    @property
    def is_set(self) -> bool:
        """Whether somebody asked."""
        return self._asked

    def wait(self, timeout: float | None = None) -> bool:
        """Block this thread until somebody asks, or for `timeout` seconds. True if somebody asked."""
        with self._lock:
            if self._asked:
                return True
            event = self._event = self._event or threading.Event()
        return event.wait(timeout)

    async def wait_async(self) -> None:
        """Return when somebody asks."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        entry = (loop, waiter)
        with self._lock:
            if self._asked:
                return
            self._waiters.append(entry)
        try:
            await waiter
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._waiters.remove(entry)

    def __repr__(self) -> str:
        return f"Cancellation({'set' if self.is_set else 'not set'})"


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


Deps_co = TypeVar("Deps_co", default=Any, covariant=True)


@attrs.frozen
class ToolContext(Generic[Deps_co]):
    """What a tool may know about its call; take it as a parameter annotated with this class, or with
    `ToolContext[Deps]`, which types `deps`.

    `idempotency_key` is the same in every attempt of this call and in no other call; `attempt` counts from 1.
    `deadline` is when it will be asked to stop: the nearer of the tool's timeout and the run's deadline, in unix
    seconds, None without either. `durable_context` is what the caller gave to `start`,
    deep-frozen. `deps` is what the Runtime was given for its tools. In a unit test every field has a default.
    """

    execution_id: str = "test-execution"
    tool_call_id: str = "c1"
    idempotency_key: str = "test-key"
    attempt: int = 1
    deadline: float | None = None
    durable_context: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping)
    deps: Deps_co = attrs.field(default=cast(Any, None), repr=False)
    cancellation: Cancellation = attrs.field(factory=Cancellation, eq=False)

    @property
    def cancelled(self) -> bool:
        """Whether the call was asked to stop, by a cancellation or its timeout. The answer to it is to return soon."""
        return self.cancellation.is_set

    async def wait_cancelled(self) -> None:
        """Return when the call is asked to stop."""
        await self.cancellation.wait_async()
