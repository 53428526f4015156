"""How a world moves while somebody waits: everything that is ready, then the next moment at which something is due."""

from __future__ import annotations

from pawl.runtime.simulation.process import Process
from pawl.runtime.simulation.world import Stuck, World

MONTH = 30 * 86400.0

_MOMENTS = 20_000
"""Moments that one wait may take: what polls for ever ends here."""

_IDLE = 100
"""Moments in a row at which nothing but renewals and looks at the store were due."""


class Wait:
    """One wait, for something that a process does."""

    def __init__(self, world: World, process: Process, within: float) -> None:
        self._world, self._process = world, process
        self._until = world.clock.time + within
        self._moments = self._idle = 0

    def step(self) -> None:
        """Let the world go on a little. Raises Stuck when nothing will come of it, Violated."""
        if not self._world.turn():
            self.pass_time()

    def pass_time(self) -> None:
        """Go to the next moment at which something is due. Raises Stuck."""
        self._moments += 1
        if self._world.pass_time(self._until, upkeep=False):
            self._idle = 0
        else:
            self._idle += 1
            if self._idle > _IDLE or not self._world.pass_time(self._until):
                raise Stuck(self._stuck())
        if self._moments > _MOMENTS:
            raise Stuck(self._stuck())

    def _stuck(self) -> str:
        lives = self._process.executing
        where = "; ".join(f"execution {name} is in {state}" for name, state in lives) or "no execution is moving"
        return (
            f"this will not come to an end: {where}. A script that hangs, a decision that nobody makes, or code that "
            "waits for a thread or a socket, which a virtual clock knows nothing of, look like this"
        )
