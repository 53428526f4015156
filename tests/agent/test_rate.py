"""The limits of a tool, as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from pawl import Rate, tool
from pawl.runtime.records.errors import InvalidArguments


def look() -> None: ...


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("10/s", Rate(10, 1.0)),
        ("1 / sec", Rate(1, 1.0)),
        ("100/min", Rate(100, 60.0)),
        ("100/minute", Rate(100, 60.0)),
        ("1000/h", Rate(1000, 3600.0)),
        ("5/10s", Rate(5, 10.0)),
        ("5/0.5 s", Rate(5, 0.5)),
        ("2/HOUR", Rate(2, 3600.0)),
        (Rate(3, per=7), Rate(3, 7)),
    ],
)
def test_a_rate_is_read(written: Any, rate: Rate) -> None:
    limit = tool(look, rate=written).limit
    assert limit is not None
    assert (limit.rate, limit.max_concurrent) == (rate, None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": "fast"}, "tool look: rate='fast' is no rate; write '10/s', '100/min', '1000/h', '5/10s' or Rate("),
        ({"rate": "10/d"}, "is no rate"),
        ({"rate": "10/.s"}, "is no rate"),
        ({"rate": "0/s"}, "tool look: rate='0/s': Rate: count=0 must be a whole number from 1"),
        ({"rate": "1/0s"}, "tool look: rate='1/0s': Rate: per=0.0 must be a number of seconds above 0"),
        ({"rate": 10}, "rate=10 is no rate"),
        ({"max_concurrent": 0}, "tool look: max_concurrent=0 must be a whole number from 1"),
        ({"max_concurrent": True}, "max_concurrent=True must be"),
        ({"max_concurrent": 1.5}, "max_concurrent=1.5 must be"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        tool(look, **options)
    assert says in str(caught.value)


@pytest.mark.parametrize(("count", "per"), [(1.5, 1), (True, 1), (1, 0), (1, float("inf")), (1, True), (1, "s")])
def test_a_rate_of_something_else_is_refused(count: Any, per: Any) -> None:
    with pytest.raises(InvalidArguments, match="Rate: "):
        Rate(count, per)


def test_a_tool_without_limits_has_none() -> None:
    assert tool(look).limit is None
