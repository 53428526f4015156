"""Descriptions out of docstrings."""

from __future__ import annotations

import pytest

from pawl.runtime.agent.docstring import describe

GOOGLE = """Refund an order.

    Only paid ones.

    Args:
        order_id (str): The order:
            with its dash.
        cents: How much,
            in cents.

        *more: Ignored star.

    Returns:
        cents: not an argument.
    """

NUMPY = """Refund an order.

    Only paid ones.

    Parameters
    ----------
    order_id : str
        The order:
        with its dash.
    cents
        How much, in cents.
    more :
        Ignored star.

    Returns
    -------
    cents : not an argument
    """

SPHINX = """Refund an order.

    Only paid ones.

    :param str order_id: The order:
        with its dash.
    :param cents: How much,
        in cents.
    :param more: Ignored star.
    :returns: nothing
        at all
    """


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX])
def test_three_habits_say_the_same(doc: str) -> None:
    assert describe(doc) == (
        "Refund an order.\n\nOnly paid ones.",
        {"order_id": "The order: with its dash.", "cents": "How much, in cents.", "more": "Ignored star."},
    )


@pytest.mark.parametrize(
    ("doc", "summary"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("Args are fine.\n\nNote that this is text: yes.", "Args are fine.\n\nNote that this is text: yes."),
        ("Raises:\n    ValueError: always.", ""),
        ("Examples\nare not underlined.", "Examples\nare not underlined."),
    ],
)
def test_the_summary_ends_at_the_first_section(doc: str | None, summary: str) -> None:
    assert describe(doc) == (summary, {})
