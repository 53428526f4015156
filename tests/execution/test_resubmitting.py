"""What is submitted again is the same command under a new commit token: late answers to it are told apart."""

from __future__ import annotations

from typing import Any

import pytest

from execution.programs import barriers, clerk, run
from pawl.runtime.simulation.faults import Do, Fault
from pawl.runtime.simulation.store import command_of
from pawl.runtime.simulation.world import World

CLERK = clerk()


class Tokens(World):
    """A world that writes down the commit token of every submission of a barrier."""

    def __init__(self, *faults: Fault) -> None:
        self.tokens: list[tuple[str, str]] = []
        super().__init__(CLERK, faults=faults)

    def submitted(self, process: str, operation: Any) -> None:
        super().submitted(process, operation)
        command: Any = command_of(operation)
        if hasattr(command, "barrier") and operation.__name__ == "run":
            self.tokens.append((command.barrier, command.token))


def tokens(*faults: Fault) -> list[tuple[str, str]]:
    """What was submitted in a run, in order."""
    with Tokens(*faults) as world:
        run(world, CLERK)
        assert not world.faults.unmet
        return world.tokens


with World(CLERK) as undisturbed:
    run(undisturbed, CLERK)
    BARRIERS = barriers(undisturbed)


@pytest.mark.parametrize("do", ["unavailable", "lose_reply_rolled_back"])
@pytest.mark.parametrize("at", BARRIERS)
def test_every_submission_has_a_commit_token_of_its_own(at: str, do: Do) -> None:
    submitted = tokens(Fault(at, do))
    name = at.partition("#")[0]
    assert sum(barrier == name for barrier, _ in submitted) == sum(b.startswith(f"{name}#") for b in BARRIERS) + 1
    assert len({token for _, token in submitted}) == len(submitted)
