"""Scenarios are played over the production heart: what they say holds or is told, the same in every run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pawl import InvalidArguments
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.simulation.playing import Played, play
from pawl.runtime.simulation.running import run_scenario, scenarios_of
from pawl.runtime.simulation.scenario import Scenario
from pawl.runtime.simulation.spelling import scenario_text

FILES = sorted((Path(__file__).parents[1] / "scenarios").rglob("*.yaml"))

HEAD = """
scenario: 1
name: one tool
agents:
  clerk: {tools: {add: {returns: 3}, slow: {takes: 5s}, pay: {approval: ask}}}
model:
  clerk: [{calls: [{id: c1, tool: add}]}, {text: done}]
steps:
  - start: {agent: clerk, input: go, as: r1}
"""


def scenario(text: str) -> Scenario:
    (made,) = scenarios_of(text)
    return made


def played(text: str) -> Played:
    return play(scenario(text))


# what a failure says --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("expect: {r1: {outcome: failed}}", 10, "r1.outcome: expected failed, actual completed"),
        ("expect: {r1: {output: gone}}", 10, "r1.output: expected gone, actual done"),
        ("expect: {r1: {error: ToolError}}", 10, "r1.error: expected ToolError, actual null"),
        ("expect: {r1: {revision: 3}}", 10, "r1.revision: expected 3, actual 4"),
        ("expect: {r1: {status: failed}}", 10, "r1.status: expected failed, actual completed"),
        ("expect: {r1: {state: failed}}", 10, "r1.state: expected failed, actual completed"),
        ("expect: {r1: {pending: [c1]}}", 10, "r1.pending: expected [c1], actual []"),
        ("expect: {r1: {unresolved: [c1]}}", 10, "r1.unresolved: expected [c1], actual []"),
        ("expect: {r1: {usage: {output: 1}}}", 10, "r1.usage.output: expected 1, actual 0"),
        ("expect: {r1: {keys: {c2: same}}}", 10, "r1.keys.c2: expected an attempt, actual []"),
        ("expect: {r1: {events: [done]}}", 10, "r1.events: expected [done], actual [tool_call, tool_result, done]"),
        (
            "expect: {r1: {events: {includes: [done, tool_call]}}}",
            10,
            "r1.events (includes, in order): expected [done, tool_call], actual [tool_call, tool_result, done]",
        ),
        ("expect: {effects: {}}", 10, "effects: expected {}, actual {add: 1}"),
        ("expect: {effects: {slow: 1}}", 10, "effects: expected {slow: 1}, actual {add: 1}"),
        ("expect: {model_calls: {clerk: 3}}", 10, "model_calls: expected {clerk: 3}, actual {clerk: 2}"),
        ("expect: {admission: {clerk: executing}}", 10, "admission.clerk: expected executing, actual vacant"),
        ("expect: {owner: {clerk: p1}}", 10, "owner.clerk: expected p1, actual none"),
        ("expect: {stale: {llm_completed: 1}}", 10, "stale.llm_completed: expected 1, actual 0"),
        ("expect: {transcript: {clerk: [user]}}", 10, "transcript.clerk: expected [user], actual [user, assistant, "),
        ("expect: {model_input: {clerk: {2: {lacks: [go]}}}}", 10, "model_input.clerk.2: expected nothing with go"),
        ("expect: {model_input: {clerk: {3: {contains: [x]}}}}", 10, "model_input.clerk.3: expected attempt 3"),
        ("  - expect: {r1: {outcome: failed}}", 10, "r1.outcome: expected failed, actual completed"),
        ("  - decide: {run: r1, approve: true}", 10, "`decide` raised StaleRequest: "),
        ("  - release: add", 10, "no call of 'add' is held"),
        ("  - reopen: {}", 10, "`reopen` while the process lives"),
        ("  - redeliver: {event: nothing, of: r1}", 10, "run 'r1' was told no 'nothing'; it was told "),
        (
            "  - fails: {step: {cancel: {run: r1}}, with: AgentBusy}",
            10,
            "`cancel` was to raise AgentBusy, and raised no",
        ),
        (
            "  - fails: {step: {decide: {run: r1, approve: true}}, with: AgentBusy}",
            10,
            "`decide` was to raise AgentBusy, and raised StaleRequest: ",
        ),
        ("  - close: {}\n  - start: {agent: clerk, input: x, as: r2}", 11, "`start` raised RuntimeClosed: "),
    ],
)
def test_a_difference_is_told_with_its_place(more: str, line: int, said: str) -> None:
    found = played(f"{HEAD}{more}\n")

    assert found.failure is not None
    assert found.failure.startswith(said), found.failure
    assert found.at is not None
    assert found.at.line == line


def test_an_answer_that_nobody_asked_for_is_told() -> None:
    found = played(HEAD.replace("{text: done}", "{text: done}, {text: more}"))

    assert found.failure == "1 answer of model 'clerk' was never asked for"


def test_a_model_without_an_answer_fails_the_run_and_says_what_to_add() -> None:
    found = played(f"{HEAD.replace(', {text: done}', '')}expect: {{r1: {{outcome: completed}}}}\n")

    wrong = "ModelError: the scenario has no answer number 2 for clerk; add one"
    assert found.failure == f"r1.outcome: expected completed, actual failed ({wrong})"


def test_a_run_that_waits_for_no_decision_is_named_with_what_it_has_come_to() -> None:
    found = played(f"{HEAD}  - decide: {{run: r1, approve: true}}\n")

    assert found.failure == "`decide` raised StaleRequest: run 'r1' waits for no decision; it is completed"


def test_a_trace_tells_the_steps_and_where_faults_strike() -> None:
    faults = 'faults: [{at: "admission#1", do: crash_before_commit}]\nsteps:'
    trace = played(HEAD.replace("steps:", faults)).trace
    told = [line.split(maxsplit=1)[1] for line in trace if " step " in line or "crash" in line]

    start = "step start: {agent: clerk, input: go, as: r1}"
    assert told == [start, "p1 r1: crash_before_commit at admission#1", f"{start} (again)"]


@pytest.mark.parametrize(
    ("what", "where"),
    [
        ("teams: {crew: {coordinator: clerk, workers: 2, worker: clerk}}\nsteps: []", 6),
        (
            "steps:\n  - team: {team: crew, input: x, as: t1}\n"
            "teams: {crew: {coordinator: clerk, workers: 2, worker: clerk}}",
            8,
        ),
        ("model: {clerk: [{handoff: billing, responsibility: x}]}", 6),
        ('faults:\n  - {at: "park#1", do: crash_before_commit}', 7),
    ],
)
def test_what_cannot_be_played_yet_is_named_with_its_place(what: str, where: int) -> None:
    found = played(f"\nscenario: 1\nname: x\nagents:\n  clerk: {{}}\n{what}\n")

    assert found.unsupported
    assert found.failure is not None
    assert "not supported yet" in found.failure
    assert found.at is not None
    assert found.at.line == where


@pytest.mark.parametrize("key", ["subagents: {helper: {agent: clerk}}", "handoffs: {billing: {agent: clerk}}"])
def test_definitions_that_coordinate_are_read_and_not_played(key: str) -> None:
    found = played(f"\nscenario: 1\nname: x\nagents:\n  clerk: {{{key}}}\n")

    assert (found.unsupported, str(found.at)) == (True, "scenario:5:10")


# invariants -----------------------------------------------------------------------------------------------------------


def test_a_runtime_that_repeats_what_it_must_ask_about_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolRow, "repeatable", property(lambda row: True))
    found = played(HEAD.replace("steps:", 'faults: [{at: "tool_outcome#1", do: crash_before_commit}]\nsteps:'))

    assert found.failure == "invariant I14: add (c1) was entered 2 times"


# the same, always -----------------------------------------------------------------------------------------------------


def _traced(seed: int | None) -> list[tuple[str, ...]]:
    chosen = [path for path in FILES if path.stem in ("recovering", "streaming", "two_processes", "three_policies")]
    return [play(one, seed=seed).trace for path in chosen for one in scenarios_of(path)]


@pytest.mark.parametrize("seed", [None, 7])
def test_the_same_seed_is_the_same_trace(seed: int | None) -> None:
    assert _traced(seed) == _traced(seed)


def test_a_trace_is_the_same_on_every_python(rewrite: bool) -> None:
    text = "".join(f"{line}\n" for seed in (None, 7) for trace in _traced(seed) for line in (*trace, ""))
    golden = Path(__file__).parents[1] / "golden" / "scenario_traces.txt"
    if rewrite:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_a_definition_that_no_runtime_takes_is_named_with_its_place() -> None:
    found = played(HEAD.replace("clerk", "a clerk"))

    assert found.failure is not None
    assert found.failure.startswith("'a clerk' cannot be the name of an agent")
    assert str(found.at) == "scenario:5:12"


def test_a_seed_draws_an_order() -> None:
    two = HEAD.replace("{id: c1, tool: add}", "{id: c1, tool: add}, {id: c2, tool: add}")
    assert len({play(scenario(two), seed=seed).trace for seed in range(8)}) > 1


def test_a_trace_has_transitions_answers_and_dropped_events() -> None:
    trace = play(scenario(f"{HEAD}  - redeliver: {{event: llm_completed, of: r1}}\n")).trace

    assert "    0.000s p1 r1: admission: committed" in trace
    assert "    0.000s p1 r1: [c1] queued --> running" in trace
    assert "    0.000s p1 r1: settled --> completed" in trace
    assert trace[-1] == "    0.000s p1 r1: dropped: llm_completed"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_written_reads_back_as_the_same_scenario(path: Path) -> None:
    for one in scenarios_of(path):
        assert scenarios_of(scenario_text(one)) == (one,)


# in tests of an application -------------------------------------------------------------------------------------------


def test_a_file_or_a_text_is_run_in_one_call(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(HEAD, encoding="utf-8")

    assert [one.ok for one in run_scenario(tmp_path / "one.yaml")] == [True]
    assert [one.ok for one in run_scenario(HEAD)] == [True]
    assert [one.ok for one in run_scenario(scenario(HEAD))] == [True]


def test_one_that_does_not_hold_fails_the_test_with_its_place() -> None:
    with pytest.raises(
        AssertionError, match=r"scenario:10:14: one tool: r1.outcome: expected failed, actual completed"
    ):
        run_scenario(f"{HEAD}expect: {{r1: {{outcome: failed}}}}\n")


def test_one_that_cannot_be_read_says_everything_that_is_wrong() -> None:
    with pytest.raises(InvalidArguments, match=r"(?s)scenario:1:1: Y12 unknown key 'nme'; .*scenario:1:1: Y13 "):
        run_scenario("nme: x\n")


def test_a_run_without_a_record_is_expected_to_have_none() -> None:
    expected = "expect: {r1: {outcome: refused, status: null, phase: null, revision: null, state: null}}"
    text = f"""
scenario: 1
name: a start that is refused
agents: {{clerk: {{}}}}
faults: [{{at: "admission#1", do: {{refuse: too_large}}}}]
steps:
  - fails: {{step: {{start: {{agent: clerk, input: go, as: r1}}}}, with: InvalidArguments}}
{expected}
"""
    (played,) = run_scenario(text)
    assert played.notes == ()

    with pytest.raises(AssertionError, match="status: expected null, actual completed"):
        run_scenario(DONE + "expect: {r1: {status: null}}\n")


def test_a_fault_that_was_never_reached_is_noted_and_so_is_an_answer_that_is_not_there() -> None:
    (scenario,) = scenarios_of(DONE + "faults: [{at: 'outcome#2', do: crash_before_commit}]\n")
    (silent,) = scenarios_of(DONE.replace("[{text: done}]", "[]"))

    assert play(scenario).notes == ("scenario:7:10: the fault crash_before_commit at outcome#2 was never reached",)
    assert play(silent).notes == ("scenario:2:1: model 'clerk' was asked for answer number 1, and has none",)


DONE = """
scenario: 1
name: a run that ends
agents: {clerk: {}}
model: {clerk: [{text: done}]}
steps: [{start: {agent: clerk, input: go, as: r1}}]
"""
