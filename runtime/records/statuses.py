"""The phases of a record are the states of the `execution` machine; each is of one status."""

from __future__ import annotations

from typing import Final, assert_never

from pawl.generated import execution
from pawl.runtime.fsm.table import Kind

Phase = execution.State
"""Where the last barrier left a run."""

Move = execution.Event
"""A barrier, as what it makes of the phase; an outcome is named after what it says."""

TERMINAL: Final = frozenset(str(info.name) for info in execution.MACHINE.states if info.kind is Kind.FINAL)
"""The statuses that never change; each is its own phase."""


def status_of(phase: Phase) -> str:
    """What a record in that phase calls itself."""
    match phase:
        case Phase.PREPARING:
            return "preparing"
        case Phase.CALLING_LLM | Phase.RESUMING | Phase.DISPATCHING_TOOLS | Phase.RECOVERING:
            return "active"
        case Phase.APPROVAL:
            return "suspended"
        case Phase.COMPLETED | Phase.REJECTED | Phase.FAILED | Phase.CANCELLED | Phase.BLOCKED:
            return str(phase)
        case _:
            assert_never(phase)


STATUSES: Final = frozenset(status_of(phase) for phase in Phase)
"""All that there are."""
