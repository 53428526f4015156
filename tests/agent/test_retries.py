"""Retries as a setting: which values make sense, and how long each wait is."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl import Agent, InvalidArguments, ModelError, Retries, UsageLimits, scripted
from pawl.runtime.agent.retries import asked_to_wait
from pawl.runtime.agent.settings import check_run_timeout

chances = st.floats(0, 1, exclude_max=True)


def test_waits_double_up_to_the_longest() -> None:
    plain = Retries(jitter=0, longest=5)
    assert [plain.delay(failures, 0.5) for failures in (1, 2, 3, 4, 5)] == [1, 2, 4, 5, 5]


def test_jitter_takes_off_up_to_its_share() -> None:
    assert Retries(first=8).delay(1, 0.0) == 8
    assert Retries(first=8).delay(1, 0.5) == 6
    assert Retries(first=8, jitter=1).delay(1, 0.5) == 4


def test_the_providers_time_is_kept_to_and_not_by_all_at_once() -> None:
    retries = Retries(first=1, jitter=0.5)
    assert retries.delay(1, 0.0, 10) == 10
    assert retries.delay(1, 0.8, 10) == pytest.approx(10.4)
    assert retries.delay(3, 0.0, 0.1) == 4


def test_no_provider_makes_a_run_wait_longer_than_the_longest() -> None:
    assert Retries(longest=20).delay(1, 0.9, 1e8) == 20


@given(st.integers(1, 10_000), chances, st.none() | st.floats(0.001, 1e9), st.floats(0, 1e6), st.floats(1, 100))
def test_every_wait_is_bounded_and_finite(
    failures: int, chance: float, after: float | None, first: float, factor: float
) -> None:
    retries = Retries(first=first, factor=factor, longest=60)
    assert 0 <= retries.delay(failures, chance, after) <= 60


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("attempts", -1),
        ("attempts", 1.5),
        ("attempts", True),
        ("attempts", None),
        ("first", -0.1),
        ("first", math.nan),
        ("first", "1"),
        ("factor", 0.5),
        ("factor", math.inf),
        ("longest", math.inf),
        ("first", 10**400),
        ("longest", -1),
        ("longest", True),
        ("jitter", 1.01),
        ("jitter", -0.01),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(setting: str, value: Any) -> None:
    with pytest.raises(InvalidArguments, match=f"Retries: {setting}="):
        Retries(**{setting: value})


@pytest.mark.parametrize(
    ("said", "wait"),
    [(None, None), (2, 2.0), (0.5, 0.5), (0, None), (-3, None), (math.nan, None), ("soon", None), (True, None),
     (math.inf, 1e9), (10**400, 1e9)],
)  # fmt: skip
def test_what_a_provider_asks_for_is_a_number_of_seconds_or_nothing(said: Any, wait: float | None) -> None:
    assert asked_to_wait(ModelError("busy", retry_safe=True, retry_after=said)) == wait


TIMES = ["drain_timeout", "preparation_timeout", "model_timeout", "run_timeout", "approval_timeout"]


@pytest.mark.parametrize("option", TIMES)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "60", True, 10**400])
def test_a_time_that_is_no_number_of_seconds_is_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(InvalidArguments, match=f"agent a: {option}="):
        Agent(name="a", model=scripted([]), **{option: value})


@pytest.mark.parametrize("option", TIMES[2:])
def test_a_time_may_be_none(option: str) -> None:
    options: dict[str, Any] = {option: None}
    assert getattr(Agent(name="a", model=scripted([]), **options), option) is None


@pytest.mark.parametrize("option", ["retries", "limits"])
@pytest.mark.parametrize("value", [3, {"attempts": 3}, Retries, UsageLimits])
def test_retries_and_limits_are_objects_of_their_own(option: str, value: Any) -> None:
    with pytest.raises(InvalidArguments, match=f"agent a: {option}="):
        Agent(name="a", model=scripted([]), **{option: value})


@pytest.mark.parametrize("value", [0, -1, math.nan, "1", True, -math.inf])
def test_a_timeout_of_a_start_is_seconds_or_infinity(value: Any) -> None:
    with pytest.raises(InvalidArguments, match="timeout="):
        check_run_timeout(value)


def test_a_timeout_of_a_start_may_be_infinite_and_is_left_to_the_agent_by_default() -> None:
    assert (check_run_timeout(None), check_run_timeout(math.inf), check_run_timeout(3)) == (None, math.inf, 3.0)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1"])
@pytest.mark.parametrize("limit", ["input_tokens", "output_tokens", "total_tokens", "model_calls", "tool_calls"])
def test_a_limit_that_is_no_whole_number_is_refused_by_name(limit: str, value: Any) -> None:
    with pytest.raises(InvalidArguments, match=f"UsageLimits: {limit}="):
        UsageLimits(**{limit: value})
