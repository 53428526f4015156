"""A folder of its own for every command that a test runs, and no settings of whoever runs the tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """Commands run in this process, in an empty folder; modules that are written there are forgotten afterwards."""
    for name in ("PAWL_DB", "PAWL_APP", "PAWL_DEBUG"):
        monkeypatch.setenv(name, "")  # so that what a command sets is undone, too
        monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield Shell(tmp_path, capsys)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]
    monkeypatch.undo()
    time.tzset()
