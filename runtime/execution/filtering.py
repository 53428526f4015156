"""A tool's result on its way through its filters: one after another, off the loop, each to its physical end."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from pawl.runtime.agent.callback import Callback
from pawl.runtime.agent.result_filters import ResultQuery, Withheld, passed
from pawl.runtime.execution.patience import MOMENT
from pawl.runtime.loop.environment import Cancellable, Environment
from pawl.runtime.loop.log import about, place_of
from pawl.runtime.loop.log import raised as tell_raised
from pawl.runtime.loop.pool import JobSkipped
from pawl.runtime.records.errors import ToolError

_log = logging.getLogger("pawl.execution")

Ended = Callable[["str | None", "BaseException | None"], None]


@attrs.frozen
class Returned:
    """What a body returned, and the text that it is."""

    value: Any
    text: str


class Filtering:
    """The filters of one call, in order. `ended` hears of the filtered text, or of the error that takes its place.

    A filter that has had `timeout` seconds is asked to stop, and `expired` is called; its end is waited for. For a
    thread it waits as long again at most, and is not asked at all if it gets none. A stop of the run does not stop a
    filter: the tool did run, and what it did is recorded.
    """

    def __init__(
        self,
        environment: Environment,
        filters: Sequence[Callback],
        query: ResultQuery,
        limit: int,
        timeout: float,
        expired: Callable[[], None],
        ended: Ended,
    ) -> None:
        self._environment, self._filters, self._query, self._limit = environment, list(filters), query, limit
        self._timeout, self._expired, self._ended = timeout, expired, ended

    def begin(self, returned: Returned) -> None:
        """Let the first filter see it."""
        self._query = attrs.evolve(self._query, value=returned.value)
        self._next(returned.text)

    def _next(self, text: str) -> None:
        if not self._filters:
            return self._ended(text, None)
        callback = self._filters.pop(0)
        stage = _Stage(self, self._environment, callback, self._timeout)
        try:
            stage.job = self._start(callback, text, stage)
        except Exception as error:  # back-pressure, or a closed pool: it was not asked, so nothing goes on
            return self._failed(f"the {callback.where} could not be asked: {type(error).__name__}")
        stage.look_in(self._timeout)
        return None

    def _start(self, callback: Callback, text: str, stage: _Stage) -> Cancellable:
        query = self._query

        async def ask() -> Any:
            answer = callback.call(text, query)
            return await answer if inspect.isawaitable(answer) else answer

        def ask_blocking() -> Any:
            stage.begin()
            answer = callback.call(text, query)
            if inspect.iscoroutine(answer):
                answer.close()  # nobody will await it; its type is the error
            return answer

        if callback.is_async:
            stage.begin()
            return self._environment.spawn(ask(), stage.over)
        return self._environment.offload(ask_blocking, stage.over)

    def expire(self) -> None:
        """A filter takes too long."""
        self._expired()

    def over(self, callback: Callback, answer: object, error: BaseException | None, late: bool) -> None:
        """A filter has physically ended."""
        if isinstance(error, JobSkipped) and late:
            return self._failed(f"no thread was free for the {callback.where} within {self._timeout:g} s")
        if error is not None and late:
            return self._failed(f"the {callback.where} took over {self._timeout:g} s")
        if error is not None:
            # Nothing of its text: it may quote what was to be filtered.
            _log.warning(
                "the %s failed with %s at %s; a result of %s is withheld",
                callback.where,
                type(error).__name__,
                place_of(error),
                self._query.tool,
                extra=about(self._query.execution_id, self._query.agent_id),
            )
            tell_raised(callback.where, error, self._query.execution_id)
            return self._failed(f"the {callback.where} failed with {type(error).__name__}")
        try:
            said = passed(answer, callback, self._limit)
        except ToolError as refused:
            return self._ended(None, refused)
        except BaseException as raised:  # the answer's own code: nobody else would hear of it
            return self._failed(f"the {callback.where} returned what raises {type(raised).__name__} when it is read")
        if isinstance(said, Withheld):
            return self._ended(said.text, None)
        self._query = attrs.evolve(self._query, value=None)
        return self._next(said)

    def _failed(self, why: str) -> None:
        self._ended(None, ToolError(f"{why}; the result is withheld"))


class _Stage:
    """One filter at work, or waiting for a thread."""

    job: Cancellable | None = None
    _timer: Cancellable | None = None
    _begun: float | None = None

    def __init__(self, filtering: Filtering, environment: Environment, callback: Callback, timeout: float) -> None:
        self._filtering, self._environment, self._callback = filtering, environment, callback
        self._timeout = timeout
        self._late = self._over = False

    def begin(self) -> None:
        """It has its thread, or needs none. From any thread."""
        self._begun = self._environment.now()

    def look_in(self, seconds: float) -> None:
        """Look again whether it takes too long."""
        self._timer = self._environment.later(seconds, self._look)

    def _look(self) -> None:
        if self._over or self.job is None:
            return None
        if self._begun is None:
            if self.job.cancel() is False:  # just now
                return self.look_in(self._timeout)
        else:
            left = self._begun + self._timeout - self._environment.now()
            if left > MOMENT:
                return self.look_in(left)
            self.job.cancel()
        self._late = True
        return self._filtering.expire()

    def over(self, answer: object, error: BaseException | None) -> None:
        """It has ended."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        self._filtering.over(self._callback, answer, error, self._late)
