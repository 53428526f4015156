"""Slots: whose turn it is to run a tool with limits, in this process. First come, first served, over all executions."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

import attrs

from pawl.runtime.agent.rate import Limit
from pawl.runtime.loop.environment import Cancellable, Environment


@attrs.define(eq=False)
class _Queue:
    """One limit: who waits for it, who holds a slot of it, and when its last slots were granted (unix seconds)."""

    limit: Limit
    waiting: OrderedDict[str, Callable[[], None]] = attrs.Factory(OrderedDict)
    holding: set[str] = attrs.Factory(set)
    granted: deque[float] = attrs.Factory(deque)
    timer: Cancellable | None = None


class Slots:
    """The slots of one runtime. All methods run on the loop; names are those of tool invocations."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._queues: dict[Limit, _Queue] = {}
        self._queue_of: dict[str, _Queue] = {}

    @property
    def waiting(self) -> int:
        """How many calls wait for their turn."""
        return sum(len(queue.waiting) for queue in self._queues.values())

    def request(self, limit: Limit, name: str, granted: Callable[[], None]) -> None:
        """Wait for a slot; `granted` is called when it is there, at once if one is free. It lasts until `release`."""
        self.release(name)
        queue = self._queues.setdefault(limit, _Queue(limit))
        self._queue_of[name] = queue
        queue.waiting[name] = granted
        self._serve(queue)

    def release(self, name: str) -> bool:
        """Give a slot back, or wait for none any more; once only. False where there was nothing to give back."""
        queue = self._queue_of.pop(name, None)
        if queue is None:
            return False
        queue.waiting.pop(name, None)
        queue.holding.discard(name)
        self._serve(queue)
        return True

    def _serve(self, queue: _Queue) -> None:
        """Grant what can be granted, in order; where only time is missing, look again when it has passed."""
        while queue.waiting and self._has_room(queue):
            wait = self._wait(queue)
            if wait > 0:
                return self._later(queue, wait)
            name, granted = queue.waiting.popitem(last=False)
            queue.holding.add(name)
            if queue.limit.rate is not None:
                queue.granted.append(self._environment.now())
            granted()
        if queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None
        if not queue.waiting and not queue.holding and not queue.granted:
            self._queues.pop(queue.limit, None)
        return None

    @staticmethod
    def _has_room(queue: _Queue) -> bool:
        most = queue.limit.max_concurrent
        return most is None or len(queue.holding) < most

    def _wait(self, queue: _Queue) -> float:
        """Seconds until the rate allows one more start."""
        rate = queue.limit.rate
        if rate is None:
            return 0.0
        while len(queue.granted) > rate.count:
            queue.granted.popleft()
        if len(queue.granted) < rate.count:
            return 0.0
        now = self._environment.now()
        if queue.granted[-1] > now:  # the clock was set back: nobody waits for it to catch up
            queue.granted = deque(min(at, now) for at in queue.granted)
        return queue.granted[0] + rate.per - now

    def _later(self, queue: _Queue, seconds: float) -> None:
        def due() -> None:
            queue.timer = None
            self._serve(queue)

        if queue.timer is None:
            queue.timer = self._environment.later(seconds, due)
