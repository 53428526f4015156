"""pawl fsck, gc, dump and load, as people and programs meet them."""

from __future__ import annotations

import io
import json
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from cli.shell import CLERK, Shell
from pawl.tools.cli.clearing import seconds, size
from pawl.tools.cli.output import Misuse
from pawl.tools.cli.progress import bar


def changed(shell: Shell, *statements: str) -> None:
    connection = sqlite3.connect(shell.folder / "pawl.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


# --- fsck ---


def test_a_whole_store_is_told_well(shell: Shell) -> None:
    shell.started()
    ran = shell("fsck")
    looked_at = "looked at 1 agent, 1 execution, 5 journal records, 2 contents"
    assert (ran.code, ran.out, ran.err) == (0, "", f"pawl.db: all is well; {looked_at}\n")
    said = shell("fsck", "--json").json
    assert (said["store"], said["findings"]) == ("pawl.db", [])
    assert (said["looked_at"]["executions"], said["looked_at"]["tools"]) == (1, 3)


def test_what_is_wrong_is_told_with_its_place(shell: Shell) -> None:
    execution, _ = shell.started()
    changed(shell, "UPDATE executions SET revision = 77", "UPDATE contents SET body = 'other' WHERE body = 'hello'")
    ran = shell("fsck")
    assert ran.code == 1
    first, second = ran.out.splitlines()
    assert first.startswith(
        f"column: agent clerk, execution {execution}, executions {execution}: revision is 77 beside"
    )
    assert second.startswith("body: contents sha256:")
    assert ran.err == "2 findings in pawl.db; nothing was changed\n"
    ran = shell("fsck", "--json")
    assert ran.code == 1
    assert [finding["rule"] for finding in ran.json["findings"]] == ["column", "body"]
    assert ran.json["findings"][0]["execution_id"] == execution


def test_a_store_of_another_version_is_a_finding(shell: Shell) -> None:
    shell.started()
    changed(shell, "PRAGMA user_version = 99")
    ran = shell("fsck")
    assert ran.code == 1
    assert "schema: file: pawl.db: this store has schema 99, this Pawl knows" in ran.out
    (shell.folder / "pawl.db").write_text("all my notes\n" * 100)
    assert shell("fsck").out.startswith("file: pawl.db: ")
    ran = shell("fsck", "--json")
    assert ran.code == 1
    assert ran.json["findings"][0]["rule"] == "file"


def test_what_is_not_there_is_no_finding(shell: Shell) -> None:
    ran = shell("fsck")
    assert ran.code == 2
    assert "there is no store at pawl.db (the default)" in ran.err
    assert not (shell.folder / "pawl.db").exists()
    assert shell("fsck", "--db", "memory://").code == 2


def test_a_record_that_no_command_can_read_is_found_by_fsck(shell: Shell) -> None:
    execution, _ = shell.started()
    changed(shell, """UPDATE executions SET record = replace(record, '"v":1', '"v":2')""")
    ran = shell("show", execution)
    assert ran.code == 2
    assert ran.err == "pawl: execution: version 2 is not known here, only 1; upgrade Pawl; `pawl fsck` says where\n"
    assert execution in shell("fsck").out


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("UPDATE executions SET record = replace(record, '\"v\":1', '\"v\":2') WHERE id = 2", "version 2 is not known"),
        ("UPDATE executions SET record = CAST(X'7bff7d' AS TEXT) WHERE id = 2", "a lone surrogate"),
        ("UPDATE executions SET record = X'7b7d' WHERE id = 2", "not JSON"),
        ("UPDATE executions SET record = (SELECT record FROM executions WHERE id = 1) WHERE id = 2", "says it is"),
        ("UPDATE agents SET record = '{}' WHERE id = 2", "not an envelope"),
        ("UPDATE contents SET body = 'other' WHERE body = 'second'", "is not what was written"),
    ],
    ids=["version", "no UTF-8", "no text", "of another", "its agent", "its input"],
)
def test_one_that_is_damaged_is_listed_in_its_place_and_hides_no_other(shell: Shell, damage: str, why: str) -> None:
    shell.write("clerk.py", CLERK)
    for number, text in enumerate(("first", "second", "third"), 1):
        assert shell("run", "clerk", text, "--agent", f"a{number}").code == 3
    names = [one["execution_id"] for one in shell("ls", "--json").json["executions"]]
    changed(shell, damage)
    for options in ((), ("--open",)):
        ran = shell("ls", *options)
        assert ran.code == 0
        assert [line.split()[0] for line in ran.out.splitlines()[1:]] == names
        assert [line.split()[1:3] for line in ran.out.splitlines()[1:]] == [
            ["a1", "suspended"],
            ["a2", "unreadable"],
            ["a3", "suspended"],
        ]
        assert ran.err.startswith(f"execution {names[1]} cannot be read (")
        assert why in ran.err
        assert ran.err.endswith("; `pawl fsck` says what is wrong in the store\n")
        assert ran.err.count("\n") == 1
    listed = shell("ls", "--json").json["executions"]
    assert [one["unreadable"] is None for one in listed] == [True, False, True]
    assert [listed[0].keys()] * 3 == [one.keys() for one in listed]
    assert (why in listed[1]["unreadable"], listed[1]["state"], listed[1]["status"]) == (True, "unreadable", None)
    assert [shell("show", names[place]).code for place in (0, 2)] == [0, 0]
    assert shell("fsck").code == 1
    assert shell("approve", listed[2]["request_id"][:-4]).code == 0


