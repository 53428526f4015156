"""What clients and listeners are told is what is on record, and everybody who waits is told: else a scenario fails."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pawl.runtime.agent import outcomes
from pawl.runtime.agent.recovery import Recovery
from pawl.runtime.execution.registry import Registry
from pawl.runtime.execution.waiting import Waiting
from pawl.runtime.records.errors import OutcomeUnknown
from pawl.runtime.records.rests import Completed
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import scenarios_of

TWO_LOST = """
scenario: 1
name: two calls are lost
agents: {clerk: {tools: {pay: {takes: 5s}}}}
model: {clerk: [{calls: [{id: c1, tool: pay}, {id: c2, tool: pay}]}, {text: done}]}
steps:
  - start: {agent: clerk, input: go, as: r1}
  - crash: {}
  - reopen: {}
  - resolve: {run: r1, subject: c2, outcome: succeeded, result: paid}
  - resolve: {run: r1, subject: c1, outcome: succeeded, result: paid}
"""

ONE_ASKED = """
scenario: 1
name: one call is asked about
agents: {clerk: {tools: {pay: {approval: ask}}}}
model: {clerk: [{calls: [{id: c1, tool: pay}]}, {text: done}]}
steps:
  - start: {agent: clerk, input: go, as: r1}
  - decide: {run: r1, approve: true}
"""


def failure(text: str) -> str:
    """What a scenario fails with; the empty text where it does not."""
    (scenario,) = scenarios_of(text)
    return play(scenario).failure or ""


@pytest.mark.parametrize("text", [TWO_LOST, ONE_ASKED])
def test_a_runtime_as_it_is_tells_the_truth(text: str) -> None:
    assert failure(text) == ""


def test_listeners_who_are_told_of_less_than_is_on_record_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_it = Recovery._unresolved
    monkeypatch.setattr(Recovery, "_unresolved", lambda self: all_of_it(self)[:1])

    assert failure(TWO_LOST).startswith(
        "invariant I10: listeners were told of ['c1'], and on record is NeedsResolution"
    )


def test_a_client_who_is_told_something_else_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true_one = outcomes.outcome_of

    def another(*said: Any) -> Any:
        rest = true_one(*said)
        return attrs.evolve(rest, output="something else") if isinstance(rest, Completed) else rest

    monkeypatch.setattr(outcomes, "outcome_of", another)

    assert "a client was told Completed(" in failure(ONE_ASKED)


def test_a_client_who_is_never_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Waiting.settle

    def silent(self: Waiting, execution_id: str, rest: Any, *said: Any) -> None:
        if rest is None:
            settle(self, execution_id, rest, *said)

    monkeypatch.setattr(Waiting, "settle", silent)

    assert "waits in p1-, where nothing will settle it" in failure(ONE_ASKED)


def test_a_client_who_is_told_that_nobody_knows_of_a_run_that_is_well_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle = Waiting.settle

    def doubtful(self: Waiting, execution_id: str, rest: Any, error: Any, *more: Any) -> None:
        error = OutcomeUnknown("who knows?") if rest is not None else error
        settle(self, execution_id, None, error, *more)

    monkeypatch.setattr(Waiting, "settle", doubtful)

    assert "which is not closed" in failure(ONE_ASKED)


def test_an_end_that_is_told_while_its_slot_is_kept_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    move = Registry.move
    monkeypatch.setattr(Registry, "move", lambda self, agent_id, to: move(self, agent_id, to) if to != "rest" else None)

    assert "still kept the slot of clerk" in failure(ONE_ASKED)
