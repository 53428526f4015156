"""The barrier protocol: the machine that every barrier expands to, and the names that mean something in it."""

from __future__ import annotations

import attrs

from pawl.tools.compiler.model import MachineModel

STOP = "stop_requested"
"""The protocol's event that stands for every stop event of the machine that has the barrier."""
LOST = "ownership_lost"
"""The protocol's event that stands for the machine's own loss of ownership."""
STOP_NOTED = "stop_noted"
"""The guard that a stop was noted while the store had not answered."""
APPLY = "apply_answer"
"""The action that becomes `apply_<barrier>`."""
APPLY_PREFIX = "apply_"
PREPARE = "prepare_"
"""Prefix of the row action that makes a barrier's command, on every row that leads into it."""
APPLIED, STOPPED, WITHDRAWN = "applied", "stopped", "withdrawn"
"""The final states that are not named after a key: the barrier state itself, its `stop` and its `unwritten` target."""

FINALS = (APPLIED, STOPPED, WITHDRAWN, "refused", "conflict", "superseded")


@attrs.frozen
class Protocol:
    """The protocol as a machine; `inner` names the states that every barrier state gets, in order."""

    machine: MachineModel
    inner: tuple[str, ...]

    def confirms(self, inner: str, event: str | None) -> bool:
        """Whether `event` in the inner state tells that the write is on disk."""
        rows = self.machine.rows_of(inner)
        return any(row.event == event and row.target == APPLIED for row in rows)
