"""What tests of real processes share: how these are started, and what must be true of their store in the end."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.upkeep.check import check_store

SAME_CODE = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
"""The environment of a process that imports what the test imports."""


def check_file(path: Path, executions: int) -> None:
    """Journals have no holes, each run that has ended has one outcome, and nobody owns what waits."""
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    holes = "SELECT agent FROM journal GROUP BY agent HAVING count(*) != max(position) OR min(position) != 1"
    assert database.execute(holes).fetchall() == []
    outcomes = database.execute("SELECT execution FROM journal WHERE kind LIKE 'execution_%'").fetchall()
    assert len(outcomes) == len(set(outcomes)) == executions
    owned = "SELECT execution_id FROM executions e JOIN agents a ON a.id = e.agent WHERE open AND owner IS NOT NULL"
    assert database.execute(owned).fetchall() == []
    database.close()
    store = SqliteStore(path)
    store.open()
    findings = list(check_store(store))
    store.close()
    assert findings == []
