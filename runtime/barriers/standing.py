"""What every barrier writes about where a run stands: its phase and status, and whether its time runs."""

from __future__ import annotations

import attrs

from pawl.generated.execution import MACHINE
from pawl.runtime.barriers.clocks import paused, resumed
from pawl.runtime.barriers.decide import fully_decided
from pawl.runtime.fsm.step import advance
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.statuses import Move, Phase, status_of


@attrs.frozen
class Decisions:
    """What the `execution` machine asks about a record; it has no actions."""

    record: ExecutionRecord

    def undecided_left(self, _: object) -> bool:
        """Some item still waits, and no rejection has made the others moot."""
        return not fully_decided(self.record)


def moved(record: ExecutionRecord, move: Move, now: float) -> ExecutionRecord:
    """The record as that barrier leaves it; decisions that it is about are in the record already.

    Raises UnhandledEvent when the table has no such move from where the record stands, ValueError where it stands in
    no phase that is known here.
    """
    phase = advance(MACHINE, Phase(record.phase), Decisions(record), move).state
    clock = paused(record, now) if phase is Phase.APPROVAL else resumed(record, now)
    return replace(record, phase=str(phase), status=status_of(phase), **clock)
