"""`pawl.sync.Runtime` over a simulated process: a call lets the world go on until it is answered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from pawl.runtime.app import sync
from pawl.runtime.app.sync import _Thread
from pawl.runtime.simulation.process import Process

T = TypeVar("T")
Wait = Callable[[Process, Coroutine[Any, Any, Any]], Any]


class _NoThread(_Thread):
    """Stands where the thread of a loop would be: the caller's own thread turns the loop."""

    def __init__(self, process: Process, wait: Wait) -> None:
        self._simulated, self._wait = process, wait

    @property
    def here(self) -> bool:
        return True

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        value: T = self._wait(self._simulated, work)
        return value

    def stop(self) -> None:
        """Nothing was started."""


class SyncRuntime(sync.Runtime):
    """The blocking runtime of one simulated process."""

    def __init__(self, process: Process, wait: Wait) -> None:
        self._inner = process.runtime
        self._thread = _NoThread(process, wait)

    def __enter__(self) -> Self:
        return self  # the world has entered it
