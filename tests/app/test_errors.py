"""Every error that a caller can meet is met somewhere in this suite, and says what to do."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from pawl import AgentBusy, AlreadyDecided, ModelError, PawlError, Superseded
from pawl.runtime.records import errors

TESTS = Path(__file__).parents[1]
CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PawlError)]

NOT_YET = {"DeadlineExceeded", "FilterBlocked"}
"""Of features that are not there yet; the machines have rows for them."""

BASES = {"PawlError", "StoreError"}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_is_expected_by_some_test(kind: type[PawlError]) -> None:
    if kind.__name__ in NOT_YET | BASES:
        return
    texts = [path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    raised = (
        f"raises({kind.__name__}",
        f'error.type == "{kind.__name__}"',
        f'"{kind.__name__}",',
        f"({kind.__name__},",
    )
    assert any(phrase in text for text in texts for phrase in raised), f"no test expects a {kind.__name__}"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_says_what_it_means(kind: type[PawlError]) -> None:
    assert kind.__doc__


def test_errors_that_carry_facts_say_them() -> None:
    busy = AgentBusy("x1", "active", "p1")
    assert (busy.execution_id, busy.status, busy.owner) == ("x1", "active", "p1")
    assert "x1 (active, owned by p1)" in str(busy)
    assert "owned" not in str(AgentBusy("x1", "suspended"))
    decided = AlreadyDecided("c1", "approved")
    assert (decided.tool_call_id, decided.decision) == ("c1", "approved")
    assert "c1 was already decided (approved)" in str(decided)
    assert Superseded("p2").owner == "p2"
    assert "by p2" in str(Superseded("p2"))
    assert "by" not in str(Superseded()).split(";")[0]
    assert ModelError("busy", retry_safe=True).retry_safe
    assert not ModelError("busy").retry_safe
