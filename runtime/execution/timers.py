"""Timers that the tables ask for: each brings its event to the session that armed it, for a state or a call's state."""

from __future__ import annotations

from functools import partial

from pawl.runtime.execution.heart import ArmTimer, DisarmTimer
from pawl.runtime.execution.work import Post
from pawl.runtime.loop.environment import Cancellable, Environment

_Key = tuple[str | None, str]
"""A call, None for the run itself, and the state."""


class Timers:
    """The armed timers of the live sessions, by session."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._armed: dict[str, dict[_Key, Cancellable]] = {}

    def __len__(self) -> int:
        return len(self._armed)

    def armed(self, session: str) -> bool:
        """Whether a session waits for any."""
        return bool(self._armed.get(session))

    def arm(self, session: str, timer: ArmTimer, post: Post) -> None:
        """Have `post` get the timer's event when it is due; the one before it of that state is forgotten."""
        key = timer.child, timer.state
        self._disarm(session, key)
        due = partial(self._due, session, key, timer.event, post)
        self._armed.setdefault(session, {})[key] = self._environment.later(timer.seconds, due)

    def disarm(self, session: str, timer: DisarmTimer) -> None:
        """Forget the timer of a state, where there is one."""
        self._disarm(session, (timer.child, timer.state))

    def forget(self, session: str) -> None:
        """The session is over, or at rest."""
        for timer in self._armed.pop(session, {}).values():
            timer.cancel()

    def _disarm(self, session: str, key: _Key) -> None:
        timer = self._armed.get(session, {}).pop(key, None)
        if timer is not None:
            timer.cancel()

    def _due(self, session: str, key: _Key, event: str, post: Post) -> None:
        if self._armed.get(session, {}).pop(key, None) is not None:
            post(event, None, key[0], None)
