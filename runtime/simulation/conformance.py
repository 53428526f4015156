"""The conformance suite of the store port, for pytest: what every adapter promises. An adapter joins with one line.

In a test module:

    TestMyStore = store_conformance(lambda folder: MyStore(folder / "a.db"))

or with no test module at all:

    pytest -p pawl.runtime.simulation.conformance --pawl-store my_package.store:make_store

`make_store(folder)` makes a new store, not opened, that may keep files in `folder`; made twice for one folder it is two
connections to one store, unless it lives in memory (`durable=False`, `--pawl-store-in-memory`). For tests with several
processes it has to be found again there: it, or the test class, is at the top of a module.

An adapter that can say how its store gets a newer or an older schema, is damaged, is full, read-only or gone derives a
class from `DurableConformance` instead, and overrides those methods; what it does not say is skipped.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

PARTS: Final = ("answers", "barriers", "base", "codec", "durable", "executions", "processes", "repositories", "upkeep")
for _name in ("samples", *(f"conformance_{part}" for part in PARTS)):
    if f"pawl.runtime.simulation.{_name}" not in sys.modules:  # else it is too late, and pytest would warn
        pytest.register_assert_rewrite(f"pawl.runtime.simulation.{_name}")

from pawl.runtime.simulation.conformance_answers import AnswersConformance  # noqa: E402
from pawl.runtime.simulation.conformance_barriers import BarriersConformance  # noqa: E402
from pawl.runtime.simulation.conformance_codec import CodecConformance  # noqa: E402
from pawl.runtime.simulation.conformance_durable import SharedConformance  # noqa: E402
from pawl.runtime.simulation.conformance_executions import ExecutionsConformance  # noqa: E402
from pawl.runtime.simulation.conformance_processes import ProcessesConformance  # noqa: E402
from pawl.runtime.simulation.conformance_repositories import RepositoriesConformance  # noqa: E402
from pawl.runtime.simulation.conformance_upkeep import UpkeepConformance  # noqa: E402
from pawl.runtime.store.port import Store  # noqa: E402

MakeStore: TypeAlias = Callable[[Path], Store]
"""(folder) → a store that is not opened."""

VARIABLE: Final = "PAWL_CONFORMANCE_STORE"
"""Where `--pawl-store` is kept, for the processes that tests start."""


class StoreConformance(
    AnswersConformance,
    RepositoriesConformance,
    ExecutionsConformance,
    BarriersConformance,
    CodecConformance,
    UpkeepConformance,
):
    """What every adapter promises. Derive, override `make_store`, and name the class `Test…`."""


class DurableConformance(StoreConformance, SharedConformance, ProcessesConformance):
    """What an adapter promises whose stores outlive their process, and are shared by several."""


def store_conformance(make_store: MakeStore, *, durable: bool = True) -> type[StoreConformance]:
    """The suite for the adapter that `make_store` makes, as a test class: bind it to a name that begins with `Test`."""
    suite = DurableConformance if durable else StoreConformance

    def made(_: Any, folder: Path) -> Store:
        return make_store(folder)

    members = {"make_store": made, "__module__": make_store.__module__, "__doc__": "The suite of an adapter."}
    return type(f"{suite.__name__}OfAdapter", (suite,), members)


# --- the plugin: the suite without a test module ---


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--pawl-store` and `--pawl-store-in-memory`."""
    group = parser.getgroup("pawl")
    group.addoption("--pawl-store", metavar="MODULE:NAME", help="Test this store adapter, a function of a folder.")
    group.addoption("--pawl-store-in-memory", action="store_true", help="It does not outlive its process.")


def pytest_configure(config: pytest.Config) -> None:
    """With `--pawl-store`, the suite is what is run."""
    name = config.getoption("--pawl-store")
    if not name:
        return
    durable = not config.getoption("--pawl-store-in-memory")
    try:
        named(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise pytest.UsageError(f"--pawl-store {name}: {error}; give MODULE:NAME of a function of a folder") from error
    os.environ[VARIABLE] = f"{name} {'durable' if durable else 'memory'}"
    config.args = [str(Path(__file__).with_name("conformance_suite.py"))]


def named(name: str) -> MakeStore:
    """The function that MODULE:NAME names. Raises ImportError, AttributeError, ValueError."""
    module, separator, attribute = name.partition(":")
    if not separator:
        raise ValueError("it has no colon")
    found: MakeStore = getattr(importlib.import_module(module), attribute)
    return found
