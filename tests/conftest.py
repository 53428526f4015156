"""Options that every test shares."""

from __future__ import annotations

import hypothesis
import pytest

# Before anything imports them: failures inside the conformance suite say what was compared.
_PARTS = ("answers", "barriers", "base", "codec", "durable", "executions", "processes", "repositories", "upkeep")
for _module in ("conformance", "samples", *(f"conformance_{part}" for part in _PARTS)):
    pytest.register_assert_rewrite(f"pawl.runtime.simulation.{_module}")

hypothesis.settings.register_profile("pawl", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("pawl")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite golden files; read the diff before committing")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))
