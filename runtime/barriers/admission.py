"""The `admission` barrier: the run exists, its input is kept, and this process owns the agent."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from pawl.runtime.barriers.answers import Found, Reading
from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.errors import AgentBusy, AgentClosed, IdConflict, PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry
from pawl.runtime.store.answers import Fenced
from pawl.runtime.store.ownership import claim, existing_root
from pawl.runtime.store.port import Transaction


@attrs.frozen
class Admitted:
    """What a committed admission answers: the agent as it stands after the claim, and where its journal stands."""

    root: AgentRoot
    position: int


class AlreadyStarted(PawlError):
    """Not a failure: the start id made this execution before, with the same work. Nothing was written."""

    def __init__(self, record: ExecutionRecord) -> None:
        self.record = record
        super().__init__(f"start id {record.start_id!r} is execution {record.execution_id}")


@attrs.frozen(slots=False)
class Admission:
    """A start, as a value. `is_dead` tells whether the process behind a lease is known to be gone."""

    owner: str
    now: float
    is_dead: Callable[[Owner], bool]
    record: ExecutionRecord
    input: Content
    context: Content | None
    entry: JournalEntry
    barrier: str = "admission"

    @property
    def token(self) -> str:
        """The commit token that the record will carry."""
        return self.record.token

    def renewed(self, token: str) -> Admission:
        """The same start under a new commit token."""
        return replace(self, record=replace(self.record, token=token))

    def run(self, tx: Transaction) -> Admitted:
        """Admit, or raise AlreadyStarted, AgentNotFound, AgentClosed, AgentBusy, IdConflict."""
        record = self.record
        root = existing_root(tx, record.agent_id)
        earlier = tx.executions.of_start(record.agent_id, record.start_id)
        if earlier is not None:
            raise same_start(earlier, record)
        if root.status == "closed":
            raise AgentClosed(f"agent {record.agent_id!r} is closed and takes no new runs")
        for held, _ in tx.executions.list(record.agent_id, open_only=True, limit=1):
            raise AgentBusy(held.execution_id, held.status, root.owner)
        try:
            root = claim(record.agent_id, self.owner, self.now, self.is_dead)(tx)
        except Fenced as fenced:
            raise AgentBusy("(starting)", "preparing", fenced.owner) from fenced
        tx.contents.put(self.input)
        if self.context is not None:
            tx.contents.put(self.context)
        position = tx.journal.position(record.agent_id)
        tx.executions.insert(replace(record, first_position=position + 1))
        tx.journal.append(record.agent_id, position, (self.entry,))
        root = replace(root, revision=root.revision + 1)
        tx.agents.save(root)
        return Admitted(root, position + 1)

    def read_back(self, tx: Transaction) -> Reading:
        """Look for the execution. Another one under the same start id is for the caller to be told of again."""
        root = tx.agents.get(self.record.agent_id)
        found = tx.executions.get(self.record.execution_id)
        if root is None or found is None:
            return Reading(Found.UNWRITTEN)
        if found.token != self.token:
            return Reading(Found.CONFLICT)
        if root.owner != self.owner:
            raise Fenced(root.owner)
        return Reading(Found.COMMITTED, Admitted(root, tx.journal.position(self.record.agent_id)))


def same_start(earlier: ExecutionRecord, asked: ExecutionRecord) -> AlreadyStarted | IdConflict:
    """What a start is whose id was used before: the same work again, or a conflict."""
    if (earlier.input, earlier.context, earlier.definition) == (asked.input, asked.context, asked.definition):
        return AlreadyStarted(earlier)
    return IdConflict(
        f"start id {asked.start_id!r} was used before by execution {earlier.execution_id} "
        "with another input, context or definition; use a new id for new work"
    )
