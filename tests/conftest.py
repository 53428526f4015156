"""Options that every test shares."""

from __future__ import annotations

import os

import hypothesis
import pytest

# Before anything imports them: failures inside the conformance suite say what was compared.
_PARTS = ("answers", "barriers", "base", "codec", "durable", "executions", "processes", "repositories", "upkeep")
for _module in ("conformance", "samples", *(f"conformance_{part}" for part in _PARTS)):
    pytest.register_assert_rewrite(f"pawl.runtime.simulation.{_module}")

# A busy machine is no failure, and a change is judged by the same examples each time; `make simulate` draws new ones.
hypothesis.settings.register_profile("pawl", deadline=None, derandomize="SIM_RUNS" not in os.environ)
hypothesis.settings.load_profile("pawl")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite golden files; read the diff before committing")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))
