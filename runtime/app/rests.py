"""The next rest of a run, wherever it runs."""

from __future__ import annotations

from typing import Any

from pawl.runtime.execution.host import Host
from pawl.runtime.execution.looks import Looks
from pawl.runtime.execution.output import current_rest
from pawl.runtime.records.rests import Rest


async def next_rest(host: Host, execution_id: str) -> Rest[Any]:
    """The rest that an execution is at, or comes to: told here, or found on record where another process runs it.

    Raises ExecutionNotFound, OutcomeUnknown when it was closed here, Superseded, RuntimeClosed, StoreError.
    """
    looks = Looks()
    while True:
        host.reloading.check_open(execution_id)
        if host.keeper.live(execution_id) is not None:
            future = host.keeper.waiting.rest(execution_id)
            try:
                return await future
            finally:
                host.keeper.waiting.forget(execution_id, future)
        rest = await host.store.read(current_rest(execution_id, host.definitions))
        if rest is not None:
            return rest
        await host.pause(looks.next())