# --- gc ---


def test_what_goes_is_told(shell: Shell) -> None:
    shell.started()
    shell("cancel", shell("ls", "--json").json["executions"][0]["execution_id"])
    ran = shell("gc", "--keep", "0s", "--dry-run", "--idle-agents")
    assert ran.out == "nothing to remove\n"  # it was asked to stop, and has not ended
    ran = shell("gc", "--keep", "0s")
    assert ran.code == 0
    assert ran.err == "1 agent: the oldest execution that is left is open\n"


def test_what_goes_is_counted(shell: Shell) -> None:
    _, request = shell.started()
    shell("approve", request, "--app", "clerk")
    assert shell("gc", "--keep", "0s").out == "nothing to remove\n"
    said = shell("gc", "--keep", "0s", "--dry-run", "--idle-agents", "--json").json
    done = shell("gc", "--keep", "0s", "--idle-agents", "--json").json
    assert (said["dry_run"], done["dry_run"]) == (True, False)
    assert said["removed"] == done["removed"]
    assert done["removed"]["executions"] == done["removed"]["agents"] == 1
    assert done["removed"]["contents"] > 3
    assert shell("ls", "--json").json["executions"] == []
    assert shell("fsck").code == 0


@pytest.mark.parametrize("keep", ["", "30", "d", "-1d", "30 days", "1e3d", "9999999999d", "30D"])
def test_a_time_that_is_none_is_refused(shell: Shell, keep: str) -> None:
    shell.started()
    ran = shell("gc", f"--keep={keep}")
    assert ran.code == 2
    assert "give a number and a unit, one of s, min, h, d, w; such as 30d" in ran.err


def test_times_and_sizes_are_read_and_told() -> None:
    assert [seconds(text) for text in ("45s", "1.5min", "2h", "30d", "1w")] == [45, 90, 7200, 2592000, 604800]
    assert [size(number) for number in (0, 999, 1000, 3_400_000, 5e12)] == [
        "0 bytes", "999 bytes", "1.0 kB", "3.4 MB", "5000.0 GB",
    ]  # fmt: skip
    with pytest.raises(Misuse):
        seconds("soon")


# --- dump and load ---


def test_an_execution_goes_into_a_file_and_out_of_it_again(shell: Shell) -> None:
    execution, request = shell.started()
    ran = shell("dump", execution[:10], "--out", "report.jsonl")
    assert (ran.code, ran.out, ran.err) == (0, "", f"{execution} is in report.jsonl\n")
    report = shell.folder / "report.jsonl"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert "hello" not in report.read_text(encoding="utf-8")
    ran = shell("load", "report.jsonl", "--db", "report.db")
    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"loaded {execution} of agent agent-")
    assert ran.err == f"pawl show {execution} --db report.db\n"
    assert shell("fsck", "--db", "report.db").code == 0
    shown = shell("show", execution, "--db", "report.db", "--json").json
    was = shell("show", execution, "--json").json
    assert shown["state"] == was["state"] == "suspended"
    assert shown["request"]["id"] == was["request"]["id"] == request
    assert [entry["kind"] for entry in shown["journal"]] == [entry["kind"] for entry in was["journal"]]
    assert shown["input"].startswith("[5 characters, ")
    assert shell("show", execution, "--db", "report.db").code == 0
    assert shell("tail", execution, "--db", "report.db").code == 0


