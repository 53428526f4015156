"""`pawl tail` and `pawl run --stream`: events as they come, for people and for programs."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from cli.shell import Shell, command, environment
from pawl import Event

TALKER = '''\
from pawl import Agent, call, scripted, streamed, tool

@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b

def loud(text: str) -> str:
    return text.upper()

talker = Agent(name="talker", tools=[add], model=scripted([
    streamed("Let me ", "see\\x1b[2J.", call("add", a=1, b=2)), streamed("It is\\n", "thr", "ee.")]))
filtered = Agent(name="filtered", model=scripted(["quiet please"]), output_filters=[loud])
silent = Agent(name="silent", model=scripted([""]))
'''


def lines(text: str) -> list[list[str]]:
    return [line.split()[:2] for line in text.splitlines()]


def test_tail_prints_each_event_with_its_cursor(shell: Shell) -> None:
    execution, request = shell.started()

    ran = shell("tail", execution[:8])

    assert (ran.code, ran.err) == (0, "")
    assert lines(ran.out) == [*[["4", "tool_call"]] * 3, ["5", "approval_required"]]
    assert f"{request}: c2, c3" in ran.out


def test_tail_names_the_calls_of_a_request_before_and_after_they_are_decided(shell: Shell) -> None:
    execution, request = shell.started()

    def asked() -> list[str]:
        (line,) = [one for one in shell("tail", execution).out.splitlines() if "approval_required" in one]
        return line.partition(": ")[2].split(", ")

    assert asked() == ["c2", "c3"]
    assert shell("approve", request, "--item", "c2").code == 0
    assert asked() == ["c3"]
    assert shell("approve", request).code == 0
    assert asked() == ["c2", "c3"]  # decided, and no host has let them go yet
    assert shell("approve", request, "--app", "clerk").code == 0
    assert asked() == ["c2", "c3"]


def test_tail_goes_on_behind_a_cursor(shell: Shell) -> None:
    execution, _ = shell.started()
    shell("approve", execution, "--app", "clerk")

    all_of, rest = shell("tail", execution), shell("tail", execution, "--after", "5")

    assert all_of.out.endswith(rest.out)
    assert lines(rest.out) == [["7", "tool_result"], ["9", "tool_result"], ["11", "tool_result"], ["16", "done"]]
    assert shell("tail", execution, "--after", "16").out == ""


def test_tail_as_json_is_one_event_a_line(shell: Shell) -> None:
    execution, request = shell.started()

    found = [Event.from_dict(json.loads(line)) for line in shell("tail", execution, "--json").out.splitlines()]

    assert [event.cursor for event in found] == [4, 4, 4, 5]
    assert [event.more for event in found] == [True, True, False, False]
    assert found[-1].data["request"]["id"] == request


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing",), "no execution has an id that starts with 'nothing'"),
        (("{x}", "--after", "900"), "after=900 is a place that execution"),
        (("{x}", "--after", "-1"), "Invalid value for '--after'"),
    ],
)
def test_tail_says_what_is_wrong(shell: Shell, arguments: tuple[str, ...], says: str) -> None:
    execution, _ = shell.started()

    ran = shell("tail", *(part.format(x=execution) for part in arguments))

    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_tail_makes_no_store(shell: Shell) -> None:
    assert shell("tail", "x1").code == 2
    assert list(shell.folder.iterdir()) == []


def test_following_a_run_that_has_ended_ends(shell: Shell) -> None:
    shell.write("talker.py", TALKER)
    execution = shell("run", "talker:talker", "go", "--json").json["execution_id"]

    assert shell("tail", execution, "-f").out == shell("tail", execution).out


def test_following_goes_through_rests_until_the_run_has_ended(shell: Shell) -> None:
    execution, _ = shell.started()
    with subprocess.Popen(
        command("tail", execution, "--follow"), cwd=shell.folder, env=environment(), stdout=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        seen = [following.stdout.readline() for _ in range(4)]
        assert lines("".join(seen))[-1] == ["5", "approval_required"]

        shell("approve", execution, "--app", "clerk")

        rest, _ = following.communicate(timeout=30)
        assert following.returncode == 0
    assert lines(rest)[-1] == ["16", "done"]
    assert lines("".join(seen) + rest) == lines(shell("tail", execution).out)


def test_following_ends_with_ctrl_c_and_touches_nothing(shell: Shell) -> None:
    execution, _ = shell.started()
    before = shell("show", execution, "--json").json
    with subprocess.Popen(
        command("tail", execution, "--follow"), cwd=shell.folder, env=environment(), stdout=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        following.stdout.readline()
        following.send_signal(signal.SIGINT)
        following.communicate(timeout=30)
        assert following.returncode == 130
    assert shell("show", execution, "--json").json == before


def test_tail_asks_about_what_nobody_knows(shell: Shell) -> None:
    shell.crashed()
    name = shell("ls", "--json").json["executions"][0]["execution_id"]
    shell("run", "crasher", "charge it", "--id", "r1")

    assert lines(shell("tail", name).out) == [["4", "tool_call"], ["-", "recovery_resolution_required"]]


# run --stream -----------------------------------------------------------------------------------------------


def test_a_streamed_run_prints_the_text_as_it_comes_and_once(shell: Shell) -> None:
    shell.write("talker.py", TALKER)

    ran = shell("run", "talker:talker", "go", "--stream")

    assert ran.code == 0
    told = ran.out.splitlines()
    assert "Let me see\\x1b[2J." in told, "on a line of its own, and it cannot move the cursor"
    assert told[told.index("It is") + 1] == "three."
    assert ran.out.count("three.") == 1
    assert [line.split()[1] for line in told if line[2:3] == ":"] == ["run", "tool_call", "tool_result", "done"]
    assert told[-1].startswith("completed  x")


def test_what_filters_made_of_the_text_is_printed_once(shell: Shell) -> None:
    shell.write("talker.py", TALKER)

    ran = shell("run", "talker:filtered", "go", "--stream")

    assert ran.out.count("QUIET PLEASE") == 1
    assert "quiet" not in ran.out


def test_without_stream_the_text_comes_at_the_end(shell: Shell) -> None:
    shell.write("talker.py", TALKER)

    ran = shell("run", "talker:talker", "go")

    assert "Let me" not in ran.out
    assert ran.out.splitlines()[-1] == "three."


def test_an_answer_without_text_streams_as_nothing(shell: Shell) -> None:
    shell.write("talker.py", TALKER)

    assert shell("run", "talker:silent", "go", "--stream").out.splitlines()[-1].startswith("completed  x")


def test_a_streamed_run_to_a_rest_says_what_to_do(shell: Shell) -> None:
    execution, _ = shell.started("--db", "other.db")
    ran = shell("run", "clerk", "hello", "--stream")

    assert ran.code == 3
    assert "pawl approve" in ran.out
    assert execution not in ran.out


def test_streaming_and_json_exclude_each_other(shell: Shell) -> None:
    shell.write("talker.py", TALKER)

    ran = shell("run", "talker:talker", "go", "--stream", "--json")

    assert (ran.code, ran.out) == (2, "")
    assert "use one of them" in ran.err
