"""Stored runs of other versions of the machine: where each one stands, and whether this version goes on with it.

A record has no state of the machine in it: whoever goes on classifies the run by what is on record of it. So a run
stands where its last barrier left it, or, at rest, in the state in which it waits. Where the `migrations` of the spec
lead that state on, the run is taken over, and is this version's from its next commit on; until then its record keeps
the hash that wrote it.
"""

from __future__ import annotations

from typing import Final, assert_never

from pawl.generated.agent_invocation import MACHINE, State
from pawl.runtime.fsm.evolution import migration, onward
from pawl.runtime.records.errors import SpecMismatch
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.statuses import Phase


def left_in(phase: Phase) -> State | None:
    """The state in which the barrier that wrote this phase left the run; None for one that has ended.

    A version whose spec calls such a state otherwise writes another phase; the old one stays in `execution.yaml`,
    though no row leads there any more, and here, for what was written before.
    """
    match phase:
        case Phase.PREPARING:
            return State.ADMITTING
        case Phase.CALLING_LLM:
            return State.CALLING_LLM
        case Phase.APPROVAL:
            return State.SUSPENDED
        case Phase.RESUMING:
            return State.DECIDING
        case Phase.DISPATCHING_TOOLS:
            return State.DISPATCHING_TOOLS
        case Phase.RECOVERING:
            return State.RESOLVING
        case Phase.COMPLETED | Phase.REJECTED | Phase.FAILED | Phase.CANCELLED | Phase.BLOCKED:
            return None
        case _:
            assert_never(phase)


STANDS: Final = {str(phase): str(left_in(phase)) for phase in Phase if left_in(phase) is not None}
"""The phases that an open run can have on record, and the state that each means."""

WAITS: Final[dict[Awaiting, State]] = {"approval": State.SUSPENDED, "resolution": State.AWAITING_RESOLUTION}
"""The state of this machine in which a run rests that waits for that."""


def stands(record: ExecutionRecord, awaiting: Awaiting | None = None) -> str | None:
    """The state that an open run stands in, of the spec that wrote it; None for a phase that is not known here."""
    return State.AWAITING_RESOLUTION if awaiting == "resolution" else STANDS.get(record.phase)


def goes_on(record: ExecutionRecord, awaiting: Awaiting | None = None) -> State | None:
    """The state of this machine that an open run of another version stands in; None for a run of this very one.

    Raises SpecMismatch for a run that this version leaves alone.
    """
    if (record.machine, record.spec_hash) == (MACHINE.name, MACHINE.spec_hash):
        return None
    by = migration(MACHINE, record.spec_hash) if record.machine == MACHINE.name else None
    if by is None:
        raise _mismatch(record, "which takes over none of that one")
    stood = stands(record, awaiting)
    state = onward(MACHINE, by, stood) if stood is not None else None
    if state is None:
        raise _mismatch(record, f"which takes over none that stand in '{stood or record.phase}'")
    if awaiting is not None and state is not WAITS[awaiting]:
        raise _mismatch(record, f"which leads '{stood}' to '{state}', and there nothing waits for {awaiting}")
    return state


def refusal(record: ExecutionRecord, awaiting: Awaiting | None = None) -> str | None:
    """Why this version leaves an open run alone; None where it does not."""
    try:
        goes_on(record, awaiting)
    except SpecMismatch as error:
        return str(error)
    return None


def under_this_spec(record: ExecutionRecord) -> ExecutionRecord:
    """The record as this version writes it."""
    if record.spec_hash == MACHINE.spec_hash:
        return record
    return replace(record, machine=MACHINE.name, spec_hash=MACHINE.spec_hash)


def _mismatch(record: ExecutionRecord, why: str) -> SpecMismatch:
    return SpecMismatch(
        f"execution {record.execution_id} was written under {record.machine} {record.spec_hash[:12]}, this is "
        f"{MACHINE.name} {MACHINE.spec_hash[:12]}, {why}; finish it with the version that wrote it"
    )
