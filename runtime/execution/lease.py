"""This process's lease: put down at the start, renewed while it lives, taken back when it ends."""

from __future__ import annotations

import logging
import math
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
    before it acts. How long it slept two clocks tell: one may be set, the other may stand still with the machine.
    """

    def __init__(self, environment: Environment, store: Store, owner: Owner) -> None:
        self._environment, self._store, self.owner = environment, store, owner
        self._until = owner.expires_at
        self._asked: dict[float, float] = {}
        """By the end of a lease that was asked for: when that was."""
        self._lasts = environment.elapsed() + LEASE
        self.lapses = 0
        self._timer: Cancellable | None = None
        self._stopped = False

    @property
    def until(self) -> float:
        """Until when it holds, as far as is known (unix seconds)."""
        return self._until

    def renewed(self) -> Owner:
        """The row as it should stand now. Where the clock was set back, it ends earlier than it did: a lapse."""
        expires_at = self._environment.now() + LEASE
        if expires_at < self.owner.expires_at:
            self.lapses += 1
        self._asked[expires_at] = self._environment.elapsed()
        self.owner = attrs.evolve(self.owner, expires_at=expires_at)
        return self.owner

    def written(self, owner: Owner) -> None:
        """That row is on record; whether it came too late is counted in `lapses`."""
        if not self._holds():
            self.lapses += 1
        asked, now = self._asked.get(owner.expires_at, -math.inf), self._environment.elapsed()
        self._until, self._lasts = owner.expires_at, asked + LEASE
        self._asked = {expires: at for expires, at in self._asked.items() if now < at + LEASE}

    def holds_since(self, lapses: int) -> bool:
        """Whether nobody can have taken over what was claimed after so many lapses, as far as the clock says. From any
        thread.
        """
        return self.lapses == lapses and self._holds()

    def _holds(self) -> bool:
        return self._environment.now() < self._until and self._environment.elapsed() < self._lasts

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