def test_a_dump_with_its_texts_is_the_same_run(shell: Shell) -> None:
    execution, request = shell.started()
    shell("approve", request, "--app", "clerk")
    ran = shell("dump", execution, "--no-redact", "--out", "-")
    shell.write("report.jsonl", ran.out)
    loaded = shell("load", "report.jsonl", "--db", "report.db", "--json")
    assert loaded.json == {"execution_id": execution, "agent_id": "clerk", "status": "completed"}
    kept = [shell("show", execution, "--db", db, "--json").json for db in ("report.db", "pawl.db")]
    for one in kept:
        one["on_disk"].pop("owner")
    assert kept[0] == kept[1]


def test_a_dump_has_earlier_runs_where_they_are_wanted(shell: Shell) -> None:
    shell.write("clerk.py", CLERK.replace('"second"', 'calls(call("pay", cents=9))'))
    first, request = shell.started()
    shell("approve", request, "--app", "clerk")
    second, _ = shell.started()
    for options, told in ((["--conversation"], [first, second]), ([], [second])):
        shell("dump", second, "-o", f"{len(told)}.jsonl", *options)
        loaded = shell("load", f"{len(told)}.jsonl", "--db", f"{len(told)}.db")
        assert loaded.code == 0, loaded.err
        assert ("pawl dump --conversation" in loaded.err) is (told == [second])
        there = shell("ls", "--db", f"{len(told)}.db", "--json").json["executions"]
        assert sorted(one["execution_id"] for one in there) == sorted(told)


def test_lines_end_where_a_dump_says(shell: Shell) -> None:
    shell.write(
        "clerk.py",
        "from pawl import Agent, scripted\nclerk = Agent(name='clerk', model=scripted(['a\\u2028b\\x85c']))\n",
    )
    assert shell("run", "clerk", "x\u2028y").code == 0
    (found,) = shell("ls", "--json").json["executions"]
    shell("dump", found["execution_id"], "-o", "report.jsonl", "--no-redact")
    ran = shell("load", "report.jsonl", "--db", "report.db")
    assert ran.code == 0, ran.err


def test_what_cannot_be_dumped_or_loaded_is_said(shell: Shell) -> None:
    execution, _ = shell.started()
    shell("dump", execution, "-o", "report.jsonl")
    ran = shell("dump", execution, "-o", "report.jsonl")
    assert (ran.code, "report.jsonl exists already" in ran.err) == (2, True)
    assert shell("dump", "x-none").code == 2
    assert shell("dump", execution, "-o", "none/report.jsonl").code == 2
    ran = shell("load", "none.jsonl", "--db", "report.db")
    assert (ran.code, "none.jsonl cannot be read" in ran.err) == (2, True)
    shell.write("bad.jsonl", "hello\n")
    ran = shell("load", "bad.jsonl", "--db", "report.db")
    assert (ran.code, "bad.jsonl: line 1: dump: not JSON" in ran.err) == (2, True)
    assert "give a file that `pawl dump` wrote" in ran.err
    assert not (shell.folder / "report.db").exists()
    (shell.folder / "bytes.jsonl").write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in shell("load", "bytes.jsonl", "--db", "report.db").err
    assert shell("load", "report.jsonl", "--db", "report.db").code == 0
    ran = shell("load", "report.jsonl", "--db", "report.db")
    assert ran.code == 2
    assert "report.jsonl is in that store already, in part or whole; name another with --db" in ran.err


def test_a_dump_is_read_from_stdin(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    execution, _ = shell.started()
    text = shell("dump", execution).out

    class Stdin:
        class buffer:  # noqa: N801
            @staticmethod
            def read() -> bytes:
                return text.encode()

    monkeypatch.setattr("sys.stdin", Stdin)
    assert shell("load", "-", "--db", "report.db").code == 0


def lines(ran: Any) -> list[Any]:
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_file_in_a_read_only_place_is_looked_at_and_dumped(shell: Shell) -> None:
    execution, _ = shell.started()
    folder = Path(shell.folder)
    (folder / "pawl.db").chmod(0o400)
    folder.chmod(0o500)
    try:
        assert shell("fsck").code == 0
        assert lines(shell("dump", execution))[0]["pawl_dump"] == 1
    finally:
        folder.chmod(0o700)


# --- the bar ---


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_moves_on_a_terminal_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with bar("rows") as moving:
        moving(3, 10)
        moving(10, 10)
    assert "rows" in terminal.getvalue()


def test_nothing_moves_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = io.StringIO()
    monkeypatch.setattr("sys.stderr", nobody)
    with bar("rows") as moving:
        moving(3, 10)
    assert nobody.getvalue() == ""
