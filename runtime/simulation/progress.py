"""Whether everything moves that should: at rest, an open execution waits for somebody, or for something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pawl.runtime.execution.heart import Live
from pawl.runtime.records.errors import OutcomeUnknown
from pawl.runtime.simulation.invariants import Violated
from pawl.runtime.simulation.process import Process
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
            leaving = any(slot.execution_id == execution_id for slot in keeper.registry._slots.values())  # noqa: SLF001
            if keeper.live(execution_id) is None and not leaving and not all(handle.done() for handle in handles):
                raise Violated(f"I10: a handle of {execution_id} waits in {process.name}, where nothing will settle it")
        for live in keeper.executing:
            waits = keeper._timers.armed(live.session) or (_waits(live) and _can_move(world, process))  # noqa: SLF001
            if not keeper.closed(live.execution_id) and not waits:
                calls = ", ".join(f"{name} {child.state}" for name, child in live.children.items()) or "none"
                raise Violated(f"progress: {live.execution_id} waits for nothing in {live.state}; its calls: {calls}")


def check_left(world: World) -> None:
    """Look at every open execution that no process runs, after time enough for leases to run out: whoever can go on
    with one has done so.

    Raises Violated for one that nobody has taken up, though it waits for nobody, and nobody has said why not.
    """
    up = [process for process in world.processes if process.alive and not process.paused and not process.closed]
    if not up or world.invariants.tampered or not _left(world, up):
        return
    world.faults.forget()
    world.advance(_LEASES)
    for execution_id in _left(world, up):
        raise Violated(f"progress: {execution_id} is open, and nobody goes on with it")


_LEASES: Final = 65.0
"""Virtual seconds after which leases have run out, and every process has looked for what was left."""


def _left(world: World, up: Sequence[Process]) -> list[str]:
    """Open executions that no process runs and that wait for nobody, without those that are refused for a reason."""
    refused = {execution_id: error for process in up for execution_id, error in process.refused.items()}
    for execution_id, error in refused.items():
        if isinstance(error, OutcomeUnknown):
            raise Violated(f"internal: {execution_id}: {error}")
    return [
        record.execution_id
        for record, awaiting in world.store.read(lambda tx: tx.executions.list(open_only=True, limit=10_000))
        if awaiting is None
        and record.execution_id not in refused
        and not any(process.keeper.live(record.execution_id) for process in world.processes if process.alive)
    ]


def _waits(live: Live) -> bool:
    """Whether anything is to come that will move it."""
    if live.invocation.operations or live.invocation.unanswered:
        return True
    return any(child.invocation.unanswered for child in live.children.values())


def _can_move(world: World, process: Process) -> bool:
    """Whether anything comes, ever: a timer, code that runs or is held, an answer of the store."""
    keeper = process.keeper
    working = keeper.busy or keeper._workshop.queued or process.loop.due is not None  # noqa: SLF001 - the kit looks in
    return bool(working or process.store.outstanding or world.parked(process))
