"""What a parent knows of its calls, and the questions that decide what happens to them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pawl.runtime.agent.batch import Batch, ChildFact, Rank, spoken
from pawl.runtime.records.tools import REPLAYS, ErrorInfo, ToolRow, ToolStatus

S = ToolStatus
PENDING_RANKS = {S.NEW: Rank.NEW, S.AWAITING_APPROVAL: Rank.AWAITING, S.AUTHORIZED: Rank.AUTHORIZED}


def row(name: str, status: ToolStatus = S.NEW, **changes: Any) -> ToolRow:
    plain: dict[str, Any] = {
        "tool_invocation_id": name,
        "execution_id": "x",
        "llm_call_id": "llm",
        "tool_call_id": f"call-{name}",
        "index": 0,
        "tool": "t",
        "raw_arguments": "{}",
        "arguments": {},
        "policy": "ask",
        "idempotency_key": f"key-{name}",
        "status": status,
    }
    return ToolRow(**{**plain, **changes})


def fact(name: str, status: ToolStatus, tells_model: bool = True, rank: Rank | None = None) -> ChildFact:
    return ChildFact(row(name, status), rank or PENDING_RANKS.get(status, Rank.TERMINAL), tells_model=tells_model)


def batch(*facts: ChildFact, ends: bool = True) -> Batch:
    return Batch("llm", facts, ends)


# news -----------------------------------------------------------------------------------------------------------------


def test_news_that_would_lower_a_rank_changes_nothing() -> None:
    ranks = [S.NEW, S.AWAITING_APPROVAL, S.AUTHORIZED, S.COMPLETED]
    for before, after in itertools.product(ranks, ranks):
        told = batch(fact("a", before)).told(row("a", after), "text")
        child = told.children[0]
        if ranks.index(after) > ranks.index(before):
            assert (child.row.status, child.text) == (after, "text")
        else:
            assert (child.row.status, child.text) == (before, "")


@pytest.mark.parametrize(("mark", "late"), [(Rank.DECIDING, S.AWAITING_APPROVAL), (Rank.DISPATCHED, S.AUTHORIZED)])
def test_the_parent_s_own_mark_is_not_undone_by_late_news(mark: Rank, late: ToolStatus) -> None:
    marked = batch(fact("a", S.NEW), fact("b", S.NEW)).ranked(mark, "a")
    assert [child.rank for child in marked.told(row("a", late), "").children] == [mark, Rank.NEW]


def test_news_of_a_stranger_changes_nothing() -> None:
    before = batch(fact("a", S.NEW))
    assert before.told(row("b", S.COMPLETED), "text") == before


# what is lost ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "attempt", "mark", "expected"),
    [
        ("ask", 1, None, "ask"),
        ("replay", 1, None, "run"),
        ("replay", REPLAYS - 1, None, "run"),
        ("replay", REPLAYS, None, "ask"),
        ("replay", REPLAYS, "run", "run"),
        ("probe", 1, None, "probe"),
        ("probe", 1, "run", "run"),
        ("probe", 1, "ask", "ask"),
        ("replay", 1, "ask", "ask"),
    ],
)
def test_a_lost_call_is_run_probed_or_asked_about_and_never_two_of_these(
    policy: Any, attempt: int, mark: Any, expected: str
) -> None:
    child = ChildFact.stored(row("a", S.PENDING, policy=policy, attempt=attempt), None, True)
    child = batch(child).marked("a", mark).children[0] if mark else child
    answers = {"run": child.runnable, "probe": child.to_probe, "ask": child.to_ask}
    assert [name for name, holds in answers.items() if holds] == [expected]


@pytest.mark.parametrize("status", [status for status in S if status is not S.PENDING])
def test_only_a_pending_call_is_lost(status: ToolStatus) -> None:
    child = ChildFact.stored(row("a", status, policy="replay"), "text", True)
    assert not any((child.lost, child.runnable, child.to_probe, child.to_ask))


# what follows ---------------------------------------------------------------------------------------------------------


def follows(facts: Batch) -> list[str]:
    """The answers of the guards of `evaluating_tools`, in the order of its rows."""
    names = {
        "failed": facts.failed,
        "rejected": facts.rejected,
        "completed": facts.completed,
        "approval": facts.approval_required,
        "ready": facts.ready,
    }
    return [name for name, holds in names.items() if holds]


DONE, SAID_NO = fact("d", S.COMPLETED), fact("n", S.REJECTED)
TOLD, FATAL = fact("t", S.FAILED), fact("f", S.FAILED, tells_model=False)
WAITS, MAY, NEW, CANCELLED = (
    fact("w", S.AWAITING_APPROVAL),
    fact("m", S.AUTHORIZED),
    fact("x", S.NEW),
    fact("c", S.CANCELLED),
)
RUNS = fact("r", S.AUTHORIZED, rank=Rank.DISPATCHED)
DECIDED = fact("e", S.AWAITING_APPROVAL, rank=Rank.DECIDING)


@pytest.mark.parametrize(
    ("facts", "ends", "goes_on"),
    [
        ((DONE,), ["completed"], ["completed"]),
        ((DONE, TOLD), ["completed"], ["completed"]),
        ((MAY,), ["ready"], ["ready"]),
        ((MAY, DONE, TOLD), ["ready"], ["ready"]),
        ((MAY, WAITS), ["approval"], ["approval"]),
        ((DONE, WAITS), ["approval"], ["approval"]),
        ((NEW,), [], []),
        ((NEW, MAY, WAITS), [], []),
        ((RUNS, DONE), [], []),
        ((RUNS, FATAL), [], []),
        ((DECIDED, MAY), [], []),
        ((FATAL, MAY), ["failed"], ["failed"]),
        ((FATAL, WAITS), ["failed", "approval"], ["failed", "approval"]),
        ((FATAL, NEW), [], []),
        ((CANCELLED, DONE), ["failed"], ["failed"]),
        ((SAID_NO, MAY), ["rejected"], ["ready"]),
        ((SAID_NO, DONE), ["rejected"], ["completed"]),
        ((SAID_NO, WAITS), ["rejected"], ["approval"]),
        ((SAID_NO, NEW), [], []),
        ((SAID_NO, DECIDED), [], []),
        ((SAID_NO, FATAL), ["rejected"], ["failed"]),
        ((SAID_NO, CANCELLED), ["rejected"], ["failed"]),
    ],
)
def test_what_a_batch_comes_to(facts: tuple[ChildFact, ...], ends: list[str], goes_on: list[str]) -> None:
    for order in itertools.permutations(facts):
        assert follows(batch(*order)) == ends
        assert follows(batch(*order, ends=False)) == goes_on


def test_what_a_model_is_told_of_a_call() -> None:
    assert spoken(row("a", S.COMPLETED), "three") == "three"
    assert spoken(row("a", S.FAILED, error=ErrorInfo("E", "out of stock")), None) == "error: out of stock"
    assert spoken(row("a", S.REJECTED, message="too much"), None) == "rejected: too much"
    assert spoken(row("a", S.REJECTED), None) == "rejected"
    assert spoken(row("a", S.CANCELLED), None) == "not run"
