"""The live slots of this process: one an agent, moved by the rows of the `admission` machine and by nothing else."""

from __future__ import annotations

from typing import Final

import attrs

from pawl.generated.admission import MACHINE, Event, State
from pawl.runtime.fsm.step import advance, can
from pawl.runtime.records.errors import AgentBusy

HERE: Final = "this process"
"""The owner that AgentBusy names when it is this one."""


@attrs.frozen
class Slot:
    """Who holds an agent here, and in which state of admission."""

    state: State
    execution_id: str


class Registry:
    """Agent id to its slot; an agent without one is vacant."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def slot(self, agent_id: str) -> Slot | None:
        """The agent's slot, None when vacant."""
        return self._slots.get(agent_id)

    def holds(self, agent_id: str, execution_id: str) -> bool:
        """Whether the agent is held here, for that execution."""
        slot = self._slots.get(agent_id)
        return slot is not None and slot.execution_id == execution_id

    def state(self, agent_id: str) -> State:
        """The agent's admission state."""
        slot = self._slots.get(agent_id)
        return slot.state if slot is not None else State.VACANT

    def take(self, agent_id: str, execution_id: str, event: Event) -> None:
        """Take the slot with `admit`, `adopt` or `resume`. Raises AgentBusy when the table has no such move."""
        state = self.state(agent_id)
        if not can(MACHINE, state, None, event):
            held = self._slots[agent_id]
            raise AgentBusy(held.execution_id, str(held.state), HERE)
        self._slots[agent_id] = Slot(advance(MACHINE, state, None, event).state, execution_id)

    def move(self, agent_id: str, event: Event) -> None:
        """Move the slot; one that became vacant is kept no longer."""
        slot = self._slots.get(agent_id)
        if slot is None:
            return
        state = advance(MACHINE, slot.state, None, event).state
        if state is State.VACANT:
            del self._slots[agent_id]
        else:
            self._slots[agent_id] = attrs.evolve(slot, state=state)
