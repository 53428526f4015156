"""Places in JSON: taken out, and put back in where somebody who could not see them left them as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import is_linear
from pawl.runtime.records.redaction import (
    ALL,
    REDACTED,
    Unrestorable,
    hidden,
    hidden_text,
    parts_of,
    picked,
    pointer,
    restored,
    same_outline,
)

ORDER = {"card": "4111", "cents": 5, "to": {"zip": "9", "street": "x"}, "items": [{"no": 1, "n": 2}, {"no": 3, "n": 4}]}
PLACES = ("/card", "/to/zip", "/items/0/no", "/items/1/no")
SHOWN = {
    "card": REDACTED,
    "cents": 5,
    "to": {"zip": REDACTED, "street": "x"},
    "items": [{"no": REDACTED, "n": 2}, {"no": REDACTED, "n": 4}],
}


def test_what_stands_at_a_place_is_not_shown() -> None:
    assert hidden(ORDER, PLACES) == SHOWN
    assert hidden(ORDER, ()) is ORDER
    assert hidden(ORDER, ("/to",)) == {**ORDER, "to": REDACTED}
    assert hidden(ORDER, ("/nowhere/at/all",)) == ORDER


def test_of_arguments_that_are_all_redacted_only_names_are_shown() -> None:
    assert hidden({"card": "4111", "cents": 5}, ALL) == {"card": REDACTED, "cents": REDACTED}
    assert hidden_text('{"card": "4111"}', ALL) == REDACTED


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        ('{"card": "4111", "a": 1}', ("/card",), '{"a":1,"card":"[redacted]"}'),
        ('{"a":  1}', (), '{"a":  1}'),
        ('{"card": "4111"', ("/card",), REDACTED),
        ('["4111"]', ("/card",), REDACTED),
        ("[" * 100_000, ("/card",), REDACTED),
    ],
)
def test_text_that_is_no_object_is_not_shown_at_all(text: str, places: tuple[str, ...], expected: str) -> None:
    assert hidden_text(text, places) == expected


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (SHOWN, ORDER),
        ({**SHOWN, "cents": 4}, {**ORDER, "cents": 4}),
        ({**SHOWN, "card": "new"}, {**ORDER, "card": "new"}),
        ({"cents": 4}, {"cents": 4, "card": "4111"}),
        ({**SHOWN, "to": {"street": "y"}}, {**ORDER, "to": {"street": "y", "zip": "9"}}),
        ({**SHOWN, "items": []}, {**ORDER, "items": []}),
        ({**SHOWN, "items": [{"no": 7, "n": 0}]}, {**ORDER, "items": [{"no": 7, "n": 0}]}),
        ({**SHOWN, "card": None}, {**ORDER, "card": None}),
    ],
)
def test_an_edit_keeps_the_real_value_where_it_was_left_as_it_was(
    edit: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert restored(edit, ORDER, PLACES) == expected


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({**SHOWN, "items": [{"no": REDACTED, "n": 2}]}, "items: the list had 2 items and has 1"),
        ({**SHOWN, "note": REDACTED}, "the edit has the text [redacted] where no redacted value was"),
        ({**SHOWN, "note": [{"a": REDACTED}]}, "the edit has the text [redacted] where no redacted value was"),
    ],
)
def test_an_edit_that_keeps_what_was_not_there_is_refused(edit: dict[str, Any], says: str) -> None:
    with pytest.raises(Unrestorable) as caught:
        restored(edit, ORDER, PLACES)
    assert says in str(caught.value)


def test_a_value_that_was_not_given_cannot_be_kept() -> None:
    with pytest.raises(Unrestorable, match="card: there was no redacted value here"):
        restored({"card": REDACTED}, {}, ("/card",))


def test_a_value_that_is_the_mark_itself_is_a_value() -> None:
    assert restored({"card": REDACTED, "a": REDACTED}, {"card": REDACTED, "a": REDACTED}, ("/card",)) == {
        "card": REDACTED,
        "a": REDACTED,
    }


def test_names_with_slashes_and_tildes_are_places_too() -> None:
    value = {"a/b": {"~1": 1}, "a": {"b": 2}}
    place = pointer(("a/b", "~1"))
    assert parts_of(place) == ("a/b", "~1")
    assert hidden(value, (place,)) == {"a/b": {"~1": REDACTED}, "a": {"b": 2}}
    assert picked(value, (place, "/a/c", "/a/b/c")) == [1, None, None]


@pytest.mark.parametrize(
    "work",
    [
        lambda n: lambda: hidden({"a": ["x"] * n}, [f"/a/{at}" for at in range(n)]),
        lambda n: lambda: hidden({str(at): "x" for at in range(n)}, [f"/{at}" for at in range(n)]),
        lambda n: lambda: restored({"a": [REDACTED] * n}, {"a": ["x"] * n}, [f"/a/{at}" for at in range(n)]),
    ],
)
def test_many_places_take_time_in_proportion(work: Callable[[int], Callable[[], object]]) -> None:
    assert is_linear(work)


def test_outlines_differ_in_names_and_lengths_only() -> None:
    assert same_outline(ORDER, {**ORDER, "cents": "other"})
    assert not same_outline(ORDER, {**ORDER, "items": []})
    assert not same_outline(ORDER, {**ORDER, "cents": {}})
    assert not same_outline(ORDER, {"card": "4111"})


json = st.recursive(
    st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def places_in(value: Any, at: tuple[str | int, ...] = ()) -> list[str]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [pointer(at)] if at else []
    return found + [place for name, item in inside for place in places_in(item, (*at, name))]


@given(st.dictionaries(st.text(max_size=5), json, max_size=4), st.data())
def test_what_was_hidden_and_not_touched_comes_back(value: dict[str, Any], data: st.DataObject) -> None:
    places = places_in(value)
    chosen = tuple(data.draw(st.lists(st.sampled_from(places), unique=True))) if places else ()
    assert restored(hidden(value, chosen), value, chosen) == value
    assert hidden(hidden(value, chosen), chosen) == hidden(value, chosen)
