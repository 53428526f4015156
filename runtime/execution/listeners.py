"""Telling the application what happens: a listener that raises is reported, or fails the run, as the host says."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Final, Literal

from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.loop.log import about, place_of, raised
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.events import Event

_log = logging.getLogger("pawl.events")

Listener = Callable[[Event], None]
OnListenerError = Literal["report", "fail"]

SLOW: Final = 0.1
"""Seconds: a listener that takes longer for one event is told of, since everything else waits for it meanwhile."""


class Listeners:
    """The listeners of one runtime, called on the loop, in order, each event before the handles settle.

    A runtime has one list of them: each hears of every run, and an event names its run and agent.
    """

    def __init__(self, on_error: OnListenerError = "report") -> None:
        if on_error not in ("report", "fail"):
            raise InvalidArguments(f"on_listener_error={on_error!r:.40} is unknown; it is 'report' or 'fail'")
        self._listeners: list[Listener] = []
        self._on_error = on_error
        self.failed: Callable[[Event, BaseException], None] = lambda *_: None
        self.now: Callable[[], float] = lambda: 0.0
        self.failures = self.slow = 0
        self.longest = 0.0

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
        return lambda: self.remove(listener)

    def remove(self, listener: Listener) -> None:
        """Take a listener away: it hears nothing more. Nothing when it is not there (any more)."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """Tell everybody. One that raises is detached; with `fail`, the run that the event is about fails."""
        for listener in tuple(self._listeners):
            if listener not in self._listeners:
                continue  # one before it has taken it away
            since = self.now()
            try:
                _call(listener, event)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # CancelledError, say, out of a future that it looked at
                self._raised(listener, event, error)
            self._took(listener, event, self.now() - since)

    def _raised(self, listener: Listener, event: Event, error: BaseException) -> None:
        self.failures += 1
        self.remove(listener)
        fails = self._on_error == "fail"
        _log.warning(
            "a listener raised %s at %s, told of '%s' of execution %s; it is not called any more%s",
            type(error).__name__,
            place_of(error),
            event.kind,
            event.execution_id,
            ", and the run fails where it has not come to its rest" if fails else "",
            extra=about(event.execution_id, event.agent_id),
        )
        raised("a listener", error, event.execution_id)
        if fails:
            self.failed(event, error)

    def _took(self, listener: Listener, event: Event, seconds: float) -> None:
        self.longest = max(self.longest, seconds)
        if seconds > SLOW:
            self.slow += 1
            name = getattr(listener, "__qualname__", type(listener).__name__)
            said = "the listener %s held the loop for %.2f s at '%s' of execution %s; all runs waited for it"
            extra = about(event.execution_id, event.agent_id)
            _log.warning(said, name, seconds, event.kind, event.execution_id, extra=extra)


def _call(listener: Callable[[Event], object], event: Event) -> None:
    """Call it. What it returns is nothing, or it is a listener that somebody would have to await."""
    said = listener(event)
    if said is not None and inspect.iscoroutine(said):
        said.close()
        raise TypeError("the listener returned a coroutine, which nobody awaits")
