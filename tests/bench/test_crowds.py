"""Many runs at once: that both programs do the same, and what is made of their figures."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from pawl.tools.bench import bare_crowd, crowd, crowds
from pawl.tools.bench.bare_crowd import BODY
from pawl.tools.bench.crowds import Pair
from pawl.tools.bench.rounds import BODY as SAME_BODY


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_the_bare_program_commits_as_often_and_as_much_as_pawl(tmp_path: Path) -> None:
    bare = asyncio.run(bare_crowd.crowd(tmp_path / "bare.db", 3, 2, 0.0, 0.0))
    ours = asyncio.run(crowd.crowd(tmp_path / "pawl.db", 3, 2, 0.0, 0.0))
    assert bare["barriers"] == ours["barriers"] == 3 * (1 + 3 * 2 + 2)
    assert rows(tmp_path / "bare.db", "SELECT count(*), min(length(body)) FROM log WHERE run <> 'warm'") == [(27, BODY)]
    assert BODY == SAME_BODY


def test_the_bare_program_is_as_durable(tmp_path: Path) -> None:
    asyncio.run(bare_crowd.crowd(tmp_path / "bare.db", 1, 1, 0.0, 0.0))
    assert rows(tmp_path / "bare.db", "PRAGMA journal_mode") == [("wal",)]
    assert rows(tmp_path / "bare.db", "SELECT count(*) FROM status") == [(2,)]


def test_runs_of_the_bare_program_share_transactions(tmp_path: Path) -> None:
    bare = asyncio.run(bare_crowd.crowd(tmp_path / "bare.db", 50, 2, 0.001, 0.001))
    assert bare["transactions"] < bare["barriers"] / 2


def test_the_programs_print_what_they_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for program in (bare_crowd, crowd):
        monkeypatch.setattr(sys, "argv", ["-", str(tmp_path / f"{program.__name__}.db"), "2", "1", "0", "0"])
        program.main()
        found = json.loads(capsys.readouterr().out)
        assert found["barriers"] == 12
        assert found["seconds"] > 0
        assert found["peak"] > 1_000


def test_a_process_is_measured_without_the_memory_of_whoever_started_it() -> None:
    alone = crowds._program("bare_crowd", 1)
    assert alone["peak"] < bare_crowd.peak()


def test_the_best_of_either_program_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = (Pair(8.0, 1.0, 300, 100), Pair(4.0, 2.0, 240, 100), Pair(6.0, 3.0, 260, 100))
    monkeypatch.setattr(crowds, "measured", lambda runs, tries: pairs)
    assert crowds.concurrent_time_ratio().value == 4.0
    assert crowds.concurrent_memory_ratio().value == 2.4


def test_programs_that_did_not_do_the_same_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "_program", lambda name, runs: {"barriers": len(name)})
    with pytest.raises(AssertionError, match="5 barriers were compared with 10 commits"):
        crowds._pair(1)
