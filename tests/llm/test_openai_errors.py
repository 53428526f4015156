"""When a server says to come again."""

from __future__ import annotations

import pytest

from llm.openai_server import Reply
from llm.test_openai import failing
from pawl.runtime.llm.openai_errors import retry_after

DATE = "Sun, 29 Nov 2026 18:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Sun, 29 Nov 2026 18:00:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Sun, 29 Nov 2026 17:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Sun, 29 Nov 2020 17:00:00 GMT", "date": "nonsense"}, 0.0),
        ({"retry-after": "Sun, 99 Nov 2026 17:00:00 GMT"}, None),
    ],
)
def test_the_time_to_wait_is_read_from_every_form_of_it(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("status", [408, 429, 503, 529])
def test_a_status_that_may_pass_says_when(status: int) -> None:
    error = failing(Reply({"error": {"message": "busy"}}, status, (("Retry-After", "3"),)))
    assert (error.retry_safe, error.retry_after) == (True, 3.0)


def test_a_server_that_names_no_time_leaves_it_open() -> None:
    assert failing(Reply({"error": {"message": "busy"}}, 503)).retry_after is None
