"""The status of a record moves by the rows of the `execution` machine and by nothing else."""

from __future__ import annotations

from functools import cache

from pawl.generated.execution import MACHINE, State
from pawl.runtime.fsm.step import advance
from pawl.runtime.fsm.table import Kind

TERMINAL = frozenset(str(info.name) for info in MACHINE.states if info.kind is Kind.FINAL)
"""The statuses that never change."""

STATUSES = frozenset(str(info.name) for info in MACHINE.states)
"""All that there are."""


@cache
def moved(status: str, event: str) -> str:
    """The status after `event`. Raises UnhandledEvent when the table has no such move."""
    return str(advance(MACHINE, State(status), None, event).state)
