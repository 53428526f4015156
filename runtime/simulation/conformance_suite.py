"""The test module that `--pawl-store` runs."""

from __future__ import annotations

import os

from pawl.runtime.simulation.conformance import VARIABLE, named, store_conformance

_name, _, _kind = os.environ.get(VARIABLE, "").rpartition(" ")

if _name:
    TestStore = store_conformance(named(_name), durable=_kind == "durable")
    TestStore.__module__ = __name__
