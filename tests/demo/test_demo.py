"""`pawl demo`, whole: real processes, two kills, one refund; and that its checks can say no."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest

from pawl.runtime.records.frozen import replace
from pawl.tools.cli.main import main
from pawl.tools.compiler import emit_svg
from pawl.tools.compiler.emit_svg import CannotDraw
from pawl.tools.demo.checks import checks
from pawl.tools.demo.ledger import Ledger
from pawl.tools.demo.perform import MARKER
from pawl.tools.demo.process import DemoFailed, Process, environment
from pawl.tools.demo.story import Line, Story, Told

SOURCES = Path(__file__).parents[2] / ".src"


def pawl(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pawl.tools.cli.main", *arguments], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, list[Line]]:
    """The story, told once."""
    lines: list[Line] = []
    told = Story(tmp_path_factory.mktemp("demo"), lines.append).play()
    return told, lines


@pytest.fixture
def told(played: tuple[Told, list[Line]], tmp_path: Path) -> Told:
    """What is left of the story, in a copy that a test may spoil."""
    shutil.copytree(played[0].folder, tmp_path / "copy")
    return attrs.evolve(played[0], folder=tmp_path / "copy", exits=dict(played[0].exits), pids=dict(played[0].pids))


def wrong(told: Told) -> list[str]:
    return [check.claim for check in checks(told) if not check.holds]


def test_the_demo_kills_two_processes_and_refunds_once(tmp_path: Path) -> None:
    done = pawl("demo", "--json", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["ok"] is True
    assert said["seconds"] < 20
    assert all(check["holds"] for check in said["checks"])
    folder = tmp_path / "demo-out"
    assert Path(said["folder"]) == folder
    ledger = Ledger(folder)
    assert [call.attempt for call in ledger.calls() if call.tool == "refund"] == [1, 2]
    assert [refund.cents for refund in ledger.refunds()] == [1250]
    assert ET.parse(folder / "path.svg").getroot().tag.endswith("svg")

    shown = pawl("show", said["execution_id"], "--db", "demo-out/runs.db", "--json", cwd=tmp_path)
    found = json.loads(shown.stdout)
    assert (found["state"], found["on_disk"]["revision"]) == ("completed", 9)
    assert [(row["tool"], row["attempt"]) for row in found["tools"]] == [
        ("lookup_order", 1),
        ("hold_parcel", 1),
        ("refund", 2),
    ]


def test_the_timeline_says_who_did_what_and_what_was_on_disk(played: tuple[Told, list[Line]]) -> None:
    told, lines = played

    assert [(line.who, line.what) for line in lines if line.what != "on disk"] == [
        ("process 1", "started"),
        ("process 1", "ran"),
        ("process 1", "suspended"),
        ("process 1", "KILLED"),
        ("pawl approve", "approved"),
        ("process 2", "adopted"),
        ("process 2", "refunded"),
        ("process 2", "recorded"),
        ("process 2", "KILLED"),
        ("process 3", "adopted"),
        ("process 3", "refund again"),
        ("process 3", "left alone"),
        ("process 3", "completed"),
    ]
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    killed = [place for place, line in enumerate(lines) if line.what == "KILLED"]
    assert lines[killed[0] + 1].text.startswith("suspension at revision 4: suspended, approval; awaiting approval")
    assert lines[killed[1] + 1].text.startswith("tool_dispatch at revision 6: active, dispatching_tools")
    assert f"owner pid {told.pids['process 2']}, dead" in lines[killed[1] + 1].text


def test_everything_that_is_claimed_holds(told: Told) -> None:
    assert wrong(told) == []


def test_a_second_refund_would_be_noticed(told: Told) -> None:
    with closing(sqlite3.connect(told.folder / "ledger.db")) as books, books:
        books.execute("INSERT INTO refunds VALUES ('key-other', '7', 1250)")

    assert wrong(told) == [
        "the refund was called twice and paid once",
        "both calls carried the key that was stored before the first",
    ]


def test_a_tool_that_ran_again_would_be_noticed(told: Told) -> None:
    with closing(sqlite3.connect(told.folder / "ledger.db")) as books, books:
        books.execute("INSERT INTO calls VALUES ('hold_parcel', 'key', 2, 1, 0)")

    assert wrong(told) == ["hold_parcel ran once"]


def test_a_process_that_ended_by_itself_would_be_noticed(told: Told) -> None:
    told.exits["process 1"] = 0

    assert wrong(told) == ["processes 1 and 2 lived until kill -9 ended them"]


def test_a_missing_journal_record_would_be_noticed(told: Told) -> None:
    assert told.end is not None
    spoilt = attrs.evolve(told, end=attrs.evolve(told.end, journal=told.end.journal[:9] + told.end.journal[10:]))

    assert set(wrong(spoilt)) >= {
        "the journal is contiguous from 1",
        "the journal says what happened and nothing else",
        "each barrier committed once, the last tools were let go twice",
    }


def test_another_outcome_would_be_noticed(told: Told) -> None:
    assert told.end is not None
    spoilt = attrs.evolve(told, end=attrs.evolve(told.end, record=replace(told.end.record, status="failed")))

    assert "the run has one outcome: completed" in wrong(spoilt)


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs.db").write_text("precious", encoding="utf-8")

    code, out, err = run("demo", "--out", str(tmp_path), capsys=capsys)

    assert (code, out) == (2, "")
    assert "is not empty and no demo made it" in err
    assert [path.name for path in tmp_path.iterdir()] == ["runs.db"]
    assert (tmp_path / "runs.db").read_text(encoding="utf-8") == "precious"


def test_a_folder_in_the_folder_of_a_demo_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / MARKER).touch()
    (tmp_path / "mine").mkdir()

    code, _, err = run("demo", "--out", str(tmp_path), capsys=capsys)

    assert code == 2
    assert "mine was not made by a demo" in err
    assert {path.name for path in tmp_path.iterdir()} == {MARKER, "mine"}


def test_the_folder_of_an_earlier_demo_is_used_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / MARKER).touch()
    (tmp_path / "runs.db").write_text("of the last time", encoding="utf-8")
    monkeypatch.setenv("PAWL_DB", "elsewhere.db")  # the user's settings are not the demo's
    monkeypatch.setenv("PAWL_APP", "nowhere")

    code, out, err = run("demo", "--out", str(tmp_path), capsys=capsys)

    assert (code, err) == (0, "")
    assert "the provider's ledger: 2 calls, 1 refund" in out
    assert "all 13 checks hold" in out
    assert "WRONG" not in out


def test_a_process_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    words, env = ["pawl.tools.demo.host", "work", "nothing"], environment(PAWL_DEMO_DIR=str(tmp_path))
    process = Process("process 2", words, env, tmp_path / "log")

    with pytest.raises(
        DemoFailed, match=r"process 2 ended before 'refunded': .*ExecutionNotFound: there is no execution"
    ):
        process.expect("refunded")

    assert process.wait() == 1


def test_a_story_that_goes_wrong_fails_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(story: Story) -> Told:
        raise DemoFailed("process 2 ended before 'refunded': no word")

    monkeypatch.setattr(Story, "play", play)

    code, _, err = run("demo", "--out", str(tmp_path), capsys=capsys)

    assert (code, err) == (1, "pawl: the demo failed: process 2 ended before 'refunded': no word\n")


def test_a_picture_that_cannot_be_drawn_fails_the_demo_and_hides_nothing(
    told: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program() -> str:
        raise CannotDraw("graphviz-pure is not installed")

    monkeypatch.setattr(emit_svg, "_program", program)
    monkeypatch.setattr(Story, "play", lambda _: told)
    shutil.copy(told.folder / "trace.jsonl", tmp_path / "trace.jsonl")
    monkeypatch.setattr("pawl.tools.demo.perform._fresh", lambda _: None)

    code, out, _ = run("demo", "--out", str(tmp_path), capsys=capsys)

    assert code == 1
    assert "  ok     the refund was called twice and paid once: 2 calls, 1 refund" in out
    assert "  WRONG  the way was drawn: graphviz-pure is not installed" in out
    assert (tmp_path / "path.dot").is_file()


def test_a_check_that_fails_fails_the_demo(
    told: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told.exits["process 1"] = 0
    monkeypatch.setattr(Story, "play", lambda _: told)
    shutil.copy(told.folder / "trace.jsonl", tmp_path / "trace.jsonl")
    monkeypatch.setattr("pawl.tools.demo.perform._fresh", lambda _: None)

    code, out, _ = run("demo", "--out", str(tmp_path), capsys=capsys)

    assert code == 1
    assert "  WRONG  processes 1 and 2 lived until kill -9 ended them: exit codes [0, -9]" in out
    assert "1 check of 13 failed" in out


def test_a_process_that_says_something_else_fails_the_demo(tmp_path: Path) -> None:
    process = Process("process 1", ["this"], environment(), tmp_path / "log")

    with pytest.raises(DemoFailed, match="process 1 said 'The Zen of Python"):
        process.expect("started")

    process.wait()


def test_the_ledger_pays_a_key_once_and_counts_every_call(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)

    assert [ledger.pay("key", attempt, "7", 5) for attempt in (1, 2)] == [True, False]
    assert [call.attempt for call in ledger.calls()] == [1, 2]
    assert [refund.cents for refund in ledger.refunds()] == [5]
