"""Runs that this version leaves alone stay as they are in the file, row by row and byte by byte, whatever is tried."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pawl import SpecMismatch
from pawl.runtime.records.errors import PawlError
from pawl.runtime.simulation.world import World
from pawl.runtime.store.sqlite import SqliteStore
from upkeep.town import agents, damaged

TABLES = ("agents", "contents", "executions", "journal", "tools", "requests", "decisions", "intents", "stored_again")
OTHER = "json_set(record, '$.data.spec_hash', '" + "f" * 64 + "')"


def rows(path: Path) -> dict[str, list[Any]]:
    connection = sqlite3.connect(path)
    found = {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES[:-1]}
    found |= {TABLES[-1]: connection.execute("SELECT * FROM stored_again").fetchall()}
    connection.close()
    return found


@pytest.mark.parametrize("change", [OTHER, "json_set(record, '$.data.machine', 'agent_of_old')"])
def test_refused_runs_are_untouched(file: Path, change: str) -> None:
    damaged(file, f"UPDATE executions SET record = {change} WHERE open = 1")
    before = rows(file)
    with World(*agents(), store=SqliteStore(file, inline=True)) as world:
        world.invariants.check = lambda: None  # type: ignore[method-assign]  # it has seen none of these runs
        process = world.open()
        runtime = process.runtime
        world.advance(120)
        open_ones = [record for record in world.records() if record.status in ("active", "suspended")]
        assert sorted(record.agent_id for record in open_ones) == ["begun", "lost", "waits"]
        for record in open_ones:
            tried = [runtime.reload(record.execution_id), runtime.result(record.execution_id)]
            if record.request is not None:
                tried += [runtime.decide(record.request.id, approve=True)]
                tried += [runtime.record_decision(record.request.id, approve=False)]
            tried += [runtime.resolve(record.execution_id, "c1", "failed")]
            tried += [runtime.record_resolution(record.execution_id, "c1", "failed")]
            for each in tried:
                with contextlib.suppress(PawlError):
                    process.do(each)
                world.settle()
        waits = next(record for record in open_ones if record.request is not None)
        assert waits.request is not None
        with pytest.raises(SpecMismatch):
            process.do(runtime.decide(waits.request.id, approve=True))
        assert {each.execution_id for each in process.do(runtime.unclaimed())} == {
            one.execution_id for one in open_ones
        }
        world.advance(120)
        process.close()
    after = rows(file)
    for table in TABLES:
        assert after[table] == before[table], table
