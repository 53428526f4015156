"""The figures of what waits, at a tiny scale."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from pawl import Runtime, Suspended
from pawl.runtime.execution.heart import Live
from pawl.runtime.execution.keeper import Keeper
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.upkeep.check import check_store
from pawl.tools.bench import resting


def test_a_crowd_is_of_executions_that_wait_each_for_a_decision_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "pawl.db"
    resting.crowd(path, 30)

    async def look() -> None:
        async with Runtime(SqliteStore(path), [resting.payer()], poll_interval=0) as runtime:
            records = await runtime.executions()
            assert len(records) == len({record.execution_id for record in records}) == 30
            rests = [await runtime.result(record.execution_id) for record in records]
            asked = {rest.request.id for rest in rests if isinstance(rest, Suspended)}
            assert len(asked) == 30
            assert {record.agent_id for record in records} == {f"agent-{number}" for number in range(1, 31)}

    asyncio.run(look())
    store = SqliteStore(path)
    store.open()
    rules = {finding.rule for finding in check_store(store)}
    store.close()
    assert rules <= {"key", "request"}  # their ids are copied, and derived from the first one's


def test_a_scan_finds_the_one_execution_that_is_left() -> None:
    figure = resting.recovery_scan_s(resting=50, tries=2)
    assert (figure.name, figure.limit, figure.unit) == ("recovery_scan_s", 1.0, "s")
    assert figure.value > 0


def test_nothing_that_waits_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "pawl.db"
    resting.crowd(path, 5)
    resting._orphan(path, "agent-1")
    with sqlite3.connect(path) as database:
        waiting = database.execute("SELECT count(*) FROM executions WHERE awaiting = 'approval'").fetchone()
    database.close()
    assert waiting == (4,)


def test_nothing_is_alive_of_what_waits() -> None:
    objects = resting.suspended_live_objects(executions=5)
    assert (objects.value, objects.limit, objects.holds) == (0, 0, True)
    assert resting.suspended_bytes(executions=5).unit == "bytes"


def test_what_is_kept_of_what_waits_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[object] = []
    forget = Keeper._forget

    def hold_on(keeper: Keeper, live: Live) -> None:
        kept.append(live)
        forget(keeper, live)

    monkeypatch.setattr(Keeper, "_forget", hold_on)
    objects, _ = asyncio.run(resting._left_behind(3))
    assert objects >= 6 * 3  # of each of six: the run, its invocation, its record, and calls
