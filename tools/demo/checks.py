"""The demo checks itself: what must be true when the story has been told."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import attrs

from pawl.runtime.records.journal import JournalKind
from pawl.tools.cli.history import steps
from pawl.tools.cli.record import Snapshot
from pawl.tools.cli.words import count
from pawl.tools.demo.agent import CENTS
from pawl.tools.demo.ledger import Ledger
from pawl.tools.demo.story import APPROVER, Told

EXPECTED = (
    JournalKind.INPUT_RECEIVED,
    JournalKind.EXTERNAL_MESSAGE,
    *(JournalKind.LLM_CALL_RECORDED, JournalKind.ASSISTANT_MESSAGE),
    *(JournalKind.TOOL_RESULT, JournalKind.TOOL_MESSAGE),  # lookup_order
    *(JournalKind.LLM_CALL_RECORDED, JournalKind.ASSISTANT_MESSAGE, JournalKind.APPROVAL_REQUIRED),
    JournalKind.APPROVAL_DECIDED,
    *(JournalKind.TOOL_RESULT, JournalKind.TOOL_MESSAGE),  # hold_parcel
    *(JournalKind.TOOL_RESULT, JournalKind.TOOL_MESSAGE),  # refund
    *(JournalKind.LLM_CALL_RECORDED, JournalKind.ASSISTANT_MESSAGE),
    *(JournalKind.FINAL_OUTPUT, JournalKind.EXECUTION_COMPLETED),
)
"""The whole journal of the run: nothing twice, nobody asked, however often a process died."""

BARRIERS = (
    *("admission", "provider_dispatch", "tool_dispatch", "provider_dispatch", "suspension", "approval"),
    *("tool_dispatch", "tool_dispatch", "provider_dispatch", "outcome"),
)
"""Every barrier that committed; the last tools were let go twice, by two processes."""


@attrs.frozen
class Check:
    """A claim, and whether it holds; `found` says what was found."""

    claim: str
    holds: bool
    found: str


def checks(told: Told) -> list[Check]:
    """Everything that is claimed, checked on what is on disk."""
    assert told.end is not None
    return [*_processes(told), *_ledger(told, told.end), *_record(told, told.end)]


def _processes(told: Told) -> Iterator[Check]:
    killed = ("process 1", "process 2")
    wanted = -9 if sys.platform != "win32" else 1
    exits = [told.exits[name] for name in killed]
    yield Check("processes 1 and 2 lived until kill -9 ended them",
                exits == [wanted, wanted] and all(told.alive_when_killed[name] for name in killed),
                f"exit codes {exits}")  # fmt: skip
    pids = set(told.pids.values())
    yield Check("four processes took part, the approving one without the agent's code", len(pids) == 4,
                ", ".join(f"{name}: {pid}" for name, pid in told.pids.items()))  # fmt: skip
    good = told.exits["process 3"] == told.exits[APPROVER] == 0
    yield Check("the approving process and process 3 ended well", good, f"exit codes {told.exits}")


def _ledger(told: Told, end: Snapshot) -> Iterator[Check]:
    ledger = Ledger(told.folder)
    calls, refunds = ledger.calls(), ledger.refunds()
    of_refund = [call for call in calls if call.tool == "refund"]
    found = f"{count(len(of_refund), 'call')}, {count(len(refunds), 'refund')}"
    paid = [refund.cents for refund in refunds] == [CENTS]
    yield Check("the refund was called twice and paid once", len(of_refund) == 2 and paid, found)
    keys = {call.key for call in of_refund} | {refund.key for refund in refunds}
    rows = {stored.row.idempotency_key for stored in end.tools if stored.row.tool == "refund"}
    yield Check("both calls carried the key that was stored before the first", len(keys) == 1 and keys == rows,
                ", ".join(sorted(keys)))  # fmt: skip
    pids = [call.pid for call in of_refund]
    yield Check("one call came from process 2, one from process 3",
                pids == [told.pids["process 2"], told.pids["process 3"]], f"pids {pids}")  # fmt: skip
    for tool in ("hold_parcel", "lookup_order"):
        number = sum(call.tool == tool for call in calls)
        yield Check(f"{tool} ran once", number == 1, count(number, "call"))


def _record(told: Told, end: Snapshot) -> Iterator[Check]:
    at_kill = {stored.row.tool: stored.row for stored in told.at_kill["process 2"].tools}
    stood = f"hold_parcel {at_kill['hold_parcel'].status}, refund {at_kill['refund'].status}"
    yield Check("when process 2 died, the refund had run and no outcome of it was on disk",
                stood == "hold_parcel completed, refund pending", stood)  # fmt: skip
    outcomes = [entry.kind for entry in end.journal if entry.kind.startswith("execution_")]
    yield Check("the run has one outcome: completed",
                outcomes == [JournalKind.EXECUTION_COMPLETED] and end.record.status == "completed",
                f"{', '.join(outcomes)}; status {end.record.status}")  # fmt: skip
    places = [entry.position for entry in end.journal]
    yield Check("the journal is contiguous from 1", places == list(range(1, len(EXPECTED) + 1)), f"positions {places}")
    kinds = tuple(entry.kind for entry in end.journal)
    yield Check("the journal says what happened and nothing else", kinds == EXPECTED, ", ".join(kinds))
    barriers = tuple(step.barrier for step in steps(end.record, end.journal, [each.row for each in end.tools]))
    yield Check("each barrier committed once, the last tools were let go twice", barriers == BARRIERS,
                f"revision {end.record.revision}: {', '.join(barriers)}")  # fmt: skip
