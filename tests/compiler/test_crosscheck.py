"""The second engine agrees with every table that the generator makes, and disagrees with every other."""

from __future__ import annotations

import time
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.by_hand import at, event, machine, order, row, state
from pawl.runtime.fsm.table import Kind, Machine, Unhandled
from pawl.tools.compiler import crosscheck
from pawl.tools.compiler.crosscheck import EXHAUSTIVE, SAMPLES, cross_check
from pawl.tools.compiler.emit_python import emit_python
from pawl.tools.compiler.model import MachineModel
from pawl.tools.compiler.verify import verify


def made(model: MachineModel) -> Machine[Any, Any]:
    return verify(model, emit_python(model))


def rows(table: Machine[Any, Any], **changes: Any) -> Machine[Any, Any]:
    index = changes.pop("index")
    changed = list(table.rows)
    changed[index] = attrs.evolve(changed[index], **changes)
    return attrs.evolve(table, rows=tuple(changed))


def test_every_cell_is_compared_with_every_answer_of_its_guards() -> None:
    result = cross_check(order(), made(order()))

    assert result.differences == ()
    assert result.cells == 18  # 13 (state, event) pairs with rows, and the default way of internal_error from 5 states
    pairs = len(order().states) * (len(order().events) + 2)
    assert result.answers == pairs + (2 - 1) + (4 - 1) + (2 - 1)


def swapped(table: Machine[Any, Any]) -> Machine[Any, Any]:
    order = list(table.rows)
    order[8], order[9] = order[9], order[8]
    return attrs.evolve(table, rows=tuple(order))


@pytest.mark.parametrize(
    ("damage", "cell"),
    [
        (swapped, "the automatic rows in 'checking'"),
        (lambda table: rows(table, index=1, unless=()), "'checkout' in 'cart'"),
        (lambda table: rows(table, index=1, unless=(), when=("empty",)), "'checkout' in 'cart'"),
        (lambda table: rows(table, index=5, target=table.rows[4].target), "'payment_late' in 'paying'"),
        (lambda table: rows(table, index=0, target=table.rows[0].source), "'add' in 'cart'"),
        (lambda table: rows(table, index=4, do=()), "'paid' in 'paying'"),
        (lambda table: attrs.evolve(table, rows=table.rows[:-1]), "'cancel' in 'on_hold'"),
        (lambda table: attrs.evolve(table, error=None), "'internal_error' in 'cart'"),
        (lambda table: attrs.evolve(table, error=table.states[6].name), "'internal_error' in 'cart'"),
        (
            lambda table: attrs.evolve(
                table, states=tuple(attrs.evolve(each, enter=each.enter[::-1]) for each in table.states)
            ),
            "the automatic rows in 'checking'",
        ),
        (
            lambda table: attrs.evolve(
                table, events=tuple(attrs.evolve(each, unhandled=Unhandled.STALE) for each in table.events)
            ),
            "'cancel' in 'checking'",
        ),
    ],
)
def test_a_table_that_means_something_else_is_found(damage: Any, cell: str) -> None:
    found = cross_check(order(), damage(made(order()))).differences

    assert any(difference.message.startswith(cell) for difference in found), [str(each) for each in found]


def test_a_difference_reads_like_a_finding_and_names_the_line() -> None:
    (found,) = cross_check(order(), rows(made(order()), index=4, do=())).differences

    assert str(found) == (
        "shop/order.yaml:23:3: X01 'paid' in 'paying' (no guards): the table says row 4 to 'checking', "
        "pytransitions says row 4 to 'checking' with book; this is a fault of pawl, please report it"
    )


def many(guards: int) -> MachineModel:
    """One cell of `guards` rows with a guard each, and a last one."""
    targets = [state(f"t{index}") for index in range(guards + 1)]
    moves = [row("a", "x", f"t{index}", when=(f"g{index}",)) for index in range(guards)]
    return machine([state("a"), *targets], [event("x")], [*moves, row("a", "x", f"t{guards}")])


def test_a_cell_of_many_guards_is_sampled_and_the_sample_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crosscheck, "SAMPLES", 50)
    count = EXHAUSTIVE + 3
    model = many(count)
    cells = [((f"g{index}", True),) for index in range(count)]

    first, again = (list(crosscheck._valuations([*cells, ()], "seed")) for _ in range(2))

    assert first == again
    assert first != list(crosscheck._valuations([*cells, ()], "other seed"))
    assert len(first) == (count + 1) * (count + 1) + 50
    assert cross_check(model, made(model)).differences == ()


def test_the_sample_makes_every_row_of_a_large_cell_the_first_to_pass() -> None:
    count = EXHAUSTIVE + 8
    model = many(count)
    table = made(model)

    for index in range(count + 1):
        damaged = rows(table, index=index, target=table.rows[index - 1].target)
        assert cross_check(model, damaged).differences, f"row {index} was never taken"


def test_a_machine_of_sixty_states_and_four_hundred_rows_takes_no_time_to_speak_of() -> None:
    states = [state(f"s{index}", Kind.AUTO if index % 3 == 0 else Kind.PLAIN) for index in range(60)]
    events = [event(f"e{index}") for index in range(8)]
    moves = [
        row(f"s{s}", None if s % 3 == 0 and e == 0 else f"e{e}", f"s{(s * 7 + e) % 60}", when=(f"g{(s + e) % 20}",))
        for s in range(60)
        for e in range(7)
    ]
    model = machine(states, events, moves)
    table = made(model)

    before = time.process_time()
    assert cross_check(model, table).differences == ()
    assert time.process_time() - before < 5


NAMES = st.sampled_from(["a", "b", "c", "d"])
GUARDS = st.lists(st.sampled_from(["g", "h", "i"]), max_size=2, unique=True).map(tuple)
ACTIONS = st.lists(st.sampled_from(["do", "note"]), max_size=2).map(tuple)


@st.composite
def models(draw: st.DrawFn) -> MachineModel:
    """Any small machine at all, sensible or not."""
    kinds = {name: draw(st.sampled_from(list(Kind))) for name in "abcd"}
    states = [state(name, kind, enter=draw(ACTIONS)) for name, kind in kinds.items()]
    events = [event(name, unhandled=draw(st.sampled_from([None, *Unhandled]))) for name in ("x", "y", "internal_error")]
    moves = []
    for line in range(draw(st.integers(0, 12))):
        source = draw(NAMES)
        on = draw(st.sampled_from(["x", "y", "internal_error"] + [None] * (kinds[source] is Kind.AUTO)))
        target = draw(st.none() | NAMES)
        moves.append(row(source, on, target, line, when=draw(GUARDS), unless=draw(GUARDS), do=draw(ACTIONS)))
    return machine(states, events, moves, error=draw(st.none() | NAMES))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(models())
def test_any_machine_means_the_same_to_both_engines(model: MachineModel) -> None:
    assert cross_check(model, made(model)).differences == ()


def test_the_place_of_a_difference_without_rows_is_the_state() -> None:
    model = attrs.evolve(order(), states=tuple(attrs.evolve(each, at=at(7)) for each in order().states))
    table = attrs.evolve(made(model), error=None)

    assert {each.position.line for each in cross_check(model, table).differences} == {7}


def test_samples_are_bounded() -> None:
    assert 2**EXHAUSTIVE <= 4096
    assert SAMPLES <= 5000
