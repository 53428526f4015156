"""Where a machine goes on with what another version of it has saved, by its `migrations`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from pawl.runtime.fsm.table import E, Machine, Migration, S


def within(state: str) -> Iterator[str]:
    """The name of a state, and of each state or use of a fragment that it is inside of, outwards."""
    while state:
        yield state
        state = state.rpartition(".")[0]


class Leads(Protocol):
    """What is said about sessions of another version."""

    @property
    def compatible(self) -> bool:
        """See Migration."""

    @property
    def states(self) -> Sequence[tuple[str, str]]:
        """See Migration."""

    @property
    def refuse(self) -> Sequence[str]:
        """See Migration."""


def led(by: Leads, state: str) -> str | None:
    """The name of the state in which a session goes on that stood in `state`; None where it is refused."""
    states = dict(by.states)
    if state in states:
        return states[state]
    named = any(name in states or name in by.refuse for name in within(state))
    return state if by.compatible and not named else None


def migration(machine: Machine[S, E], spec_hash: str) -> Migration[S] | None:
    """What `machine` says about sessions saved under `spec_hash`; None where it says nothing."""
    return next((each for each in machine.migrations if each.of(spec_hash)), None)


def onward(machine: Machine[S, E], by: Migration[S], state: str) -> S | None:
    """The state of `machine` in which a session goes on that stood in `state`; None where it is refused."""
    info = machine.state.get(led(by, state) or "")
    return info.name if info is not None else None
