"""The conformance suite of stores that processes share: opened by many at once, written by two, one killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from pawl.runtime.simulation.conformance_base import Conformance
from pawl.runtime.simulation.samples import an_agent, answer_of, done
from pawl.runtime.store.answers import Committed, Unavailable

RACERS: Final = 8

Child = subprocess.Popen[str]


class ProcessesConformance(Conformance):
    """Part of `DurableConformance`. Each child makes its store with the `make_store` of this class."""

    @contextmanager
    def children(self, folder: Path, *commands: str) -> Iterator[list[Child]]:
        """One process for each command, ready to be told to go."""
        place = _place(type(self))
        if place is None:
            pytest.skip("the class is not at the top of a module: another process could not find it")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        program = [sys.executable, "-m", "pawl.runtime.simulation.conformance_child", *place, str(folder)]
        children = [
            subprocess.Popen(
                [*program, *command.split()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for command in commands
        ]
        try:
            for child in children:
                assert _said(child) == "ready"
            yield children
        finally:
            for child in children:
                child.kill()
                child.communicate()

    def test_a_store_that_many_processes_open_first_at_once_is_made_once(self, tmp_path: Path) -> None:
        """Each of them gets it, and what it writes is kept."""
        with self.children(tmp_path, *(f"insert {number}" for number in range(RACERS))) as children:
            for child in children:
                _go(child)
            assert [_said(child) for child in children] == ["done"] * RACERS
        with self.opened(tmp_path) as store:
            roots = store.read(lambda tx: tx.agents.list())
            assert [root.agent_id for root in roots] == [str(number) for number in range(RACERS)]
            assert list(store.read(lambda tx: tx.upkeep.problems())) == []

    def test_two_processes_that_count_together_lose_nothing(self, tmp_path: Path) -> None:
        """Nor count anything twice."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
        with self.children(tmp_path, "count 100", "count 100") as children:
            for child in children:
                _go(child)
            counted = [int(_said(child)) for _ in range(100) for child in children]
        assert sorted(counted) == list(range(1, 201))

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
    def test_what_a_killed_process_said_was_committed_is_there(self, tmp_path: Path) -> None:
        """And at most the one it was about to say."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
        for said in (3, 17, 40):
            with self.children(tmp_path, "count 1000000") as (child,):
                _go(child)
                for _ in range(said):
                    counted = int(_said(child))
                child.kill()
                assert child.stdout is not None
                rest = child.stdout.read().splitlines(keepends=True)
            counted = max([counted, *(int(line) for line in rest if line.endswith("\n"))])
            with self.opened(tmp_path) as store:
                root = store.read(lambda tx: tx.agents.get("a"))
            assert root is not None
            assert counted <= root.answers <= counted + 1

    def test_a_process_that_writes_for_long_keeps_no_other_from_reading(self, tmp_path: Path) -> None:
        """When it has died, what it had not committed is gone, and others write."""
        with self.opened(tmp_path) as store:
            done(store, lambda tx: tx.agents.insert(an_agent()))
            with self.children(tmp_path, "hold") as (child,):
                _go(child)
                assert _said(child) == "holding"
                assert store.read(lambda tx: tx.agents.get("a")) == an_agent()
            answer = answer_of(store, lambda tx: tx.agents.insert(an_agent("b")))
            assert isinstance(answer, Committed | Unavailable)
            assert store.read(lambda tx: tx.agents.get("a")) == an_agent()


def _place(suite: type[Conformance]) -> tuple[str, str] | None:
    """The file and the name under which another process finds the class."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        for name, value in list(vars(module).items()) if file else ():
            if value is suite and name.startswith("Test"):
                return str(file), name
    return None


def _go(child: Child) -> None:
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


def _said(child: Child) -> str:
    assert child.stdout is not None
    line = child.stdout.readline()
    assert line, f"the process ended with {child.wait()}"
    return line.strip()
