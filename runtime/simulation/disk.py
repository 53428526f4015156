"""What is on disk in a world: read past every process, as somebody who opens the file."""

from __future__ import annotations

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalRecord
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Store


class Disk:
    """Reads of one store."""

    store: Store

    def root(self, agent_id: str) -> AgentRoot:
        """An agent."""
        root = self.store.read(lambda tx: tx.agents.get(agent_id))
        assert root is not None, f"there is no agent {agent_id}"
        return root

    def record(self, execution_id: str) -> ExecutionRecord:
        """An execution."""
        record = self.store.read(lambda tx: tx.executions.get(execution_id))
        assert record is not None, f"there is no execution {execution_id}"
        return record

    def records(self) -> list[ExecutionRecord]:
        """All executions, in order of creation."""
        return [record for record, _ in self.store.read(lambda tx: tx.executions.list(limit=10_000))]

    def rows(self, execution_id: str) -> list[ToolRow]:
        """The tool rows of an execution."""
        return list(self.store.read(lambda tx: tx.tools.of_execution(execution_id)))

    def journal(self, agent_id: str) -> list[JournalRecord]:
        """An agent's journal."""
        return list(self.store.read(lambda tx: tx.journal.read(agent_id, 0, 100_000)))

    def kinds(self, agent_id: str) -> list[str]:
        """The kinds of an agent's journal, in order."""
        return [str(entry.kind) for entry in self.journal(agent_id)]
