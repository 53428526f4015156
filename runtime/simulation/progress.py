"""Whether everything moves that should: at rest, an open execution waits for somebody, or for something."""

from __future__ import annotations

from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.simulation.invariants import Violated
from pawl.runtime.simulation.world import World


def check_progress(world: World) -> None:
    """Look at every execution that a living process runs, while nothing moves without the passing of time.

    Raises Violated for one that is neither closed nor waits for an operation, an answer of the store, or a timer, and
    for a handle that nobody will settle.
    """
    for process in world.processes:
        if not process.alive or process.paused or process.closed:
            continue
        keeper = process.keeper
        for execution_id, handles in keeper.waiting._rests.items():  # noqa: SLF001 - the kit looks in
            if keeper.live(execution_id) is None and not all(handle.done() for handle in handles):
                raise Violated(f"I10: a handle of {execution_id} waits in {process.name}, where nothing will settle it")
        for live in keeper.executing:
            if not keeper.closed(live.execution_id) and not _waits(keeper, live):
                calls = ", ".join(f"{name} {child.state}" for name, child in live.children.items()) or "none"
                raise Violated(f"progress: {live.execution_id} waits for nothing in {live.state}; its calls: {calls}")


def _waits(keeper: Keeper, live: Live) -> bool:
    """Whether anything is on its way that will move it."""
    invocation = live.invocation
    if invocation.operations or invocation.unanswered or keeper._timers.armed(live.session):  # noqa: SLF001 - the kit looks in
        return True
    return any(child.invocation.unanswered for child in live.children.values())
