"""Arguments that a model wrote, and arguments that a person edited."""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.tool import tool
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import InvalidArguments


@attrs.frozen
class Item:
    sku: str
    count: int = 1


@tool
def order(items: list[Item], cents: int, rate: float = 1, extra: Any = None, note: str | None = None) -> str:
    return f"{items} {cents} {rate} {extra} {note}"


@tool
def ping() -> str:
    return "pong"


CTX = ToolContext()


def test_arguments_are_canonical_and_defaults_are_filled_in() -> None:
    validated = order.validate('{"cents": 5.0, "rate": 2, "items": [{"sku": "a"}]}')
    assert json.dumps(validated) == json.dumps(
        {"items": [{"sku": "a", "count": 1}], "cents": 5, "rate": 2.0, "extra": None, "note": None}
    )


def test_validating_again_changes_nothing() -> None:
    validated = order.validate('{"cents": 5, "items": [], "extra": {"b": [1.5, true]}}')
    assert canonical(order.validate_value(validated)) == canonical(validated)
    assert canonical(order.validate(canonical(validated))) == canonical(validated)


def test_bound_arguments_have_the_annotated_types() -> None:
    bound = order.bind(order.validate('{"cents": 5, "items": [{"sku": "a", "count": 2}]}'), CTX)
    assert bound == {"items": [Item("a", 2)], "cents": 5, "rate": 1.0, "extra": None, "note": None}


def test_arguments_of_an_older_version_are_checked_again() -> None:
    with pytest.raises(InvalidArguments, match="no argument 'price'"):
        order.bind({"items": [], "cents": 5, "price": 1}, CTX)


@pytest.mark.parametrize("raw", ["", " \n", "{}"])
def test_no_text_is_no_arguments(raw: str) -> None:
    assert ping.validate(raw) == {}


BAD: list[tuple[Any, str]] = [
    ("", "invalid arguments for order: items: missing; expected a list; cents: missing; expected an integer"),
    ("null", "the arguments must be a JSON object, got null"),
    ("[]", "the arguments must be a JSON object, got a list of 0"),
    ('"{}"', 'the arguments must be a JSON object, got the text "{}"'),
    (
        "{'cents': 5}",
        "the arguments are not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    ),
    ('{"cents": 5', "the arguments are not JSON: Expecting ',' delimiter at line 1, column 12"),
    ('{"cents": 5} {}', "the arguments are not JSON: Extra data at line 1, column 14"),
    ('{"cents": NaN}', "NaN is not JSON; leave the value out or write null"),
    ('{"extra": -Infinity}', "-Infinity is not JSON"),
    ('{"extra": {"a": 1e999}}', "extra.a: inf is not a JSON number"),
    ('{"cents": 5, "cents": 6}', "the name 'cents' is given twice in one object"),
    ('{"extra": {"a": 1, "b": 2, "a": 1}}', "the name 'a' is given twice in one object"),
    ("[" * 100_000, "the arguments hold more than 10000 values"),
    ('{"extra": ' + "[" * 70 + "]" * 70 + "}", "the arguments are nested deeper than 64 levels"),
    ('{"cents": ' + "9" * 5000 + "}", "the arguments hold a number of thousands of digits"),
    ('{"cents": ' + "9" * 2000 + "}", "cents: a number of more than a thousand digits"),
    ('{"extra": "\\ud800"}', "extra: not Unicode text (a lone surrogate at character 0)"),
    ('{"\\ud800": 1}', "arguments: not Unicode text"),
    ("\ud800", "the arguments are not JSON"),
    ('{"items": [], "cents": "500"}', 'cents: expected an integer, got the text "500"'),
    ('{"items": [], "cents": 5, "amount": 5}', "no argument 'amount'; known are items, cents, rate, extra, note"),
    ('{"items": [], "cent": 5}', "no argument 'cent'; did you mean cents?"),
    (None, "the arguments must be JSON text, got a NoneType"),
    (b"{}", "the arguments must be JSON text, got a bytes"),
]


@pytest.mark.parametrize(("raw", "says"), BAD, ids=[says[:50] for _, says in BAD])
def test_bad_model_text_is_explained(raw: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        order.validate(raw)
    assert says in str(caught.value)
    str(caught.value).encode()


def test_a_tool_without_arguments_says_so() -> None:
    with pytest.raises(InvalidArguments, match="invalid arguments for ping: no argument 'a'; there are no arguments"):
        ping.validate('{"a": 1}')


def test_a_long_list_of_problems_is_cut() -> None:
    with pytest.raises(InvalidArguments) as caught:
        order.validate(json.dumps({"cents": 1, "items": [{"sku": n} for n in range(20)]}))
    assert str(caught.value).endswith("items[5].sku: expected text, got the number 5; and 14 more")


LOOP: list[Any] = []
LOOP.append(LOOP)

BAD_VALUES: list[tuple[Any, str]] = [
    (None, "the arguments must be a JSON object, got null"),
    ([], "the arguments must be a JSON object"),
    ({1: 2}, "arguments: the name 1 must be text"),
    ({"extra": {"a": {1}}}, "extra.a: a set is not JSON data"),
    ({"extra": [object()]}, "extra[0]: a object is not JSON data"),
    ({"extra": math.nan}, "extra: nan is not a JSON number"),
    ({"extra": 10**5000}, "extra: a number of more than a thousand digits"),
    ({"extra": LOOP}, "nested deeper than 64 levels"),
    ({"items": [Item("a")], "cents": 1}, "items[0]: a Item is not JSON data"),
    ({"extra": "\ud800"}, "extra: not Unicode text"),
]


@pytest.mark.parametrize(("value", "says"), BAD_VALUES, ids=[says for _, says in BAD_VALUES])
def test_bad_edited_values_are_explained(value: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        order.validate_value(value)
    assert says in str(caught.value)


def test_edited_values_may_hold_tuples_and_are_copied() -> None:
    given: dict[str, Any] = {"items": (), "cents": 1, "extra": {"a": (1,)}}
    validated = order.validate_value(given)
    assert validated["extra"] == {"a": [1]}
    given["extra"]["a"] = 2
    assert validated["extra"] == {"a": [1]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.text() | JSON.map(json.dumps) | st.dictionaries(st.sampled_from(["items", "cents", "x"]), JSON).map(json.dumps)
)
def test_any_text_validates_or_is_invalid_arguments(raw: str) -> None:
    try:
        validated = order.validate(raw)
    except InvalidArguments:
        return
    canonical(validated)
    assert order.bind(validated, CTX)


@given(st.fixed_dictionaries({"items": st.just([]), "cents": st.integers(-(2**4000), 2**4000), "extra": JSON}))
def test_every_json_value_of_the_right_types_comes_back(value: dict[str, Any]) -> None:
    try:
        expected = json.loads(json.dumps(value, allow_nan=False))
    except ValueError:  # it has NaN or infinity somewhere
        with pytest.raises(InvalidArguments):
            order.validate_value(value)
        return
    assert order.validate_value(value) == expected | {"rate": 1.0, "note": None}
