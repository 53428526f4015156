"""The conformance suite as a plugin: an adapter joins with one line, and one that breaks a promise is caught."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pawl.runtime.simulation.conformance import DurableConformance, StoreConformance, store_conformance
from pawl.runtime.store.memory import MemoryStore

ADAPTER = '''
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.memory_tables import MemoryTransaction
from pawl.runtime.store.sqlite import SqliteStore


def good(folder):
    return SqliteStore(folder / "mine.db", synchronous="NORMAL", inline=True)


class Forgetful(MemoryStore):
    """Keeps what a failed operation wrote."""

    def __init__(self):
        super().__init__(inline=True)
        self._transaction.undo = self._transaction.keep


def bad(folder):
    return Forgetful()


def no_store(folder):
    return folder


def raising():
    return folder
'''


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "adapter.py").write_text(ADAPTER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    environment.pop("PYTEST_ADDOPTS", None)
    plugin = ["-p", "pawl.runtime.simulation.conformance", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_an_adapter_is_tested_without_a_test_module(tmp_path: Path) -> None:
    done = ran(tmp_path, "--pawl-store", "adapter:good", "-k", "connection or opened or many_processes", "-rs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


def test_what_an_adapter_does_not_say_is_skipped(tmp_path: Path) -> None:
    done = ran(tmp_path, "--pawl-store", "adapter:good", "-k", "newer or older or damaged or full_store", "-rs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 skipped" in done.stdout
    assert "this adapter does not say how its store gets newer" in done.stdout


def test_an_adapter_that_breaks_a_promise_is_caught_and_the_failure_says_what_was_compared(tmp_path: Path) -> None:
    done = ran(tmp_path, "--pawl-store", "adapter:bad", "--pawl-store-in-memory", "-k", "leaves_nothing_behind")
    assert done.returncode == 1
    assert "assert AgentRoot(agent_id='a'" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [("adapter", "it has no colon"), ("none:make", "No module named 'none'"), ("adapter:none", "no attribute 'none'")],
)
def test_an_adapter_that_cannot_be_found_is_said(tmp_path: Path, name: str, said: str) -> None:
    done = ran(tmp_path, "--pawl-store", name)
    assert done.returncode == 4
    assert said in done.stderr
    assert "give MODULE:NAME of a function of a folder" in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bad", "two stores made for one folder do not share what they keep; keep it in `folder`, or, for a store in"),
        ("no_store", "has no close, read, submit"),
        ("raising", "make_store(folder) raised TypeError: raising() takes 0 positional arguments"),
    ],
)
def test_what_is_no_store_that_can_be_tested_is_said_plainly(tmp_path: Path, name: str, said: str) -> None:
    done = ran(tmp_path, "--pawl-store", f"adapter:{name}", "-x")
    assert done.returncode == 1
    assert said in done.stdout
    assert "Traceback" not in done.stdout


def test_one_line_is_enough(tmp_path: Path) -> None:
    suite = store_conformance(lambda folder: MemoryStore(), durable=False)
    assert issubclass(suite, StoreConformance)
    assert not issubclass(suite, DurableConformance)
    suite().test_a_committed_operation_answers_what_it_returned(tmp_path)
    assert issubclass(store_conformance(lambda folder: MemoryStore()), DurableConformance)
