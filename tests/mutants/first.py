"""A pytest plugin that writes down which tests failed, the first one first, and why: `-p mutants.first`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

WHERE = "PAWL_FAILURES"
"""The environment variable that names the file."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _note(report.nodeid, str(getattr(report.longrepr, "reprcrash", None) or report.longrepr))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _note(report.nodeid, str(report.longrepr))


def _note(test: str, said: str) -> None:
    lines = [line for line in said.splitlines() if line.strip()]
    with Path(os.environ[WHERE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([test, lines[-1] if lines else ""]) + "\n")
