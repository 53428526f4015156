"""How long a lease holds, by two clocks: one that may be set, and one that may stand still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pawl.runtime.execution.lease import Lease
from pawl.runtime.records.agents import Owner
from pawl.runtime.simulation.clock import Clock, VirtualLoop
from pawl.runtime.simulation.environment import SimulatedEnvironment
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.ownership import LEASE


class Clocks(SimulatedEnvironment):
    """An environment whose two clocks are set apart."""

    wall, passed = 1000.0, 0.0

    def now(self) -> float:
        return self.wall

    def elapsed(self) -> float:
        return self.passed

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.passed += seconds


@pytest.fixture
def clocks() -> Iterator[Clocks]:
    loop = VirtualLoop(Clock())
    yield Clocks(loop, "p1-", 1, lambda owner: False)
    loop.close()


def renewed(clocks: Clocks) -> Lease:
    lease = Lease(clocks, MemoryStore(inline=True), Owner("me", "here", 1, 0.0, clocks.now() + LEASE))
    lease.written(lease.renewed())
    return lease


def test_a_lease_holds_for_its_time_after_its_last_renewal(clocks: Clocks) -> None:
    lease = renewed(clocks)
    for _ in range(3):
        clocks.pass_by(LEASE - 1)
        assert lease.holds_since(0)
        lease.written(lease.renewed())
    clocks.pass_by(LEASE)
    assert not lease.holds_since(0)


@pytest.mark.parametrize("jump", [-5 * 3600, 5 * 3600])
def test_setting_the_clock_makes_no_lease_longer(clocks: Clocks, jump: float) -> None:
    lease = renewed(clocks)
    clocks.wall += jump
    clocks.pass_by(LEASE)
    assert not lease.holds_since(0)
    lease.written(lease.renewed())
    assert lease.lapses > 0
    assert lease.holds_since(lease.lapses)


def test_a_lease_does_not_outlast_the_sleep_of_a_machine(clocks: Clocks) -> None:
    lease = renewed(clocks)
    clocks.wall += LEASE  # the other clock stood still meanwhile
    assert not lease.holds_since(0)


def test_a_lease_that_ends_earlier_than_before_has_lapsed(clocks: Clocks) -> None:
    lease = renewed(clocks)
    clocks.wall -= 60
    lease.written(lease.renewed())
    assert not lease.holds_since(0)  # others may have taken it to be over


def test_a_renewal_that_was_answered_late_lasts_from_when_it_was_asked_for(clocks: Clocks) -> None:
    lease = renewed(clocks)
    asked = lease.renewed()
    clocks.pass_by(LEASE - 1)
    lease.written(asked)
    assert lease.holds_since(0)
    clocks.pass_by(1)
    assert not lease.holds_since(0)
