"""A recorder counts every row that is taken while it is on, whoever drives the machine, and nothing else."""

from __future__ import annotations

import sys
import threading
from types import ModuleType

import pytest

from compiler.by_hand import order
from pawl.runtime.fsm import step as engine
from pawl.runtime.fsm.errors import StepFailed
from pawl.runtime.fsm.session import Session
from pawl.runtime.fsm.table import Kind, Machine
from pawl.tools.compiler.crosscheck import cross_check
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.verify import verify
from pawl.tools.coverage.counts import Counts, RowKey
from pawl.tools.coverage.recorder import Recorder


class Shopping:
    """Says yes to everything but an empty cart."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken

    def payment_timeout(self) -> float:
        return 5.0

    def __getattr__(self, name: str) -> object:
        def answer(payload: object) -> object:
            if name == self.broken:
                raise ValueError(name)
            return name != "empty" if name in ("empty", "in_stock", "address_known") else None

        return answer


@pytest.fixture(scope="module")
def machine() -> Machine:  # type: ignore[type-arg]
    model = order()
    return verify(model, emit_python(model))


def buy(machine: Machine, shopping: Shopping | None = None) -> None:  # type: ignore[type-arg]
    session = Session(machine, shopping or Shopping(), clock=lambda: 0.0)
    session.start()
    session.send("add", "a book")
    session.send("checkout")
    session.send("paid", 5)


def taken(counts: Counts) -> dict[str, int]:
    return {f"{key.source} {key.event}": count for key, count in counts.rows.items() if count}


def test_the_rows_of_sessions_are_counted_with_those_that_nothing_took(machine: Machine) -> None:  # type: ignore[type-arg]
    with Recorder() as recorder:
        buy(machine)
        buy(machine)

    (found,) = recorder.counts()
    assert (found.machine, found.version, found.spec_hash) == (machine.name, machine.version, machine.spec_hash)
    assert taken(found) == {"cart add": 2, "cart checkout": 2, "paying paid": 2, "checking None": 2}
    assert found.started == {"cart": 2}
    assert len(found.rows) == len(machine.rows)
    assert found.rows[RowKey("checking", None, "packing", ("in_stock", "address_known"))] == 2


def test_nothing_is_counted_before_or_after(machine: Machine) -> None:  # type: ignore[type-arg]
    recorder = Recorder()
    buy(machine)
    with recorder:
        pass
    buy(machine)

    assert recorder.counts() == []
    assert engine.advance.__module__ == engine.__name__
    assert not hasattr(engine.advance, "__wrapped__")


def test_recorders_inside_each_other_each_count_what_they_see(machine: Machine) -> None:  # type: ignore[type-arg]
    with Recorder() as outer:
        buy(machine)
        with Recorder() as inner:
            buy(machine)
        buy(machine)

    assert [taken(found)["cart add"] for found in (*outer.counts(), *inner.counts())] == [3, 1]


def test_a_module_that_took_the_function_by_name_is_watched_too_and_gets_it_back(
    machine: Machine,  # type: ignore[type-arg]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = ModuleType("mine")
    mine.step, mine.entering = engine.advance, engine.enter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mine", mine)

    with Recorder() as recorder:
        mine.step(machine, machine.initial, Shopping(), "add", "a book")
        mine.entering(machine, machine.state["packing"].name, Shopping())

    (found,) = recorder.counts()
    assert taken(found) == {"cart add": 1}
    assert found.started == {"packing": 1}
    assert (mine.step, mine.entering) == (engine.advance, engine.enter)


def test_a_step_that_raised_has_no_rows(machine: Machine) -> None:  # type: ignore[type-arg]
    silent = Machine(machine.name, 1, "h", machine.initial, machine.states, machine.events, machine.rows)

    with Recorder() as recorder, pytest.raises(StepFailed):
        buy(silent, Shopping(broken="put"))

    (found,) = recorder.counts()
    assert taken(found) == {}
    assert found.started == {"cart": 1}


def test_what_the_compiler_drives_is_not_counted(machine: Machine) -> None:  # type: ignore[type-arg]
    with Recorder() as recorder:
        assert cross_check(order(), machine).answers

    assert recorder.counts() == []


def test_threads_lose_no_count(machine: Machine) -> None:  # type: ignore[type-arg]
    with Recorder() as recorder:
        threads = [threading.Thread(target=lambda: [buy(machine) for _ in range(200)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert taken(recorder.counts()[0])["paying paid"] == 800


def test_a_recorder_that_is_off_can_be_told_by_hand(machine: Machine) -> None:  # type: ignore[type-arg]
    recorder = Recorder()

    recorder.note(machine, engine.start(machine, Shopping()))

    assert recorder.counts()[0].started == {"cart": 1}
    assert machine.state["cart"].kind is Kind.PLAIN
