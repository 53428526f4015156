"""The `tool_outcome` barrier: one tool's own row, under its own token; siblings commit together."""

from __future__ import annotations

import attrs

from pawl.runtime.barriers.answers import Found, Reading
from pawl.runtime.records.agents import Authority
from pawl.runtime.records.errors import StaleRevision
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.ownership import assert_fence
from pawl.runtime.store.port import Transaction


@attrs.frozen(slots=False)
class ToolCommit:
    """A tool's outcome. `row` as it will stand, `before` the token it stands under now; the execution's revision
    is not touched.
    """

    agent_id: str
    authority: Authority
    row: ToolRow
    before: str | None
    content: Content | None = None
    barrier: str = "tool_outcome"

    @property
    def token(self) -> str:
        """The commit token that the row will carry."""
        assert self.row.token is not None
        return self.row.token

    def renewed(self, token: str) -> ToolCommit:
        """The same command under a new commit token."""
        return replace(self, row=replace(self.row, token=token))

    def run(self, tx: Transaction) -> None:
        """Write the row and its result, or raise Fenced, StaleRevision."""
        assert_fence(tx, self.agent_id, self.authority)  # I4
        found = tx.tools.get(self.row.tool_invocation_id)
        if found is None or (found.attempt, found.token) != (self.row.attempt, self.before):
            raise StaleRevision(f"the row of {self.row.tool_call_id} is not as attempt {self.row.attempt} left it")
        if self.content is not None:
            tx.contents.put(self.content)
        tx.tools.put((self.row,))

    def read_back(self, tx: Transaction) -> Reading:
        """Look at the token of the row."""
        assert_fence(tx, self.agent_id, self.authority)
        found = tx.tools.get(self.row.tool_invocation_id)
        if found is not None and found.token == self.token:
            return Reading(Found.COMMITTED)
        if found is not None and (found.attempt, found.token) == (self.row.attempt, self.before):
            return Reading(Found.UNWRITTEN)
        return Reading(Found.CONFLICT)
