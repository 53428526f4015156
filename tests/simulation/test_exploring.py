"""Exploring finds what a runtime does not make up for, and shows it as a scenario that anybody can run."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pawl import InvalidArguments
from pawl.runtime.barriers.answers import Found, Reading
from pawl.runtime.barriers.tool_outcome import ToolCommit
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.simulation.exploring import Explored, explore
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.running import explore_scenario, scenarios_of
from pawl.runtime.simulation.spelling import scenario_text
from pawl.runtime.simulation.steps import Advance
from pawl.runtime.store.port import Transaction

TEXT = """
scenario: 1
name: a payment
agents:
  clerk: {tools: {add: {returns: 3}, pay: {approval: ask, recovery: replay, returns: paid}}}
model:
  clerk: [{calls: [{id: c1, tool: add}, {id: c2, tool: pay}]}, {text: done}]
steps:
  - start: {agent: clerk, input: go, as: r1}
  - expect: {r1: {outcome: suspended}}
  - decide: {run: r1, approve: true}
expect:
  r1: {outcome: completed}
"""


def explored(text: str = TEXT, **options: bool) -> Explored:
    (scenario,) = scenarios_of(text)
    return explore(scenario, **options)


def test_every_place_is_tried_with_everything_that_can_go_wrong_there() -> None:
    tried: list[Fault] = []

    def noted(disturbances: list[tuple[Fault, ...]]) -> list[tuple[Fault, ...]]:
        tried.extend(fault for (fault,) in disturbances)
        return []

    explore_scenario(TEXT, sample=noted)

    places = {fault.at.split("/")[0] for fault in tried}
    assert places == {
        *("admission", "provider_dispatch", "suspension", "approval", "tool_dispatch", "tool_outcome", "outcome"),
        *("tool:add", "tool:pay", "model"),
    }
    at_outcome = [fault.do for fault in tried if fault.at.startswith("outcome/")]
    assert at_outcome == [
        *("crash_before_commit", "crash_after_commit", "lose_reply_committed", "lose_reply_rolled_back", "unavailable"),
    ]
    at_body = [fault.do for fault in tried if fault.at.startswith("tool:pay/")]
    assert at_body == ["crash_before_effect", "crash_during_effect", "crash_after_effect"]


def test_a_sound_runtime_makes_up_for_all_of_it() -> None:
    found = explored()

    assert (found.ok, found.tried, found.failures) == (True, 57, ())


def test_a_runtime_that_repeats_what_may_not_be_repeated_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolRow, "repeatable", property(lambda row: True))
    found = explored()

    assert not found.ok
    (failure,) = [one for one in found.failures if one.fault == "crash_after_effect at tool:add/r1/c1#1"]
    assert "I14: add (c1) was entered 2 times" in failure.what


def test_a_runtime_that_writes_again_what_has_landed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolCommit, "read_back", lambda self, tx: Reading(Found.CONFLICT))
    found = explored()

    assert {one.fault for one in found.failures} == {
        f"{do} at tool_outcome/r1/{call}#1"
        for do in ("lose_reply_committed", "lose_reply_rolled_back")
        for call in ("c1", "c2")
    }
    with pytest.raises(AssertionError, match="a payment, with lose_reply_committed at tool_outcome"):
        found.check()


def test_a_failure_is_a_scenario_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolCommit, "read_back", lambda self, tx: Reading(Found.CONFLICT))
    failure = explored().failures[0]
    (shown,) = scenarios_of(scenario_text(failure.scenario))

    assert [(fault.at, fault.do.kind) for fault in shown.faults] == [("tool_outcome#1", "lose_reply_committed")]
    assert not play(shown).ok
    monkeypatch.undo()
    assert play(shown).failure is None


def test_the_scenarios_own_faults_strike_where_they_did_whatever_else_goes_wrong() -> None:
    text = TEXT.replace("steps:", 'faults: [{at: "tool_outcome#1", do: crash_before_commit}]\nsteps:').replace(
        "expect:\n  r1: {outcome: completed}", "  - resolve: {run: r1, subject: c1, outcome: succeeded, result: 3}"
    )

    assert explored(text).check().tried > 57


HELD = """
scenario: 1
name: a call whose process is lost before its body
agents: {clerk: {tools: {pay: {returns: paid}}}}
model: {clerk: [{calls: [{id: c1, tool: pay}]}, {text: done}]}
steps:
  - hold: pay
  - start: {agent: clerk, input: go, as: r1}
  - crash: {}
  - reopen: {}
  - resolve: {run: r1, subject: c1, outcome: not_performed}
