"""Failures inside the conformance suite say what was compared."""

from __future__ import annotations

import pytest

for _module in ("conformance", "conformance_base", "conformance_executions", "conformance_repositories", "samples"):
    pytest.register_assert_rewrite(f"pawl.runtime.simulation.{_module}")
