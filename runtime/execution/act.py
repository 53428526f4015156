"""Acts: work that reaches outside, begun only while this process owns what it acts for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from pawl.runtime.agent.context import Cancellation
from pawl.runtime.loop.environment import Cancellable
from pawl.runtime.loop.pool import JobSkipped

Ended = Callable[[Any, "BaseException | None"], None]


class Permit(Protocol):
    """Whether this process still owns what it is about to act for: a process may have slept through its lease."""

    def holds(self) -> bool:
        """As far as the clock says. From any thread."""

    def confirm(self, then: Callable[[bool], None]) -> None:
        """Ask the store, and take the lease again; `then` gets the answer on the loop."""


class Lapsed(Exception):
    """A body was about to begin when the lease had run out: it has not begun."""


class Shop(Protocol):
    """Where acts are carried out."""

    def start(
        self,
        name: str,
        is_async: bool,
        blocking: Callable[[], Any],
        coroutine: Callable[[], Any],
        ended: Ended,
        cancellation: Cancellation | None = None,
    ) -> None:
        """Start the one or the other."""

    def hold(self, name: str, job: Cancellable, cancellation: Cancellation | None) -> None:
        """Remember what can be asked to stop."""


class Act:
    """Something that reaches outside: begun if the lease holds, or once the store has said that the agent is still
    ours.
    """

    def __init__(
        self,
        shop: Shop,
        name: str,
        permit: Permit,
        is_async: bool,
        body: Callable[[], Any],
        ended: Ended,
        cancellation: Cancellation | None = None,
    ) -> None:
        self._shop, self._name, self._permit, self._is_async = shop, name, permit, is_async
        self._body, self._ended, self._cancellation = body, ended, cancellation

    def go(self) -> None:
        """Begin, or ask whether it may."""
        if self._permit.holds():
            self._start()
        else:
            self._ask()

    def _start(self) -> None:
        self._shop.start(self._name, self._is_async, self._begin_blocking, self._begin, self._over, self._cancellation)

    def _begin_blocking(self) -> Any:
        if not self._permit.holds():
            raise Lapsed
        return self._body()

    async def _begin(self) -> Any:
        if not self._permit.holds():
            raise Lapsed
        return await self._body()

    def _over(self, value: Any, error: BaseException | None) -> None:
        if isinstance(error, Lapsed):
            self._ask()
        else:
            self._ended(value, error)

    def _ask(self) -> None:
        waiting = Waiting()
        self._shop.hold(self._name, waiting, self._cancellation)
        self._permit.confirm(partial(self._answered, waiting))

    def _answered(self, waiting: Waiting, ours: bool) -> None:
        stopped = waiting.cancelled or (self._cancellation is not None and self._cancellation.is_set)
        if ours and not stopped:
            self._start()
        else:
            self._ended(None, JobSkipped())


class Waiting:
    """Something that has not begun, because it is not known yet whether it may."""

    cancelled = False

    def cancel(self) -> None:
        """It will not begin."""
        self.cancelled = True
