"""Which rows of the two big machines a test run takes: `pytest -p execution.rows --rows tests/app tests/execution`.

A pytest plugin, outside of the suite: it watches the heart, and lists the rows that nothing took.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pawl.runtime.execution import heart
from pawl.runtime.fsm.table import Machine, Row

TAKEN: Counter[tuple[str, int]] = Counter()
MACHINES: dict[str, Machine[Any, Any]] = {"agent_invocation": heart.AGENT, "tool_invocation": heart.TOOL}
PLACES = {name: {id(row): place for place, row in enumerate(machine.rows)} for name, machine in MACHINES.items()}


def watch() -> None:
    """Count the rows of every step that the heart takes."""
    for name in ("advance", "enter"):
        setattr(heart, name, _watched(getattr(heart, name)))


def _watched(step: Any) -> Any:
    def stepped(machine: Any, *arguments: Any) -> Any:
        done = step(machine, *arguments)
        places = PLACES[machine.name]
        for row in done.rows:
            place = places.get(id(row))
            if place is not None:
                TAKEN[machine.name, place] += 1
        return done

    return stepped


def missed(machine: str) -> list[Row[Any, Any]]:
    """The rows of a machine that nothing took."""
    return [row for place, row in enumerate(MACHINES[machine].rows) if not TAKEN[machine, place]]


def shown(row: Row[Any, Any]) -> str:
    """A row as a person reads it."""
    guards = [*row.when, *(f"not {name}" for name in row.unless)]
    return f"{row.source} -- {row.event or '(automatic)'} [{', '.join(guards)}] --> {row.target or 'stay'}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rows", action="store_true", help="list the rows of the machines that no test took")
    parser.addoption("--rows-at-least", type=float, default=0.0, help="fail below this share of rows, in per cent")


def pytest_configure(config: pytest.Config) -> None:
    watch()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    write = terminalreporter.write_line
    for machine, table in MACHINES.items():
        left = missed(machine)
        share = 100 * (1 - len(left) / len(table.rows))
        write(f"{machine}: {len(table.rows) - len(left)} of {len(table.rows)} rows taken, {share:.1f} %")
        if config.getoption("--rows"):
            for row in left:
                write(f"  never: {shown(row)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    wanted = session.config.getoption("--rows-at-least")
    for machine, table in MACHINES.items():
        share = 100 * (1 - len(missed(machine)) / len(table.rows))
        if session.exitstatus == 0 and share < wanted:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
