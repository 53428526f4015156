"""The figures of durable work, at a tiny scale: what they measure, never how long it took."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from pawl.tools.bench import durable, rounds, startup, storage
from pawl.tools.bench.bare_log import BareLog
from pawl.tools.bench.figures import BENCHMARKS, Figure
from pawl.tools.bench.rounds import BODY, CountedStore, Texts, finish, running, talker


def barriers(folder: Path, number: int) -> CountedStore:
    """A store in which one run of so many rounds has come to its end."""
    store, agent = CountedStore(folder / "pawl.db"), talker(number)

    async def run() -> None:
        async with running(store, agent) as runtime:
            await finish(await runtime.create(agent, "agent"))

    asyncio.run(run())
    return store


def facts(figure: Figure) -> tuple[str, float, str, str]:
    assert figure.value > 0
    assert figure.name in BENCHMARKS
    return figure.name, figure.limit, figure.unit, figure.direction


def test_a_run_of_five_rounds_passes_eighteen_barriers(tmp_path: Path) -> None:
    assert barriers(tmp_path, 5).barriers == {
        "admission": 1, "provider_dispatch": 6, "tool_dispatch": 5, "tool_outcome": 5, "outcome": 1,
    }  # fmt: skip


def test_every_text_of_a_run_is_on_disk_once(tmp_path: Path) -> None:
    barriers(tmp_path, 3)
    with sqlite3.connect(tmp_path / "pawl.db") as connection:
        (bodies,) = connection.execute("SELECT count(*) FROM contents WHERE length(body) = ?", (BODY,)).fetchone()
    connection.close()
    assert bodies == 3 + 3 + 1


def test_a_run_that_ends_otherwise_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "texts", lambda: None)
    with pytest.raises(AssertionError, match="the run that was to be measured ended as Failed"):
        barriers(tmp_path, 1)


def test_the_bare_log_commits_once_a_body(tmp_path: Path) -> None:
    log = BareLog(tmp_path / "bare.db")
    log.write("a", ["x", "y", "z"])
    log.write("b", ["x"])
    log.close()
    assert log.commits == 4
    with sqlite3.connect(tmp_path / "bare.db") as connection:
        assert connection.execute("SELECT run, count(*) FROM log GROUP BY run").fetchall() == [("a", 3), ("b", 1)]
        assert connection.execute("SELECT run, place FROM status").fetchall() == [("a", 2), ("b", 0)]
    connection.close()


def test_the_bare_log_commits_as_often_and_as_much_as_the_run_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[int]] = []

    class Noting(BareLog):
        def write(self, run: str, bodies: Sequence[str]) -> None:
            written.append([len(body) for body in bodies])
            super().write(run, bodies)

    monkeypatch.setattr(durable, "BareLog", Noting)
    assert len(asyncio.run(durable.beside_a_log(2, 1, rounds=2))) == 2
    assert written == [[BODY] * (1 + 3 + 2 + 2 + 1)] * len(written)


def test_the_figures_of_time_have_their_names_and_limits() -> None:
    assert facts(durable.durable_ratio(batches=1, pairs=1, rounds=1)) == ("durable_ratio", 3.5, "times", "at_most")
    gain = durable.group_commit_gain(executions=4, batches=1, rounds=1)
    assert facts(gain) == ("group_commit_gain", 2.8, "times", "at_least")
    assert facts(startup.first_step_ms(tries=1)) == ("first_step_ms", 400, "ms", "at_most")


def test_the_quicker_half_of_the_batches_counts() -> None:
    assert durable.quicker([(9.0, 1.0), (2.0, 3.0), (8.0, 1.0), (1.0, 5.0), (3.0, 4.0)]) == [5.0, 3.0, 4.0]
    assert durable.quicker([(2.0, 7.0)]) == [7.0]


def test_the_figures_of_storage_have_their_names_and_limits() -> None:
    assert facts(storage.storage_ratio(rounds=30)) == ("storage_ratio", 2.5, "times", "at_most")
    assert facts(storage.storage_growth(rounds=60, before=30)) == ("storage_growth", 10.5, "times", "at_most")
    assert facts(storage.last_barrier_ratio(rounds=30)) == ("last_barrier_ratio", 1.2, "times", "at_most")


def test_storage_is_within_its_limits_for_a_short_run() -> None:
    short, long = storage.grown(60), storage.grown(300)
    assert short.payload == (60 + 60 + 1) * BODY
    assert Figure("growth", long.file / short.file, 5.25, "times").holds
    assert long.file / long.payload < 2.5


def test_the_cost_of_a_barrier_is_taken_around_a_round_and_at_the_end() -> None:
    run = storage.Grown(100, 1, 1, tuple(float(round_number) for round_number in range(100) for _ in range(3)))
    assert run.cost(10) == 9.5
    assert run.cost(-1) == 89.5


def test_no_text_comes_twice_and_the_same_seed_gives_the_same_texts() -> None:
    first, second = Texts(1), Texts(1)
    some = [first.next() for _ in range(2000)]
    assert some == [second.next() for _ in range(2000)]
    assert len(set(some)) == 2000
    assert {len(text.encode()) for text in some} == {BODY}
