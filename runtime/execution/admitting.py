"""What a start asks for, and the run that it is first on record."""

from __future__ import annotations

from typing import Any

import attrs

from pawl.generated.agent_invocation import MACHINE
from pawl.runtime.agent.definition import Agent
from pawl.runtime.barriers.admission import Admission
from pawl.runtime.barriers.claim import IsDead
from pawl.runtime.execution.deadlines import deadline_of
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind


@attrs.frozen(kw_only=True)
class RunRequest:
    """A run of a logical agent. `start_id` makes it idempotent, `context` is JSON.

    `run_timeout`: seconds that it may take, None for the definition's own, infinity for as long as it likes.
    """

    agent: Agent[Any]
    agent_id: str
    text: str
    start_id: str | None = None
    context: dict[str, Any] | None = None
    run_timeout: float | None = None

    def admission(self, execution_id: str, session: str, owner: str, now: float, is_dead: IsDead) -> Admission:
        """The barrier that admits it."""
        agent, body = self.agent, Content.of(self.text)
        kept = Content.of(canonical(self.context)) if self.context is not None else None
        record = ExecutionRecord(
            execution_id=execution_id,
            agent_id=self.agent_id,
            definition=agent.name,
            definition_version=agent.version,
            machine=MACHINE.name,
            spec_hash=MACHINE.spec_hash,
            start_id=self.start_id or execution_id,
            input=body.digest,
            context=kept.digest if kept is not None else None,
            created_at=now,
            updated_at=now,
            status="preparing",
            phase="preparing",
            revision=0,
            token=f"admission-{session}",
            on_rejection=agent.on_rejection,
            deadline=deadline_of(now, agent.run_timeout if self.run_timeout is None else self.run_timeout),
        )
        entry = JournalEntry(JournalKind.INPUT_RECEIVED, execution_id, now, body, {"start_id": record.start_id})
        return Admission(owner, now, is_dead, record, body, kept, entry)
