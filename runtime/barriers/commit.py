"""The transaction behind every barrier on an execution: fence, journal, record, tool rows, agent, all or nothing."""

from __future__ import annotations

import attrs

from pawl.runtime.barriers.answers import Found, Reading
from pawl.runtime.barriers.rest import may_wait
from pawl.runtime.records.agents import AgentRoot, Authority
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.errors import StaleRevision
from pawl.runtime.records.executions import Awaiting, ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.answers import Fenced
from pawl.runtime.store.port import Transaction


@attrs.frozen
class Written:
    """What a committed barrier answers: where the journal stands now."""

    position: int
    root: AgentRoot


@attrs.frozen(slots=False)
class Commit:
    """One barrier's transaction, as a value.

    `record` is the execution as it will stand, at `revision`; `before` is (revision, commit token) as it stands
    now. `journal` is appended after `position`. `release` gives the agent up in the same transaction, `bump`
    counts a revision of the agent root, `answers` model answers of an ended run. Not `held`: the barrier before has
    given the agent up, and nobody may have claimed it since, which would have raised the fence.
    """

    barrier: str
    authority: Authority
    record: ExecutionRecord
    before: tuple[int, str]
    position: int
    journal: tuple[JournalEntry, ...] = ()
    contents: tuple[Content, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    awaiting: Awaiting | None = None
    release: bool = False
    bump: bool = False
    answers: int = 0
    held: bool = True

    @property
    def token(self) -> str:
        """The commit token that the record will carry."""
        return self.record.token

    def renewed(self, token: str) -> Commit:
        """The same command under a new commit token: what was submitted before is known not to land."""
        return replace(self, record=replace(self.record, token=token))

    def run(self, tx: Transaction) -> Written:
        """Write everything, or raise: Fenced, StaleRevision, and what the repositories raise."""
        root = tx.agents.get(self.record.agent_id)
        if root is None or (root.owner, root.fence) != (self._owner, self.authority.fence):
            raise Fenced(root.owner if root is not None else None)  # I4
        position = tx.journal.position(self.record.agent_id)
        if position != self.position:
            raise StaleRevision(f"the journal is at {position}, this writer left it at {self.position}")
        awaiting = may_wait(tx, self.record.execution_id, self.awaiting)
        if not tx.executions.save(self.record, self.before[0], awaiting):  # I2
            raise StaleRevision(f"execution {self.record.execution_id} is not at revision {self.before[0]} any more")
        for content in self.contents:
            tx.contents.put(content)
        if self.journal:
            tx.journal.append(self.record.agent_id, self.position, self.journal)
        if self.tools:
            tx.tools.put(self.tools)
        if self.receipts:
            tx.decisions.put(self.receipts)
        after = self.after(root)
        if after is not root:
            tx.agents.save(after)
        return Written(self.position + len(self.journal), after)

    @property
    def _owner(self) -> str | None:
        """Whom this commit expects as the agent's owner."""
        return self.authority.owner if self.held else None

    def after(self, root: AgentRoot) -> AgentRoot:
        """The agent root as this commit leaves it; most leave it as it is."""
        if not (self.release or self.bump or self.answers):
            return root
        return replace(
            root,
            revision=root.revision + self.bump,
            answers=root.answers + self.answers,
            owner=None if self.release else root.owner,
        )

    def read_back(self, tx: Transaction) -> Reading:
        """Look at the commit token on record. Never writes; runs where the write can no longer land."""
        root = tx.agents.get(self.record.agent_id)
        found = tx.executions.get(self.record.execution_id)
        if root is None or root.fence != self.authority.fence:
            raise Fenced(root.owner if root is not None else None)
        landed = found is not None and found.token == self.token
        if root.owner != self._owner and not (landed and self.release and root.owner is None):
            raise Fenced(root.owner)
        if landed:
            return Reading(Found.COMMITTED, Written(tx.journal.position(self.record.agent_id), root))
        if found is not None and (found.revision, found.token) == self.before:
            return Reading(Found.UNWRITTEN)
        return Reading(Found.CONFLICT)
