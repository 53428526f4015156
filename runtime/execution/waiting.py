"""Who waits for what: starts that wait for their admission, and handles that wait for the next rest."""

from __future__ import annotations

import asyncio
from typing import Any

from pawl.runtime.loop.environment import Environment
from pawl.runtime.records.rests import Rest


class Waiting:
    """Futures by execution id; each is settled once, and nobody's cancellation touches another's."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._starts: dict[str, asyncio.Future[None]] = {}
        self._rests: dict[str, list[asyncio.Future[Rest[Any]]]] = {}
        self._answering: dict[str, asyncio.Future[Rest[Any]]] = {}
        self._over: Exception | None = None

    def start(self, execution_id: str) -> asyncio.Future[None]:
        """A future that is done when the admission has committed, and fails when it was refused.

        Raises what `fail_all` was given: nothing is started after that.
        """
        if self._over is not None:
            raise self._over
        future: asyncio.Future[None] = self._environment.future()
        future.add_done_callback(_retrieved)
        self._starts[execution_id] = future
        return future

    def starting(self, execution_id: str) -> asyncio.Future[None] | None:
        """That future while the admission is not answered, else None."""
        return self._starts.get(execution_id)

    def rest(self, execution_id: str, *, answering: bool = False) -> asyncio.Future[Rest[Any]]:
        """A future of the execution's next rest; `answering` when the caller's own answer leads there."""
        future: asyncio.Future[Rest[Any]] = self._environment.future()
        future.add_done_callback(_retrieved)
        if self._over is not None:
            future.set_exception(self._over)
            return future
        self._rests.setdefault(execution_id, []).append(future)
        if answering:
            self._answering[execution_id] = future
        return future

    def forget(self, execution_id: str, future: asyncio.Future[Rest[Any]]) -> None:
        """Whoever waited for it does not any more."""
        waiting = self._rests.get(execution_id)
        if waiting is not None and future in waiting:
            waiting.remove(future)
            if not waiting:
                del self._rests[execution_id]

    def begun(self, execution_id: str) -> None:
        """The admission has committed."""
        future = self._starts.pop(execution_id, None)
        if future is not None and not future.done():
            future.set_result(None)

    def settle(
        self, execution_id: str, rest: Rest[Any] | None, error: Exception | None, refusal: Exception | None = None
    ) -> None:
        """A rest was reached, or none will be here. A `refusal` is only for the caller whose answer was refused."""
        answering = self._answering.pop(execution_id, None)
        if refusal is not None and answering is not None and not answering.done():
            answering.set_exception(refusal)
        futures: list[asyncio.Future[Any]] = list(self._rests.pop(execution_id, ()))
        start = self._starts.pop(execution_id, None)
        if start is not None:
            futures.insert(0, start)
        for future in futures:
            if future.done() or future.get_loop().is_closed():
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(rest)

    def fail_all(self, error: Exception) -> None:
        """Nothing more will come, neither to who waits nor to who would wait from now on."""
        self._over = error
        for execution_id in [*self._rests, *self._starts]:
            self.settle(execution_id, None, error)


def _retrieved(future: asyncio.Future[Any]) -> None:
    # A handle that nobody awaits is no mistake: its outcome is on record.
    if not future.cancelled():
        future.exception()
