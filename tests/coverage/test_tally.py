"""Counts against a spec: each row once, shares that are never rounded up, and what does not fit is told."""

from __future__ import annotations

from collections import Counter

import pytest

from compiler.by_hand import order
from compiler.golden import model_of
from pawl.tools.coverage.counts import Counts, RowKey
from pawl.tools.coverage.overlay import summary
from pawl.tools.coverage.tally import Tally, tally


def counts(*rows: RowKey, machine: str = "order", **more: object) -> Counts:
    return Counts(machine, rows=Counter(dict.fromkeys(rows, 1)), **more)  # type: ignore[arg-type]


ADD, CHECKOUT = RowKey("cart", "add", None), RowKey("cart", "checkout", "paying", (), ("empty",))


def test_taken_and_never_are_all_the_rows_and_states_entered_follow() -> None:
    found = tally(order(), [counts(ADD, CHECKOUT), counts(ADD)])

    assert found.taken == 2
    assert len(found.never) == len(order().rows) - 2
    assert [row.event for row, count in found.rows.items() if count == 2] == ["add"]
    assert {name for name, times in found.entered.items() if times} == {"cart", "paying"}
    assert summary(found) == "2 of 14 rows taken, 14.2 %; 2 of 8 states entered"


def test_a_row_is_one_only_with_its_guards_and_target() -> None:
    wrong = [RowKey("cart", "checkout", "paying"), RowKey("cart", "add", "paying"), RowKey("cart", "gone", None)]

    found = tally(order(), [counts(*wrong)])

    assert found.taken == 0
    assert set(found.unknown) == set(wrong)


def test_a_share_is_rounded_down_and_compared_exactly() -> None:
    rows = [RowKey(row.source, row.event, row.target, row.when, row.unless) for row in order().rows]

    most, all_ = tally(order(), [counts(*rows[:-1])]), tally(order(), [counts(*rows)])

    assert most.percent == 92.8
    assert most.reaches(92.8)
    assert most.reaches(1300 / 14)
    assert not most.reaches(92.9)
    assert (all_.percent, all_.never) == (100.0, [])
    assert Tally(order(), {}, {}).percent == 100.0


def test_counts_of_another_version_are_used_and_told_and_other_machines_are_not() -> None:
    found = tally(order(), [counts(ADD, spec_hash="f" * 64), counts(CHECKOUT, machine="other")])

    assert (found.taken, found.elsewhere, found.recorded) == (1, True, True)
    assert not tally(order(), [counts(ADD, spec_hash="0" * 64), counts(ADD)]).elsewhere
    assert not tally(order(), []).recorded


def test_the_protocol_of_a_barrier_counts_unless_it_is_left_out() -> None:
    model = model_of("booking")

    every, written = tally(model, []), tally(model, [], written=True)

    assert len(every.rows) == len(model.rows)
    assert list(written.rows) == [row for row in model.rows if not row.expanded]


def test_rows_that_are_written_in_one_line_are_told_together() -> None:
    lines = tally(order(), []).by_line()

    assert [at.line for at in lines] == sorted(at.line for at in lines)
    assert sorted(len(rows) for rows in lines.values())[-2:] == [2, 2]


@pytest.mark.parametrize(("started", "entered"), [({}, "cart"), ({"packing": 1}, "packing"), ({"nowhere": 1}, "cart")])
def test_where_sessions_began_counts_as_entered(started: dict[str, int], entered: str) -> None:
    found = tally(order(), [Counts("order", rows=Counter({ADD: 1}), started=Counter(started))])

    assert found.entered[entered]