expect:
  r1: {outcome: completed}
"""


def test_a_hold_dies_with_its_process_also_where_a_disturbance_kept_the_call_from_meeting_it() -> None:
    found = explored(HELD)

    assert (found.ok, found.failures) == (True, ())


BUSY = """
scenario: 1
name: a run that is decided elsewhere while its asker still reads back
agents: {clerk: {tools: {pay: {approval: ask}}}}
model: {clerk: [{calls: [{id: c1, tool: pay}]}, {text: done}]}
faults:
  - {at: "suspension#1", do: {unreadable: 6}}
steps:
  - start: {agent: clerk, input: go, as: r1}
  - process: p2
  - decide: {run: r1, approve: true, in: p2}
  - advance: 10s
expect:
  r1: {outcome: completed}
"""


def test_an_answer_that_is_on_its_way_is_not_given_again() -> None:
    found = explored(BUSY)

    assert (found.ok, found.failures) == (True, ())


def test_how_far_it_is_is_told() -> None:
    told: list[tuple[int, int]] = []
    (scenario,) = scenarios_of(TEXT)
    explore(
        scenario, sample=lambda all_of_them: all_of_them[:3], progress=lambda done, total: told.append((done, total))
    )

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_pairs_are_two_places_at_once() -> None:
    text = "\nscenario: 1\nname: x\nagents: {clerk: {}}\nmodel: {clerk: [{text: hi}]}\nsteps:\n" + (
        "  - start: {agent: clerk, input: go, as: r1}\n"
    )
    single, both = explored(text), explored(text, pairs=True)

    assert (single.ok, single.tried) == (True, 18)
    assert (both.ok, both.tried) == (True, 18 + 18 * 17 // 2 - 3 * 10 - 3)


def test_what_does_not_hold_undisturbed_is_not_explored() -> None:
    found = explored(TEXT.replace("approve: true", "approve: true, request: stale"))

    assert found.refused is not None
    assert found.refused.startswith("it does not even hold undisturbed: `decide` raised StaleRequest")
    with pytest.raises(AssertionError, match="a payment: it does not even hold"):
        found.check()


@pytest.mark.parametrize("line", ["  - expect: {r1: {outcome: suspended}}", "  r1: {outcome: completed}"])
def test_what_is_not_as_the_file_expects_is_not_explored(line: str) -> None:
    found = explored(TEXT.replace(line, line.replace("suspended", "running").replace("completed", "failed")))

    assert found.refused is not None
    assert found.refused.startswith("it does not even hold undisturbed: r1.outcome: expected")
    assert found.at is not None
    assert found.at.line == TEXT.splitlines().index(line) + 1


def test_answers_left_over_do_not_keep_it_from_being_explored() -> None:
    assert explored(TEXT.replace("{text: done}", "{text: done}, {text: more}")).refused is None


def _unreadable(commit: ToolCommit, tx: Transaction) -> Reading:
    raise OSError("the disk is gone")


def test_time_that_passes_is_shown_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolCommit, "read_back", _unreadable)
    failures = [one for one in explored().failures if "lose_reply_committed at tool_outcome" in one.fault]
    steps = [type(step) for step in failures[0].scenario.steps]

    assert Advance in steps
    assert (Advance, Advance) not in pairwise(steps)
    assert not play(failures[0].scenario).ok


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="Y13"):
        explore_scenario("name: x\n")


HELD = """
scenario: 1
name: a body and a model call that are held
agents: {clerk: {tools: {add: {recovery: replay, returns: "3"}}}}
model: {clerk: [{calls: [{id: c1, tool: add}]}, {text: done}]}
steps:
  - hold: add
  - start: {agent: clerk, input: go, as: r1}
  - hold: model
  - release: add
  - release: model
"""


def test_what_is_held_is_disturbed_when_it_begins() -> None:
    (held,) = scenarios_of(HELD)
    played = play(held).check()
    barriers = sum(line.endswith(": committed") for line in played.trace)

    assert barriers == 6
    assert explore(held).check().tried == 5 * barriers + 3 * 3
