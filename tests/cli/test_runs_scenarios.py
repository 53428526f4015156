"""`pawl scenario`: one line each, the first difference with its place, and an exit code that says whether all hold."""

from __future__ import annotations

import json

import pytest

from cli.shell import Shell
from pawl.runtime.records.tools import ToolRow

GOOD = """\
# A run without anything special.
scenario: 1
name: a tool is called
agents:
  clerk: {tools: {add: {returns: 3}}}
model:
  clerk: [{calls: [{id: c1, tool: add}]}, {text: done}]
steps:
  - start: {agent: clerk, input: go, as: r1}
expect:
  r1: {outcome: completed}
"""
BAD = GOOD.replace("{outcome: completed}", "{outcome: failed}").replace("a tool", "another tool")


def test_scenarios_that_hold_are_a_line_each(shell: Shell) -> None:
    shell.write("two.yaml", f"{GOOD}---\n{GOOD.replace('a tool', 'the same tool')}")
    ran = shell("scenario", "run", "two.yaml")

    assert ran == (0, "ok    a tool is called\nok    the same tool is called\n", "")


def test_a_difference_is_told_with_its_place_and_an_exit_code(shell: Shell) -> None:
    shell.write("two.yaml", f"{GOOD}---\n{BAD}")
    ran = shell("scenario", "run", "two.yaml")

    assert ran.code == 1
    assert ran.out == (
        "ok    a tool is called\n"
        "FAIL  another tool is called\n"
        "      two.yaml:23:7: r1.outcome: expected failed, actual completed\n"
    )


def test_a_folder_is_all_its_files(shell: Shell) -> None:
    (shell.folder / "more").mkdir()
    shell.write("a.yaml", GOOD)
    shell.write("more/b.yml", BAD)

    assert shell("scenario", "run", ".").out.splitlines()[:2] == [
        "ok    a tool is called",
        "FAIL  another tool is called",
    ]


@pytest.mark.parametrize("store", ["memory", "sqlite", "sqlite:///new.db"])
def test_they_are_played_on_any_store(shell: Shell, store: str) -> None:
    shell.write("two.yaml", f"{GOOD}---\n{GOOD}")

    assert shell("scenario", "run", "two.yaml", "--store", store).code == 0
    assert sorted(path.name for path in shell.folder.glob("*.db")) == (["new-2.db", "new.db"] if "new" in store else [])


def test_json_has_places_and_traces(shell: Shell) -> None:
    shell.write("bad.yaml", BAD)
    ran = shell("scenario", "run", "bad.yaml", "--json", "--trace")

    (told,) = ran.json["scenarios"]
    assert (ran.code, ran.json["ok"], told["ok"], told["name"]) == (1, False, False, "another tool is called")
    assert told["failure"] == "r1.outcome: expected failed, actual completed"
    assert told["at"] == {"file": "bad.yaml", "line": 11, "column": 7}
    assert told["trace"][-1] == "    0.000s p1 r1: settled --> completed"
    assert "trace" not in json.loads(shell("scenario", "run", "bad.yaml", "--json").out)["scenarios"][0]


def test_a_trace_is_the_same_for_the_same_seed(shell: Shell) -> None:
    shell.write("good.yaml", GOOD)
    first, second = (shell("scenario", "run", "good.yaml", "--trace", "--seed", "3").out for _ in range(2))

    assert first == second
    assert first.splitlines()[-2:] == ["    0.000s p1 r1: settled --> completed", "ok    a tool is called"]


