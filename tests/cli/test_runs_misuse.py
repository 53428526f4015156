"""What is wrong is one line that says what to do, an exit code, and nothing left behind."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from cli.shell import CLERK, Ran, Shell

READS = [
    ("ls",),
    ("show", "x1"),
    ("approve", "x1"),
    ("reject", "x1"),
    ("cancel", "x1"),
    ("resolve", "x1", "c1", "not-performed"),
]


def one_line(ran: Ran, code: int) -> str:
    """The one line on stderr of a command that failed as it should."""
    assert (ran.code, ran.out) == (code, ""), ran
    assert ran.err.startswith("pawl: "), ran.err
    assert ran.err.count("\n") == 1, ran.err
    return ran.err


# stores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", READS, ids=lambda words: words[0])
def test_looking_for_a_store_that_is_not_there_makes_none(shell: Shell, words: tuple[str, ...]) -> None:
    said = one_line(shell(*words, "--db", "sqlite:///typo.db"), 2)

    assert "there is no store at typo.db" in said
    assert list(shell.folder.iterdir()) == []


@pytest.mark.parametrize("words", READS, ids=lambda words: words[0])
def test_a_file_that_is_no_database_is_left_as_it_is(shell: Shell, words: tuple[str, ...]) -> None:
    path = shell.write(
        "notes.txt", "buy milk, and a longer line than the header of a database would be, to be sure\n" * 9
    )
    before = path.read_bytes()

    said = one_line(shell(*words, "--db", "notes.txt"), 2)

    assert "not an SQLite database" in said
    assert said.endswith("; name the right one, or restore a backup\n")
    assert path.read_bytes() == before
    assert [each.name for each in shell.folder.iterdir()] == ["notes.txt"]


def test_a_database_of_another_application_is_refused(shell: Shell) -> None:
    with closing(sqlite3.connect(shell.folder / "other.db")) as other:
        other.execute("CREATE TABLE t (x)")
        other.commit()

    assert "belongs to another application" in one_line(shell("ls", "--db", "other.db"), 2)


def test_an_empty_file_is_no_store(shell: Shell) -> None:
    path = shell.write("empty.db", "")

    assert "empty file" in one_line(shell("ls", "--db", "empty.db"), 2)
    assert path.stat().st_size == 0


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://host/db", "unknown kind of store 'mysql'"),
        ("sqlite://pawl.db", "one slash more"),
        ("sqlite:///pawl.db?sync=1", "unknown option sync"),
        ("memory://", "is gone with the process"),
        (".", "it is a folder"),
    ],
)
def test_a_place_that_cannot_be_a_store_is_told(shell: Shell, url: str, why: str) -> None:
    assert why in one_line(shell("ls", "--db", url), 2)


def test_a_run_that_waits_in_memory_is_told_that_nobody_can_go_on_with_it(shell: Shell) -> None:
    shell.write("clerk.py", CLERK)

    waits = shell("run", "clerk", "hello", "--db", "memory://")

    assert waits.code == 3
    assert waits.err == (
        "note: memory:// is gone with this process, and nobody can go on with the run; name a file with --db\n"
    )
    assert shell("run", "clerk", "hello").err == ""


def test_the_store_may_come_from_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    name, _ = shell.started("--db", "a.db")
    monkeypatch.setenv("PAWL_DB", "a.db")

    assert shell("show", name).code == 0
    assert "--db" not in shell("show", name).out
    monkeypatch.delenv("PAWL_DB")
    assert "--db a.db" in shell("show", name, "--db", "a.db").out


@pytest.mark.parametrize("number", [2**63, 2**63 + 1, 10**30])
def test_a_number_that_no_store_takes_is_refused_in_a_line(shell: Shell, number: int) -> None:
    name, _ = shell.started()

    tail, ls = shell("tail", name, "--after", str(number)), shell("ls", "--limit", str(number))

    assert (tail.code, tail.out, ls.code, ls.out) == (2, "", 2, "")
    assert f"after={number} is no cursor of execution {name}" in tail.err
    assert f"--limit {number} is more than any store holds" in ls.err
    assert "Traceback" not in tail.err + ls.err


# ids ---------------------------------------------------------------------------------------------------------


def test_an_id_of_nothing_is_told(shell: Shell) -> None:
    shell.started()

    for words in READS[1:]:
        said = one_line(shell(words[0], "nothing", *words[2:]), 2)
        assert "no execution has an id that starts with 'nothing'" in said
    assert "no pending request" in one_line(shell("approve", "request-none"), 2)
    assert one_line(shell("show", ""), 2)


def test_an_ambiguous_prefix_lists_what_it_could_be(shell: Shell) -> None:
    first, _ = shell.started("--agent", "first")
    second, _ = shell.started("--agent", "second")

    for words in READS[1:]:
        said = one_line(shell(words[0], "x", *words[2:]), 2)
        assert first in said
        assert second in said
    assert "several ids" in one_line(shell("approve", "request-"), 2)


def test_the_beginning_of_an_id_is_enough(shell: Shell) -> None:
    name, request = shell.started()

    assert shell("show", name[:2]).code == 0
    assert shell("approve", request[:10], "--item", "c2").code == 0


# code --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nowhere", "there is no module 'nowhere'"),
        ("nowhere.deep", "there is no module 'nowhere'"),
        ("two", "has 2 agents; say which: two:one, two:other"),
        ("two:three", "has no 'three'; its agents: one, other"),
        ("two:number", "is a int, and no Agent"),
        ("two:words", "is a list, and no Agent"),
        ("none", "has no Agent"),
        ("raises", "raises.py:2: KeyError: 'TOKEN'"),
        ("leaves", "leaves.py:2: SystemExit: 4"),
        ("broken", "broken.py:1: SyntaxError"),
        ("needs", "No module named 'not_installed'"),
        ("clerk.py", "without .py and with dots: clerk"),
        ("a/clerk.py", "without .py and with dots: a.clerk"),
        ("clerk:", "names no module"),
        (":clerk", "names no module"),
        ("two words", "names no module"),
    ],
)
def test_code_that_cannot_be_used_is_told_without_a_traceback(shell: Shell, given: str, why: str) -> None:
    shell.write("two.py", CLERK + "\none = clerk\ndel clerk\nother = Agent(name='other', model=scripted(['x']))\n"
                "number = 3\nwords = ['a']\n")  # fmt: skip
    shell.write("none.py", "x = 1\n")
    shell.write("raises.py", "import os\nos.environ['TOKEN']\n")
    shell.write("leaves.py", "import sys\nsys.exit(4)\n")
    shell.write("broken.py", "def f(:\n")
    shell.write("needs.py", "import not_installed\n")

    said = one_line(shell("run", given, "hello"), 2)

    assert why in said
    assert not (shell.folder / "pawl.db").exists()


def test_a_list_of_agents_may_be_named(shell: Shell) -> None:
    shell.write("clerk.py", CLERK + "\nteam = (clerk,)\n")

    assert shell("run", "clerk:team", "hello").code == 3


def test_code_of_another_agent_decides_nothing(shell: Shell) -> None:
    name, request = shell.started()
    shell.write("other.py", "from pawl import *\nother = Agent(name='other', model=scripted(['x']))\n")

    for words in (("approve", request), ("cancel", name), ("resolve", name, "c2", "not-performed")):
        said = one_line(shell(*words, "--app", "other"), 2)
        assert "of the agent 'clerk', which other has not (it has other)" in said
    assert shell("show", name, "--json").json["on_disk"]["revision"] == 2


def test_debug_adds_the_traceback(shell: Shell) -> None:
    shell.write("raises.py", "import os\nos.environ['TOKEN']\n")

    ran = shell("--debug", "run", "raises", "hello")

    assert ran.code == 2
    assert "Traceback" in ran.err
    assert ran.err.splitlines()[-1].startswith("pawl: importing raises failed")


def test_an_error_cannot_move_the_cursor_either(shell: Shell) -> None:
    _, request = shell.started()

    said = one_line(shell("approve", request, "--item", "c\x1b[2J"), 2)

    assert "\x1b" not in said
