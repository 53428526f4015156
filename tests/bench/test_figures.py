"""Figures, their limits, and the machines that they compare."""

from __future__ import annotations

from importlib import import_module

import pytest

from pawl.tools.bench import advance, footprint, resting
from pawl.tools.bench.figures import BENCHMARKS, Figure, UnknownFigure, select
from pawl.tools.bench.paired import ratios


@pytest.mark.parametrize(("value", "holds"), [(3.9, True), (4.0, True), (4.1, False)])
def test_a_limit_that_is_kept_at_most_is_kept_up_to_itself(value: float, holds: bool) -> None:
    assert Figure("size", value, 4.0, "bytes").holds is holds


@pytest.mark.parametrize(("value", "holds"), [(3.9, False), (4.0, True), (4.1, True)])
def test_a_limit_that_is_kept_at_least_is_kept_from_itself(value: float, holds: bool) -> None:
    assert Figure("speed", value, 4.0, "times", "at_least").holds is holds


def test_a_figure_reads_as_text_and_as_data() -> None:
    assert str(Figure("size", 399.56, 400, "bytes")) == "size: 399.6 bytes (at most 400 bytes): ok"
    assert str(Figure("size", 401, 400, "bytes")) == "size: 401 bytes (at most 400 bytes): TOO MUCH"
    assert str(Figure("speed", 2, 5, "times", "at_least")) == "speed: 2 times (at least 5 times): TOO LITTLE"
    assert Figure("size", 1, 2, "bytes").to_dict() == {
        "name": "size", "value": 1, "limit": 2, "unit": "bytes", "direction": "at_most", "note": "", "holds": True,
    }  # fmt: skip


def test_figures_are_chosen_by_name_or_by_its_beginning_in_the_order_of_the_list() -> None:
    assert select() == list(BENCHMARKS)
    assert select(["idle_session_bytes", "advance_vs"]) == ["advance_vs_transitions", "idle_session_bytes"]
    with pytest.raises(UnknownFigure, match="there is no figure 'advanced'; there are: advance_guard_action_ratio, "):
        select(["advance", "advanced"])


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_figure_of_the_list_has_its_function(name: str) -> None:
    module, _, function = BENCHMARKS[name].partition(":")
    assert callable(getattr(import_module(module), function))


def test_what_the_durable_part_promises_is_measured() -> None:
    assert {
        "recovery_scan_s", "suspended_live_objects", "suspended_bytes", "random_seeds_a_minute", "barrier_full_p50_ms",
        "barrier_full_p99_ms", "barrier_normal_p50_ms", "barrier_normal_p99_ms", "barrier_beside_bodies_ratio",
    } <= set(BENCHMARKS)  # fmt: skip
    assert resting.RESTING == 100_000


def test_the_competitors_live_the_same_day() -> None:
    for work in (
        advance._stepping(advance.Counting, 2), advance._stepping(advance.Returning, 2), advance._by_hand(2),
        advance._by_transitions(2),
    ):  # fmt: skip
        work()  # raises when it ends elsewhere or after another number of entries


def test_a_competitor_that_skips_work_is_found_out() -> None:
    with pytest.raises(AssertionError, match="ended in 'idle' after 0 entries"):
        advance._check("idle", advance.Counting(), 1)


def test_the_day_visits_every_state_but_one() -> None:
    agent, seen = advance.ByHand(), set()
    for event, size in advance.DAY:
        agent.fire(event, size)
        seen.add(agent.state)
    assert set(advance.State) - seen == {"given_up"}


def test_the_ratio_of_a_batch_is_the_median_of_its_pairs() -> None:
    now, costs = 0.0, iter([0, 0, *(3, 1, 30, 1, 4, 1), *(5, 1, 6, 1, 1, 1)])

    def work() -> None:
        nonlocal now
        now += next(costs)

    assert ratios(work, work, batches=2, pairs=3, clock=lambda: now) == [4.0, 5.0]


def test_the_footprint_of_an_idle_session_is_within_its_limit() -> None:
    figure = footprint.idle_session_bytes()
    assert figure.holds
    assert figure.value > 48 + 96  # a session and a context cannot be smaller: it did measure something
