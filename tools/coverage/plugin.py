"""A pytest plugin: `pytest -p pawl.tools.coverage.plugin --pawl-coverage rows.json` records the rows of a test run.

It works with pytest-xdist. The file is written also when tests failed, and replaced by every run; `pawl coverage` and
`pawl diagram --coverage` read it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pawl.tools.coverage.counts import Counts, from_data, save, to_data
from pawl.tools.coverage.recorder import Recorder

_WORKER = "pawl_coverage"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option, in a group of its own."""
    parser.getgroup("pawl").addoption(
        "--pawl-coverage", metavar="FILE", help="write which rows of pawl machines the tests took, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin before test modules are imported."""
    path = config.getoption("--pawl-coverage")
    if path is not None:
        config.pluginmanager.register(_Run(config.invocation_params.dir / path), "pawl-coverage")


class _Run:
    """One test run, or what one worker does of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.others: list[Counts] = []
        self.recorder = Recorder()
        self.recorder.__enter__()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        said = getattr(node, "workeroutput", {}).get(_WORKER)
        if said is not None:
            self.others += from_data(json.loads(said), "a worker")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        counts = [*self.recorder.counts(), *self.others]
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_WORKER] = json.dumps(to_data(counts))
        else:
            save(self.path, counts)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"pawl: the rows taken are in {self.path}")

    def pytest_unconfigure(self) -> None:
        self.recorder.__exit__()
