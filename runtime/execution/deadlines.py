"""Deadlines of runs: one timer for each live run that has one, whose event goes through the table like any other."""

from __future__ import annotations

import math
from collections.abc import Callable

from pawl.runtime.agent.payloads import TIME_IS_UP
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.work import Post
from pawl.runtime.loop.environment import Cancellable, Environment


class Deadlines:
    """The timers of the live sessions, by session. A run without a deadline has none."""

    def __init__(self, environment: Environment, poster: Callable[[Live], Post]) -> None:
        self._environment, self._poster = environment, poster
        self._armed: dict[str, tuple[float, Cancellable]] = {}

    def follow(self, live: Live) -> None:
        """Have the timer stand where the live record says. One that has fired is not armed again for the same time."""
        deadline = live.invocation.record.deadline
        if deadline is None and not self._armed:
            return
        armed = self._armed.get(live.session)
        if (armed[0] if armed is not None else None) == deadline:
            return
        self.forget(live.session)
        if deadline is not None:
            post = self._poster(live)
            left = max(0.0, deadline - self._environment.now())
            timer = self._environment.later(left, lambda: post("deadline_exceeded", TIME_IS_UP, None, None))
            self._armed[live.session] = (deadline, timer)

    def forget(self, session: str) -> None:
        """The session is over, or at rest."""
        armed = self._armed.pop(session, None)
        if armed is not None:
            armed[1].cancel()

    def __len__(self) -> int:
        return len(self._armed)


def nearer(first: float | None, second: float | None) -> float | None:
    """The earlier of two times, None where there is none."""
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)


def deadline_of(now: float, timeout: float | None) -> float | None:
    """When a run that starts now has had its time; None when it may take as long as it likes."""
    return None if timeout is None or timeout == math.inf else now + timeout
