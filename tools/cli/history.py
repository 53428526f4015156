"""Which barrier wrote each record of a journal, and at which revision: read off the records and the tool rows.

A barrier that only lets tools go writes no record, so the rows tell how often that was. When the barriers that are
found do not add up to the execution's revision, no revision is claimed for any record.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalKind, JournalRecord
from pawl.runtime.records.statuses import Phase
from pawl.runtime.records.tools import ToolRow

_ANSWER = (JournalKind.LLM_CALL_RECORDED, JournalKind.ASSISTANT_MESSAGE)


@attrs.frozen
class Step:
    """A barrier that has committed, the revision that it made (None when that is not known), and what it wrote."""

    barrier: str
    revision: int | None
    entries: tuple[JournalRecord, ...]


def steps(record: ExecutionRecord, journal: Sequence[JournalRecord], rows: Sequence[ToolRow]) -> tuple[Step, ...]:
    """The barriers of an execution in order, each record of its journal in one of them."""
    walk = _Walk(rows)
    for entry in journal:
        walk.read(entry)
    walk.end(record.phase)
    if len(walk.steps) - 1 != record.revision:
        return tuple(Step(barrier, None, tuple(entries)) for barrier, entries in walk.steps if entries)
    return tuple(Step(barrier, place, tuple(entries)) for place, (barrier, entries) in enumerate(walk.steps))


class _Walk:
    """Reads a journal from its beginning; `facts` are the records whose barrier is not known yet."""

    def __init__(self, rows: Sequence[ToolRow]) -> None:
        self.steps: list[tuple[str, list[JournalRecord]]] = []
        self.facts: list[JournalRecord] = []
        self._rows = rows
        self._asked = False
        """Whether a model call was let go and nothing of it is recorded yet."""
        self._batch: tuple[ToolRow, ...] = ()
        """The tools of the last answer."""
        self._left = 0
        """How often tools of that batch were let go and no barrier has been seen for it yet."""
        self._not_performed: list[str] = []
        """The calls of that batch that somebody said had not run, once for each time."""

    def read(self, entry: JournalRecord) -> None:
        match entry.kind:
            case JournalKind.INPUT_RECEIVED:
                self._wrote("admission", entry)
            case JournalKind.LLM_CALL_RECORDED:
                self._call(entry)
            case JournalKind.APPROVAL_REQUIRED:
                self._wrote("suspension", entry)
            case JournalKind.APPROVAL_DECIDED:
                self._wrote("approval", entry)
            case JournalKind.RECOVERY_RESOLVED:
                self._resolved(entry)
            case JournalKind.TOOL_RESULT:
                self._let_go(self._left)
                self.facts.append(entry)
            case kind if kind.startswith("execution_"):
                self._let_go(self._left)
                self._wrote("outcome", entry)
            case _:
                self.facts.append(entry)

    def end(self, phase: str) -> None:
        """What is left was written by the barrier that the record stands at."""
        self._let_go(self._left)
        if self.facts:
            self._wrote("provider_dispatch" if phase == Phase.CALLING_LLM else "tool_dispatch")

    def _wrote(self, barrier: str, *last: JournalRecord) -> None:
        self.steps.append((barrier, [*self.facts, *last]))
        self.facts = []

    def _call(self, entry: JournalRecord) -> None:
        """A call has a record only after it was let go."""
        if not self._asked:
            self._wrote("provider_dispatch")
        self._asked = False
        self.facts.append(entry)
        if entry.meta.get("status") == "completed":
            self._batch = tuple(row for row in self._rows if row.llm_call_id == entry.meta["llm_call_id"])
            self._left = self._total
            self._not_performed = []

    @property
    def _total(self) -> int:
        """Whatever is let go again was let go each time before."""
        return max((row.attempt for row in self._batch), default=0)

    def _let_go(self, times: int) -> None:
        """Barriers that let tools go; the first one wrote the answer, unless a suspension did."""
        for _ in range(times):
            self._wrote("tool_dispatch")
        self._left -= times

    def _resolved(self, entry: JournalRecord) -> None:
        subject, outcome = str(entry.meta.get("subject")), entry.meta.get("outcome")
        if subject == MODEL:
            if self.facts and (self.facts[-1].kind not in _ANSWER or outcome == "not_performed"):
                self._wrote("provider_dispatch")
                self._asked = True
        else:
            self._let_go(self._before(subject))
            if outcome == "not_performed":
                self._not_performed.append(subject)
        self._wrote("resolution", entry)

    def _before(self, subject: str) -> int:
        """How often its batch was let go before this question, and is not counted yet.

        Once, and once more for each time that somebody said it had not run. A call that may be repeated is asked about
        only when it was repeated often enough.
        """
        row = next((row for row in self._batch if row.tool_call_id == subject), None)
        wanted = self._total if row is not None and row.policy == "replay" else 1 + self._not_performed.count(subject)
        return max(0, min(self._left, wanted - (self._total - self._left)))
