"""The figures of a request's context, at a small scale: what they measure, never how long it took."""

from __future__ import annotations

from pathlib import Path

import pytest

from pawl.runtime.execution.load import transcript
from pawl.tools.bench import context
from pawl.tools.bench.rounds import BODY


def test_the_conversation_is_one_that_a_request_is_made_of(tmp_path: Path) -> None:
    store = context.talked(tmp_path / "a.db", 1_001)
    said = store.read(transcript("a", "now"))
    store.close()
    assert len(said) == 1_001
    assert {len(message.text) for message in said} == {BODY}
    assert [(message.role, len(message.calls)) for message in said[:3]] == [
        ("assistant", 1), ("tool", 0), ("assistant", 1),
    ]  # fmt: skip
    assert said[1].tool_call_id == said[0].calls[0].id


def test_the_figures_have_their_names_limits_and_notes() -> None:
    for figure, name in (
        (context.context_ratio(20, 1, 1), "context_10000_ratio"),
        (context.policy_growth(20, 2, 1), "context_policy_growth"),
    ):
        assert figure.name == name
        assert figure.value > 0
        assert figure.unit == "times"
        assert figure.note


def test_a_reading_that_is_not_whole_is_found_out() -> None:
    with pytest.raises(AssertionError, match="9 messages of 9 bytes were read"):
        context._check(9, 9, 10)
