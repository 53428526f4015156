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
    """Renews the owner row every RENEW_EVERY seconds.

    A renewal that fails is tried again at the next turn: it is the fence that guards, not the lease.
    """

    def __init__(self, environment: Environment, store: Store, owner: Owner) -> None:
        self._environment, self._store, self.owner = environment, store, owner
        self._timer: Cancellable | None = None
        self._stopped = False

    def renewed(self) -> Owner:
        """The row as it should stand now."""
        self.owner = attrs.evolve(self.owner, expires_at=self._environment.now() + LEASE)
        return self.owner

    def keep(self) -> None:
        """Begin to renew."""
        self._timer = self._environment.later(RENEW_EVERY, self._renew)

    def _renew(self) -> None:
        if self._stopped:
            return

        def answer(said: Answer[Any]) -> None:
            if not isinstance(said, Committed):
                _log.warning("the lease of %s could not be renewed: %s", self.owner.owner_id, said)

        self._store.submit(renew(self.renewed()), answer)
        self.keep()

    def stop(self) -> None:
        """Renew no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
