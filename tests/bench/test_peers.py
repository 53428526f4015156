"""The comparison with other libraries: the same work for all, and what cannot be measured is a row that says why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pawl.tools.bench.lifecycle import DAY
from pawl.tools.bench.peers import __main__ as program
from pawl.tools.bench.peers import installing, quiet, running
from pawl.tools.bench.peers.child import alone, steps, together
from pawl.tools.bench.peers.installing import Place
from pawl.tools.bench.peers.machines import CONTESTANTS
from pawl.tools.bench.peers.ours import BARE
from pawl.tools.bench.peers.pins import PEERS
from pawl.tools.bench.peers.running import QUICK, Amounts, Line, Runner
from pawl.tools.bench.peers.tables import TABLES, data, machine, markdown

LITTLE = Amounts(rounds=2, seconds=0.01, alone=2, together=3, patience=60.0)
HERE = ("bare: nested dicts", "Pawl: advance", "Pawl: Session", "pytransitions")
ABOUT: dict[str, Any] = {
    "date": "2026-01-01", "cpu": "a processor", "cores": 2, "disk": "ext4 on disk", "python": "Python 3", "sqlite": "3",
    "busy": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "await_quiet", lambda seconds: 0.0)


# the work -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HERE)
def test_every_machine_lives_the_same_day(name: str) -> None:
    contestant = CONTESTANTS[name][1]()
    instance = contestant.new()
    before = contestant.seen(instance)[1]
    contestant.day(instance)
    assert contestant.seen(instance) == ("idle", before + len(DAY))


def test_a_machine_that_does_something_else_wins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy(CONTESTANTS["bare: nested dicts"][1]):  # type: ignore[misc]
        def day(self, instance: Any) -> None:
            super().day(instance)
            instance.arrivals -= 1

    monkeypatch.setitem(CONTESTANTS, "lazy", ("", Lazy))
    with pytest.raises(AssertionError, match="lazy ended in idle after 29 entries"):
        steps("lazy", 0.01)


@pytest.mark.parametrize("name", [BARE, "Pawl"])
def test_a_run_is_measured_alone_and_together(name: str) -> None:
    assert set(alone(name, 2)) == {"ms", "cpu_ms", "written_kb", "stored_kb"}
    assert together(name, 3)["seconds"] >= 6 * 0.020 + 5 * 0.005


# rounds ---------------------------------------------------------------------------------------------------------------


def place(**lacking: str) -> Place:
    made = Place(Path("nowhere"))
    made.python = Path(sys.executable)
    made.lacking = {peer.name: "not here" for peer in PEERS} | lacking
    return made


def test_a_peer_that_is_not_there_is_a_row_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.shutil, "which", lambda name: None)
    told: list[str] = []
    lines = {line.name: line for line in Runner(place(DBOS="no wheel"), LITTLE, told.append).alone()}
    assert lines["DBOS"].why == "no wheel"
    assert lines["DBOS"].values == {}
    assert lines["Pawl"].why == ""
    assert len(lines["Pawl"].values["times"]) == LITTLE.rounds
    assert lines[BARE].values["times"] == [1.0, 1.0]
    assert "alone: Pawl, round 2 of 2" in told


def test_one_that_fails_or_hangs_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if "DBOS" in command:
            raise subprocess.TimeoutExpired(command, 60)
        if "Burr" in command:
            return subprocess.CompletedProcess(command, 1, "", "Traceback\nImportError: no module named burr\n")
        return subprocess.CompletedProcess(command, 0, 'noise\n{"ms": 2.0}\n', "")

    monkeypatch.setattr(running.subprocess, "run", run)
    monkeypatch.setattr(running.shutil, "which", lambda name: None)
    there = place()
    there.lacking = {}
    lines = {line.name: line for line in Runner(there, LITTLE, lambda _: None).alone()}
    assert lines["DBOS"].why == "did not end within 60 s"
    assert lines["Burr"].why == "ImportError: no module named burr"
    assert lines["LangGraph"].values == {"ms": [2.0, 2.0], "times": [1.0, 1.0]}


def test_ratios_are_of_the_same_round() -> None:
    bare, other = Line("bare", values={"ms": [1.0, 10.0]}), Line("x", values={"ms": [3.0, 20.0]})
    running._with_times([bare, other], "bare", "ms")
    assert other.values["times"] == [3.0, 2.0]
    assert other.median("times") == 2.5
    assert other.median("nothing") is None


def test_a_quiet_moment_is_waited_for_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([1.5, 0.9, 0.1])
    monkeypatch.setattr(quiet, "busy_cores", lambda: next(looks))
    assert quiet.await_quiet(1000) == 0.1
    monkeypatch.setattr(quiet, "busy_cores", lambda: 2.0)
    assert quiet.await_quiet(0) == 2.0


def test_a_system_that_does_not_tell_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "_ticks", lambda: None)
    assert quiet.busy_cores() == 0.0


# installing -----------------------------------------------------------------------------------------------------------


class Shell:
    """Stands for the commands of an environment; fails those that name one of `broken`."""

    def __init__(self, *broken: str) -> None:
        self.broken, self.commands = broken, list[str]()

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(map(str, command[1:])))
        failed = any(word in self.commands[-1] for word in self.broken)
        return subprocess.CompletedProcess(command, int(failed), "", "ERROR: no such version\n" if failed else "")


def environment(folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(installing.subprocess, "run", shell)
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "python").touch()
    return Place(folder)


def test_a_library_that_cannot_be_installed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    made = environment(tmp_path, Shell("dbos"), monkeypatch)
    made.make(told.append)
    assert made.lacking == {"DBOS": "ERROR: no such version"}
    assert "DBOS is left out: ERROR: no such version" in told


def test_what_is_installed_is_not_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(tmp_path, Shell("dbos"), monkeypatch).make(lambda _: None)
    shell = Shell()
    made = environment(tmp_path, shell, monkeypatch)
    made.make(lambda _: None)
    assert [command for command in shell.commands if "pip" in command] == [
        "-m pip install -q --disable-pip-version-check dbos==3.4.0 pysqlite3==0.6.1"
    ]
    assert made.lacking == {}


def test_without_what_pawl_needs_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment(tmp_path, Shell("attrs"), monkeypatch)
    assert program.main(["--place", str(tmp_path)]) == 1
    assert "what Pawl needs could not be installed" in capsys.readouterr().err


# tables ---------------------------------------------------------------------------------------------------------------


def test_the_tables_name_the_date_the_machine_and_what_is_missing() -> None:
    found = {
        "alone": [
            Line("Pawl", values={"ms": [1.0, 3.0], "times": [2.0]}),
            Line("DBOS", why="no | wheel"),
            Line("Burr", why="did not end", values={"ms": [5.0]}),
        ]
    }
    text = markdown(found, QUICK, ABOUT)
    assert "Measured 2026-01-01 on a processor, 2 cores, ext4 on disk; Python 3, SQLite 3." in text
    assert "| **Pawl** | 2.0 | 2.0 | - | - | - | - |" in text
    assert "| DBOS | no / wheel |  |  |  |  |  |" in text
    assert "| Burr (did not end) | 5.0 | - |" in text
    assert "LangGraph 1.2.24" in text


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key)
def test_every_row_has_as_many_cells_as_the_head(table: Any) -> None:
    text = markdown({table.key: [Line("a", why="x"), Line("b", values={"times": [1.0]})]}, QUICK, ABOUT)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {len(table.columns) + 2}


def test_the_data_has_every_value_of_every_round() -> None:
    said = data({"steps": [Line("a", values={"times": [1.0, 2.0]})]}, QUICK, machine([0.0, 1.5, 1.9]))
    assert json.loads(json.dumps(said))["works"]["steps"][0] == {
        "name": "a", "why": "", "median": {"times": 1.5}, "values": {"times": [1.0, 2.0]}
    }  # fmt: skip
    assert said["machine"]["cpu"]
    assert said["machine"]["busy"] == "Other work was going on: it used 1.5 cores."
    assert said["versions"]["DBOS"][0].startswith("dbos==")


def test_a_work_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        program.main(["alnoe"])
    assert left.value.code == 2
    assert "no such work: alnoe; there are steps, alone, together, starting" in capsys.readouterr().err


def test_every_contestant_s_peer_is_pinned_exactly() -> None:
    assert all(package.count("==") == 1 for peer in PEERS for package in peer.packages)
    assert {peer for peer, _ in CONTESTANTS.values() if peer} <= {peer.name for peer in PEERS}
