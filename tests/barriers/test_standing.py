"""Where barriers leave a run, and that each phase is known wherever phases are told apart."""

from __future__ import annotations

from typing import Any

import pytest

from pawl.generated.agent_invocation import MACHINE as AGENT
from pawl.generated.execution import MACHINE
from pawl.runtime.barriers.standing import moved
from pawl.runtime.fsm.errors import UnhandledEvent
from pawl.runtime.records.approvals import ApprovalItem, ApprovalRequest, Decision, Verdict
from pawl.runtime.records.evolution import STANDS
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.statuses import STATUSES, TERMINAL, Move, Phase, status_of

RECORD = ExecutionRecord("x", "a", "a", 1, "m", "h", "s", "sha256:0", None, 0.0, 0.0, "active", "calling_llm", 1, "t")
ITEMS = tuple(ApprovalItem(name, name, "pay", "{}", "sha256:0", None) for name in ("c1", "c2"))
ASKED = ApprovalRequest("r", "x", "a", ITEMS, 0.0, None)
ACTIVE = (Phase.CALLING_LLM, Phase.RESUMING, Phase.DISPATCHING_TOOLS, Phase.RECOVERING)


def record(phase: Phase, **fields: Any) -> ExecutionRecord:
    return replace(RECORD, phase=str(phase), status=status_of(phase), **fields)


VERDICTS = [("c1", Verdict.APPROVED), ("c2", Verdict.APPROVED), ("c1", Verdict.REJECTED)]


def test_a_request_is_open_until_each_item_is_decided_or_a_rejection_ends_it() -> None:
    yes, other, no = (Decision(name, verdict) for name, verdict in VERDICTS)
    for decisions, end, phase in (
        ((yes,), "end", Phase.APPROVAL),
        ((yes, other), "end", Phase.RESUMING),
        ((no,), "end", Phase.RESUMING),
        ((no,), "continue", Phase.APPROVAL),
    ):
        before = record(Phase.APPROVAL, request=ASKED, decisions=decisions, on_rejection=end)
        after = moved(before, Move.APPROVAL, 5.0)
        assert (after.phase, after.status) == (phase, status_of(phase)), decisions


def test_a_run_s_time_stands_still_while_it_is_suspended() -> None:
    asked = moved(record(Phase.CALLING_LLM, deadline=100.0), Move.SUSPENSION, 40.0)
    assert (asked.deadline, asked.time_left) == (None, 60.0)
    decided = moved(asked, Move.APPROVAL, 900.0)
    assert (decided.deadline, decided.time_left) == (960.0, None)


@pytest.mark.parametrize("move", list(Move))
def test_only_what_is_suspended_is_decided_and_only_what_was_begun_completes(move: Move) -> None:
    into = {row.source for row in MACHINE.rows if row.event is move}
    wanted = {
        Move.PROVIDER_DISPATCH: {Phase.PREPARING, *ACTIVE},
        Move.APPROVAL: {Phase.APPROVAL},
        Move.BLOCKED: {Phase.PREPARING, *ACTIVE},
        Move.FAILED: {Phase.PREPARING, *ACTIVE, Phase.APPROVAL},
        Move.CANCELLED: {Phase.PREPARING, *ACTIVE, Phase.APPROVAL},
    }
    assert into == wanted.get(move, set(ACTIVE))
    for phase in set(Phase) - into:
        with pytest.raises(UnhandledEvent):
            moved(record(phase), move, 0.0)


def test_each_barrier_of_a_run_is_a_move_of_its_record() -> None:
    barriers = {info.barrier for info in AGENT.states if info.barrier is not None}
    assert barriers - {"admission", "outcome"} == {str(move) for move in Move} - TERMINAL
    assert {info.outcome for info in MACHINE.states if info.outcome is not None} == TERMINAL


def test_each_open_phase_says_where_it_stands_and_each_ended_one_its_status() -> None:
    assert set(STANDS) == {str(phase) for phase in Phase} - TERMINAL
    assert {"preparing", "active", "suspended"} | TERMINAL == STATUSES
