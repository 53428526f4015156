"""What must be true of every run, whatever went wrong: watched at every write, and looked over at the end.

The numbers are those of `runtime/README.md`. What is not watched here is a property of the heart (I7) or of the
loop (I8), and is tested there. Scenario files count what must always be true of a run in their own way: theirs are
1: I1, 2: I14, 3: I2 and I15, 4: I19, 5: I12, 6: I6 (`World.handled`), 7: `progress`, 8: I17, 9: I20, 10: I10
(`World.told`, `Stage.follow`), 11: I3 and I4, 12: I13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pawl.runtime.barriers.admission import Admission
from pawl.runtime.barriers.commit import Commit
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.execution.load import messages
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.messages import Usage, why_invalid
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.tools import ToolRow, ToolStatus
from pawl.runtime.simulation.store import command_of
from pawl.runtime.simulation.witness import Witness
from pawl.runtime.store.answers import Answer, Committed
from pawl.runtime.store.port import Operation, Store, Transaction

_PAGE = 1000


class Violated(AssertionError):
    """An invariant does not hold. The message begins with its number."""


class Invariants:
    """Watches the writes of one world."""

    def __init__(self, store: Store, witness: Witness) -> None:
        self._store, self._witness = store, witness
        self._barriers: dict[str, int] = {}
        self._ended: dict[str, str] = {}
        self._in_flight: Counter[tuple[str, str]] = Counter()
        self.tampered = False
        """A fault wrote past the rules: revisions and tokens say nothing any more."""
        self.violations: list[Violated] = []
        """What was noticed so far; a runtime that swallows an error must not swallow these."""

    def notice(self, number: str, holds: bool, what: str) -> None:
        """Watch one thing while the world goes on. Raises Violated, and remembers it."""
        try:
            _hold(number, holds, what)
        except Violated as violated:
            self.violations.append(violated)
            raise

    # at every write -----------------------------------------------------------------------------------------

    def submitted(self, process: str, operation: Operation[Any]) -> None:
        """At most one commit on an execution's revision is in flight, in one process."""
        execution_id = _commits_on(operation)
        if execution_id is not None:
            self._in_flight[process, execution_id] += 1
            self.notice(
                "I3", self._in_flight[process, execution_id] == 1, f"two commits on {execution_id} are in flight"
            )

    def answered(self, process: str, operation: Operation[Any]) -> None:
        """Its answer goes out."""
        execution_id = _commits_on(operation)
        if execution_id is not None:
            self._in_flight[process, execution_id] -= 1

    def committed(self, operation: Operation[Any], answer: Answer[Any]) -> None:
        """What was written was allowed."""
        command = command_of(operation)
        if not isinstance(answer, Committed) or getattr(operation, "__name__", "") != "run":
            return
        if isinstance(command, Admission):
            self._barriers[command.record.execution_id] = 0
        elif isinstance(command, Commit | ToolCommit):
            self._store.read(lambda tx: self._written(tx, command))

    def answered_elsewhere(self) -> None:
        """Somebody without a host has answered: a barrier as well, of one of the open executions."""

        def count(tx: Transaction) -> None:
            for record, _ in tx.executions.list(open_only=True, limit=_PAGE):
                before = self._barriers.get(record.execution_id)
                if before is not None and record.revision == before + 1:
                    self._barriers[record.execution_id] += 1

        self._store.read(count)

    def _written(self, tx: Transaction, command: Commit | ToolCommit) -> None:
        agent_id = command.agent_id if isinstance(command, ToolCommit) else command.record.agent_id
        root = tx.agents.get(agent_id)
        assert root is not None
        self.notice("I4", root.fence == command.authority.fence, f"{command.barrier} was written under an old fence")
        if isinstance(command, ToolCommit):
            return
        name = command.record.execution_id
        record = tx.executions.get(name)
        assert record is not None
        self.notice("I5", record.token == command.token, f"{command.barrier} of {name} left another token")
        self.notice("I19", name not in self._ended, f"{command.barrier} was written after {name} had ended")
        if record.status in TERMINAL:
            self._ended[name] = record.status
        self._barriers[name] = self._barriers.get(name, 0) + 1
        self.notice(
            "I12", len(tx.executions.list(agent_id, open_only=True)) <= 1, f"{agent_id} has two open executions"
        )

    # at the end ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Look everything over. Raises Violated."""
        self._store.read(self._check)

    def _check(self, tx: Transaction) -> None:
        after = ""
        while roots := tx.agents.list(after):
            for root in roots:
                self._check_agent(tx, root.agent_id, tx.journal.position(root.agent_id))
            after = roots[-1].agent_id

    def _check_agent(self, tx: Transaction, agent_id: str, position: int) -> None:
        journal: list[JournalRecord] = []
        while page := tx.journal.read(agent_id, journal[-1].position if journal else 0, _PAGE):
            journal += page
        places = [record.position for record in journal]
        begins = tx.executions.get(journal[0].execution_id) if journal else None
        first = begins.first_position if begins is not None else 1  # later than 1 where it was cleared out
        whole = places == list(range(first, position + 1))
        _hold("I15", whole, f"the journal of {agent_id} is {places}, not {first} to {position}")
        said = messages(tx.journal.transcript(agent_id))
        _hold("I17", why_invalid(said) is None, f"the transcript of {agent_id}: {why_invalid(said)}")
        open_ones = 0
        for record, _ in tx.executions.list(agent_id, limit=_PAGE):
            open_ones += record.status not in TERMINAL
            self._check_execution(tx, record, [entry for entry in journal if entry.execution_id == record.execution_id])
        _hold("I12", open_ones <= 1, f"{agent_id} has {open_ones} open executions")

    def _check_execution(self, tx: Transaction, record: ExecutionRecord, journal: Sequence[JournalRecord]) -> None:
        name = record.execution_id
        ends = [entry.kind for entry in journal if entry.kind.startswith("execution_")]
        wanted = [f"execution_{record.status}"] if record.status in TERMINAL else []
        _hold("I19", ends == wanted, f"{name} is {record.status} and has the terminal records {ends}")
        if name in self._ended:
            _hold("I19", record.status == self._ended[name], f"{name} was {self._ended[name]} and is {record.status}")
        if name in self._barriers and not self.tampered:
            barriers = self._barriers[name]
            _hold(
                "I2", record.revision == barriers, f"{name} is at revision {record.revision} after {barriers} barriers"
            )
        usage = Usage()
        for entry in journal:
            if entry.kind is JournalKind.LLM_CALL_RECORDED:
                usage += Usage(**entry.meta.get("usage", {}))
        _hold("I20", usage == record.usage, f"{name} used {record.usage}, its recorded calls {usage}")
        rows = tx.tools.of_execution(name)
        for row in rows:
            self._check_tool(row, journal)
        keys = {row.idempotency_key for row in rows}
        strange = [entry for entry in self._witness.entries if entry.execution_id == name]
        strange = [entry for entry in strange if entry.idempotency_key not in keys]
        _hold("I13", not strange, f"{name} has attempts under keys that are on no record: {strange}")

    def _check_tool(self, row: ToolRow, journal: Sequence[JournalRecord]) -> None:
        witness = self._witness
        entries = [entry for entry in witness.entries if entry.execution_id == row.execution_id]
        mine = [entry for entry in entries if entry.idempotency_key == row.idempotency_key]
        resolved = [
            entry.meta["outcome"]
            for entry in journal
            if entry.kind is JournalKind.RECOVERY_RESOLVED and entry.meta["subject"] == row.tool_call_id
        ]
        again = resolved.count("not_performed") + witness.absent[row.idempotency_key]
        if row.policy != "replay":
            _hold("I14", len(mine) <= 1 + again, f"{row.tool} ({row.tool_call_id}) was entered {len(mine)} times")
        own = row.status is ToolStatus.COMPLETED and row.attempt > 0 and "succeeded" not in resolved
        if own:
            _hold("I14", bool(mine), f"{row.tool} ({row.tool_call_id}) is recorded as completed, and was never entered")
        attempts = [entry.attempt for entry in mine]
        _hold(
            "I14", len(attempts) == len(set(attempts)), f"{row.tool} was entered twice as the same attempt: {attempts}"
        )


def _commits_on(operation: Operation[Any]) -> str | None:
    command = command_of(operation)
    if getattr(operation, "__name__", "") == "run" and isinstance(command, Commit | Admission):
        return command.record.execution_id
    return None


def _hold(number: str, holds: bool, what: str) -> None:
    if not holds:
        raise Violated(f"{number}: {what}")
