"""This process's lease: put down at the start, renewed while it lives, taken back when it ends."""

from __future__ import annotations

import logging
from typing import Any

import attrs

from pawl.runtime.loop.environment import Cancellable, Environment
from pawl.runtime.records.agents import Owner
from pawl.runtime.store.answers import Answer, Committed
from pawl.runtime.store.ownership import LEASE, RENEW_EVERY, renew
from pawl.runtime.store.port import Operation, Store, Transaction

_log = logging.getLogger("pawl.lease")


def take_back(owner_id: str) -> Operation[None]:
    """Remove the lease: what this process still owned is anybody's at once."""

    def run(tx: Transaction) -> None:
        tx.owners.delete(owner_id)

    return run


class Lease:
    """Renews the owner row every RENEW_EVERY seconds. A renewal that fails is tried again at the next.

    The fence guards what is written, the lease what is started: a process that slept through its lease asks the store
    before it acts.
    """

    def __init__(self, environment: Environment, store: Store, owner: Owner) -> None:
        self._environment, self._store, self.owner = environment, store, owner
        self._until = owner.expires_at
        self.lapses = 0
        self._timer: Cancellable | None = None
        self._stopped = False

    @property
    def until(self) -> float:
        """Until when it holds, as far as is known (unix seconds)."""
        return self._until

    def renewed(self) -> Owner:
        """The row as it should stand now."""
        self.owner = attrs.evolve(self.owner, expires_at=self._environment.now() + LEASE)
        return self.owner

    def written(self, owner: Owner) -> None:
        """That row is on record; whether it came too late is counted in `lapses`."""
        if self._environment.now() >= self._until:
            self.lapses += 1
        self._until = max(self._until, owner.expires_at)

    def holds_since(self, lapses: int) -> bool:
        """Whether nobody can have taken over what was claimed after so many lapses, as far as the clock says. From any
        thread.
        """
        return self.lapses == lapses and self._environment.now() < self._until

    def keep(self) -> None:
        """Begin to renew."""
        self._timer = self._environment.later(RENEW_EVERY, self._renew)

    def _renew(self) -> None:
        if self._stopped:
            return
        owner = self.renewed()

        def answer(said: Answer[Any]) -> None:
            if isinstance(said, Committed):
                self.written(owner)
            else:
                _log.warning("the lease of %s could not be renewed: %s", owner.owner_id, type(said).__name__)

        self._store.submit(renew(owner), answer)
        self.keep()

    def stop(self) -> None:
        """Renew no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