def test_what_is_wrong_with_a_file_is_told_and_the_others_are_played(shell: Shell) -> None:
    shell.write("good.yaml", GOOD)
    shell.write("wrong.yaml", GOOD.replace("agents", "agent"))
    ran = shell("scenario", "run", "good.yaml", "wrong.yaml")

    assert (ran.code, ran.out) == (1, "ok    a tool is called\n")
    assert ran.err == "wrong.yaml:4:1: Y12 unknown key 'agent'; did you mean 'agents'?\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("missing.yaml",), "pawl: there is no file missing.yaml\n"),
        (("empty",), "pawl: there is no .yaml file in empty\n"),
        (
            ("good.yaml", "--store", "postgres:///x"),
            "pawl: --store postgres:///x is no store that scenarios are played",
        ),
        (("good.yaml", "--store", "sqlite:///good.yaml"), "pawl: good.yaml exists already; scenarios begin with an em"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(shell: Shell, words: tuple[str, ...], said: str) -> None:
    shell.write("good.yaml", GOOD)
    (shell.folder / "empty").mkdir()
    ran = shell("scenario", "run", *words)

    assert ran.code == 2
    assert ran.err.startswith(said), ran.err


def test_exploring_tells_how_much_was_tried(shell: Shell) -> None:
    shell.write("good.yaml", GOOD)

    assert shell("scenario", "explore", "good.yaml") == (0, "ok    a tool is called (39 disturbances)\n", "")
    ran = shell("scenario", "explore", "good.yaml", "--json").json
    at = {"file": "good.yaml", "line": 2, "column": 1}
    told = {"name": "a tool is called", "ok": True, "tried": 39, "refused": None, "at": at, "failures": []}
    assert ran == {"ok": True, "findings": [], "scenarios": [told]}


@pytest.mark.parametrize("word", ["run", "explore"])
def test_json_has_what_is_wrong_with_a_file(shell: Shell, word: str) -> None:
    shell.write("wrong.yaml", GOOD.replace("agent: clerk", "agent: clerc"))
    ran = shell("scenario", word, "wrong.yaml", "--json")

    assert (ran.code, ran.json["ok"], ran.json["scenarios"]) == (1, False, [])
    (found,) = ran.json["findings"]
    assert (found["rule"], found["file"], found["line"], found["column"]) == ("S01", "wrong.yaml", 9, 5)


def test_exploring_several_beside_each_other_tells_them_in_their_order(shell: Shell) -> None:
    shell.write("three.yaml", "---\n".join(GOOD.replace("a tool", f"tool {number}") for number in range(3)))
    ran = shell("scenario", "explore", "three.yaml", "--jobs", "2", "--store", "sqlite")

    assert ran.out == "".join(f"ok    tool {number} is called (39 disturbances)\n" for number in range(3))
    assert ran.code == 0


def test_exploring_needs_many_stores(shell: Shell) -> None:
    shell.write("good.yaml", GOOD)
    ran = shell("scenario", "explore", "good.yaml", "--store", "sqlite:///new.db")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("pawl: --store sqlite:///new.db is for one time, and many new ones are needed")


def test_exploring_prints_a_failure_as_a_scenario_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("good.yaml", GOOD)
    with monkeypatch.context() as patched:
        patched.setattr(ToolRow, "repeatable", property(lambda row: True))
        ran = shell("scenario", "explore", "good.yaml")
        shell.write("shown.yaml", ran.out[ran.out.index("---\n") :])
        shown = shell("scenario", "run", "shown.yaml")

    assert ran.code == 1
    assert ran.out.startswith("FAIL  a tool is called (")
    assert shown.code == 1
    assert "invariant I14: add (c1) was entered 2 times" in shown.out


def test_what_does_not_hold_is_not_explored(shell: Shell) -> None:
    shell.write("wrong.yaml", GOOD.replace("agent: clerk", "agent: clerc"))
    shell.write("teams.yaml", f"{GOOD}teams: {{crew: {{coordinator: clerk, workers: 1, worker: clerk}}}}\n")
    ran = shell("scenario", "explore", "wrong.yaml", "teams.yaml")

    assert ran.code == 1
    assert ran.err == "wrong.yaml:9:5: S01 'clerc' is not a definition or a logical agent; did you mean 'clerk'?\n"
    assert ran.out.splitlines()[1] == "      teams.yaml:12:15: teams are not supported yet, and 'crew' is one"
