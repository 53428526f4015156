"""Telling the application what happens: a listener that raises is reported, or fails the run, as the host says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from pawl.runtime.records.events import Event

_log = logging.getLogger("pawl.events")

Listener = Callable[[Event], None]
OnListenerError = Literal["report", "fail"]


class Listeners:
    """The listeners of one runtime, called on the loop, in order, each event before the handles settle."""

    def __init__(self, on_error: OnListenerError = "report") -> None:
        self._listeners: list[Listener] = []
        self._on_error = on_error
        self.failed: Callable[[Event, Exception], None] = lambda *_: None
        self.failures = 0

    @property
    def any(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; call the result to take it away again."""
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def tell(self, event: Event) -> None:
        """Tell everybody. One that raises is detached; with `fail`, the run that the event is about fails."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                self.failures += 1
                _log.exception("a listener raised at '%s' of execution %s", event.kind, event.execution_id)
                self._listeners.remove(listener)
                if self._on_error == "fail":
                    self.failed(event, error)
