"""The inbox: every message of one runtime, in one order, handled one at a time on the loop."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from pawl.runtime.loop.environment import Environment
from pawl.runtime.loop.log import place_of, raised

M = TypeVar("M")

_log = logging.getLogger("pawl.loop")


class Inbox(Generic[M]):
    """Messages from any thread; `handle` gets them on the loop and awaits nothing.

    A batch of answers from the store's thread wakes the loop once. `handled` is called whenever nothing is left to
    handle.
    """

    def __init__(
        self, environment: Environment, handle: Callable[[M], None], handled: Callable[[], None] = lambda: None
    ) -> None:
        self._environment, self._handle, self._handled = environment, handle, handled
        self._messages: deque[M] = deque()
        self._awake = False
        self._closed = False
        self._draining = False
        self.deepest = 0

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def draining(self) -> bool:
        """Whether messages are being handled now, so that `handled` is still to be called."""
        return self._draining

    def post(self, message: M) -> bool:
        """Add a message, from any thread. False when the inbox is closed: the message is not taken."""
        if self._closed:
            return False
        self._messages.append(message)
        # Two threads may both see False here and wake the loop twice: harmless. Neither can miss a wake-up, because
        # `_drain` clears the flag before it looks at the messages.
        if not self._awake:
            self._awake = True
            try:
                self._environment.wake(self._drain)
            except RuntimeError:
                return False
        return True

    def _drain(self) -> None:
        assert not self._draining, "the loop was re-entered while it was handling a message"
        self._awake = False
        self._draining = True
        try:
            self.deepest = max(self.deepest, len(self._messages))
            while self._messages or self._more():
                message = self._messages.popleft()
                try:
                    self._handle(message)
                except Exception as error:
                    said = "a message could not be handled: a %s, %s at %s"
                    _log.error(said, type(message).__name__, type(error).__name__, place_of(error))
                    raised("handling a message", error)
        finally:
            self._draining = False

    def _more(self) -> bool:
        self._handled()
        return bool(self._messages)

    def close(self) -> None:
        """Take nothing more; what is queued is dropped."""
        self._closed = True
        self._messages.clear()
