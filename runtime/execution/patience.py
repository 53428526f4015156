"""How long a step of application code has worked, and how long its callbacks have waited for threads."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

import attrs

from pawl.runtime.loop.environment import Cancellable

MOMENT: Final = 1e-3
"""Seconds that are not waited for any more."""


@attrs.define(eq=False)
class Step:
    """A step of work: its task, the event of its failure, and how long its callbacks have waited for a thread.

    `queued` is the callback that waits for one now, `since` when; `look` is the timer of the next look at it.
    """

    failed: str
    started: float
    job: Cancellable | None = None
    look: Cancellable | None = None
    queued: str | None = None
    since: float = 0.0
    waited: float = 0.0

    def begun(self, now: float) -> None:
        """What was queued has its thread, or is called off. From any thread."""
        if self.queued is not None:
            self.queued, self.waited = None, self.waited + max(0.0, now - self.since)

    def waits(self, now: float) -> float:
        """Seconds that it has waited."""
        return self.waited + (max(0.0, now - self.since) if self.queued is not None else 0.0)

    def call_off(self) -> None:
        """Whatever is still to come."""
        for one in (self.job, self.look):
            if one is not None:
                one.cancel()


STEP: Final[ContextVar[Step]] = ContextVar("step")
"""The step that a task is of."""
