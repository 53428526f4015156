"""Reading the counters of a runtime: one frozen value of all of them, as they stand now."""

from __future__ import annotations

from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.execution.stats import Batches, LeaseState, Stats


def stats_of(keeper: Keeper) -> Stats:
    """The counters of a keeper and of what works beside it. On the loop; costs some microseconds."""
    counters, listeners, outbox, lease = keeper.counters, keeper.listeners, keeper.outbox, keeper.lease
    return Stats(
        executing=len(keeper.executing),
        moving=keeper.moving,
        started=counters.started,
        adopted=counters.adopted,
        rested=dict(counters.rested),
        ended=dict(counters.ended),
        closed=counters.closed,
        dropped=dict(counters.dropped),
        model_retries=counters.model_retries,
        barrier_retries=dict(counters.barrier_retries),
        barriers={name: meter.read() for name, meter in dict(counters.barriers).items()},
        batches=Batches(count=outbox.batches, operations=outbox.operations, largest=outbox.largest),
        inbox=len(keeper.inbox),
        inbox_deepest=keeper.inbox.deepest,
        store_waiting=max(0, counters.submitted - counters.answered),
        pool=keeper.environment.offloaded(),
        listener_failures=listeners.failures,
        listener_slow=listeners.slow,
        listener_longest=listeners.longest,
        lease=LeaseState(owner=lease.owner.owner_id, expires_at=lease.until, lapses=lease.lapses),
        gauges={name: read() for name, read in counters.gauges.items()},
    )
