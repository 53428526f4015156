"""Telling the application what happens: a listener that raises is reported, or fails the run, as the host says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from pawl.runtime.agent.approval import is_async
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.events import Event

_log = logging.getLogger("pawl.events")

Listener = Callable[[Event], None]
OnListenerError = Literal["report", "fail"]


class Listeners:
    """The listeners of one runtime, called on the loop, in order, each event before the handles settle."""

    def __init__(self, on_error: OnListenerError = "report") -> None:
        self._listeners: list[Listener] = []
        self._on_error = on_error
        self.failed: Callable[[Event, BaseException], None] = lambda *_: None
        self.failures = 0

    @property
    def any(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; call the result to take it away again. Raises InvalidArguments for what cannot be one."""
        if not callable(listener) or is_async(listener):
            raise InvalidArguments(
                f"a listener is a plain function of an Event, which is called on the loop, not {listener!r:.80}; "
                "let it put the event into a queue, or make a task of what has to be awaited"
            )
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
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # CancelledError, say, out of a future that it looked at
                self.failures += 1
                _log.exception("a listener raised at '%s' of execution %s", event.kind, event.execution_id)
                self._listeners.remove(listener)
                if self._on_error == "fail":
                    self.failed(event, error)
