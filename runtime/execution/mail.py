"""What goes through the inbox for one session, and who posts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pawl.runtime.execution.heart import Message


class Mail(NamedTuple):
    """A message for the session of one execution."""

    execution_id: str
    message: Message


class Poster:
    """A sink bound to one incarnation: what it brings later is dropped when another has taken over.

    Called with an event, its payload, the child that it is for, and the operation that it ends.
    """

    __slots__ = ("_execution_id", "_now", "_post", "_session")

    def __init__(
        self, execution_id: str, session: str, now: Callable[[], float], post: Callable[[Mail], object]
    ) -> None:
        self._execution_id, self._session, self._now, self._post = execution_id, session, now, post

    def __call__(self, event: str, payload: object, child: str | None, settles: str | None) -> None:
        """Post it; from any thread."""
        message = Message(self._session, event, payload, self._now(), child, settles)
        self._post(Mail(self._execution_id, message))
