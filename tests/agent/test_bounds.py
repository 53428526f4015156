"""How much a model may write: what is refused, and that reading takes time in proportion to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import is_linear, steps
from pawl.runtime.agent.arguments import parse_json
from pawl.runtime.agent.bounds import UNBOUNDED, Bounds
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.mismatch import Mismatch
from pawl.runtime.agent.output_type import output_type_of
from pawl.runtime.agent.redaction import Secret
from pawl.runtime.agent.tool import Tool, tool
from pawl.runtime.records.errors import InvalidArguments, InvalidOutput


@attrs.frozen
class Point:
    x: int
    y: str = ""


@attrs.frozen
class Number:
    kind: Literal["number"]
    n: int


@attrs.frozen
class Minus:
    kind: Literal["minus"]
    of: Expression


@attrs.frozen
class Half:
    kind: Literal["half"]
    of: Expression


@attrs.frozen
class Left:
    inner: Left | Right | int


@attrs.frozen
class Right:
    inner: Left | Right | str


Expression = Number | Minus | Half
Hidden = list[Annotated[int, Secret]]


@tool(max_argument_bytes=100, max_argument_values=10)
def small(a: Any = None) -> str:
    """Take little."""
    return ""


@tool
def mixed(a: list[int | str | Point | None], b: dict[str, int] | None = None, c: Any = None) -> str:
    """Take much."""
    return ""


@tool
def secret(
    a: list[Annotated[int, Secret]] | None = None, b: dict[str, list[Annotated[int, Secret]]] | None = None
) -> str:
    """Take secrets."""
    return ""


@tool
def calculate(e: Expression) -> str:
    """Calculate."""
    return ""


@tool
def either(e: Left | Right) -> str:
    """Take what has no tags."""
    return ""


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (json.dumps({"a": "x" * 100}), "the arguments are more than 100 bytes; give less at once"),
        (json.dumps({"a": "é" * 47}, ensure_ascii=False), "the arguments are more than 100 bytes"),
        (json.dumps({"a": [0] * 9}), "the arguments hold more than 10 values; give less at once"),
        (json.dumps({"a": [[]] * 9}), "the arguments hold more than 10 values"),
        ("[" * 90, "the arguments hold more than 10 values"),
    ],
)
def test_what_is_more_than_a_tool_takes_answers_the_model(raw: str, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        small.validate(raw)
    assert says in str(caught.value)


@pytest.mark.parametrize("value", ["x" * 91, [0] * 8, ",[{" * 30, '",[\\"' * 9, {"b": [[], {}, [[], {}]]}])
def test_what_is_no_more_is_taken(value: Any) -> None:
    raw = json.dumps({"a": value})
    assert len(raw) <= 100
    assert small.validate(raw) == {"a": value}


def test_an_edit_has_the_same_bounds() -> None:
    assert small.validate_value({"a": [0] * 8}) == {"a": [0] * 8}
    with pytest.raises(InvalidArguments, match="hold more than 10 values"):
        small.validate_value({"a": [0] * 9})
    with pytest.raises(InvalidArguments, match="are more than 100 bytes"):
        small.validate_value({"a": "x" * 101})
    with pytest.raises(InvalidArguments, match="are more than 100 bytes"):
        small.validate_value({"é" * 51: 1})


def test_what_was_let_in_before_is_bound_whatever_the_bounds_are_now() -> None:
    assert small.bind({"a": [0] * 100}, ToolContext()) == {"a": [0] * 100}


def test_without_options_the_bounds_are_a_mebibyte_and_ten_thousand_values() -> None:
    assert mixed.parameters.most == Bounds(1 << 20, 10_000)
    with pytest.raises(InvalidArguments, match="more than 1048576 bytes"):
        mixed.validate(json.dumps({"a": ["x" * (1 << 20)]}))
    with pytest.raises(InvalidArguments, match="more than 10000 values"):
        mixed.validate(json.dumps({"a": [1] * 9_999}))
    assert len(mixed.validate(json.dumps({"a": [1] * 9_998}))["a"]) == 9_998


@pytest.mark.parametrize("option", ["max_argument_bytes", "max_argument_values"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "10", 1 << 80])
def test_a_bound_is_a_whole_number(option: str, value: Any) -> None:
    with pytest.raises(InvalidArguments, match=f"tool small: {option}=.* must be a whole number above 0"):
        tool(small.function, **{option: value})


def test_an_answer_has_bounds_of_its_own() -> None:
    output = output_type_of(list[int], "agent a")
    assert len(output.read(json.dumps({"value": [0] * 50_000}))) == 50_000
    with pytest.raises(InvalidOutput, match="the contents of the answer hold more than 100000 values"):
        output.read(json.dumps({"value": [0] * 100_000}))


def test_without_bounds_a_reader_survives_any_depth() -> None:
    with pytest.raises(Mismatch, match="nested"):
        parse_json("[" * 1_000_000 + "]" * 1_000_000, most=UNBOUNDED)


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def values_in(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values_in, inside))


@given(json_values, st.sampled_from([None, 1]), st.integers(-3, 3))
def test_values_are_counted_exactly(value: Any, indent: int | None, off: int) -> None:
    bounds = Bounds(values=max(1, values_in(value) + off))
    taken = values_in(value) <= bounds.values
    try:
        assert parse_json(json.dumps(value, indent=indent), most=bounds) == value
    except Mismatch:
        assert not taken
    else:
        assert taken


def given_to(one: Tool[..., Any], make: Callable[[int], Any]) -> Callable[[int], Callable[[], object]]:
    def work(size: int) -> Callable[[], object]:
        raw = json.dumps(make(size))
        return lambda: one.redacted(one.validate(raw))

    return work


@pytest.mark.parametrize(
    "work",
    [
        given_to(mixed, lambda n: {"a": [{"x": at} for at in range(n)]}),
        given_to(mixed, lambda n: {"a": [{"z": at} for at in range(n)]}),
        given_to(mixed, lambda n: {"a": [[]] * n}),
        given_to(mixed, lambda n: {"a": [], "b": {str(at): "x" for at in range(n)}}),
        given_to(mixed, lambda n: {f"{at}a": 1 for at in range(n)}),
        given_to(secret, lambda n: {"a": list(range(n))}),
        given_to(secret, lambda n: {"b": {"x" * n: list(range(n))}}),
    ],
)
def test_reading_takes_time_in_proportion(work: Callable[[int], Callable[[], object]]) -> None:
    assert is_linear(work)


def nested(one: Callable[[Any], Any], value: Any) -> Callable[[int], Any]:
    def made(depth: int) -> Any:
        found = value
        for _ in range(depth):
            found = one(found)
        return {"e": found}

    return made


@pytest.mark.parametrize(
    "work",
    [
        given_to(calculate, nested(lambda of: {"kind": "half", "of": of}, {"kind": "number", "n": 1})),
        given_to(calculate, nested(lambda of: {"kind": "half", "of": of}, {"kind": "number", "n": "1"})),
        given_to(calculate, nested(lambda of: {"kind": "none", "of": of}, None)),
        given_to(either, nested(lambda of: {"inner": of}, None)),
        given_to(either, nested(lambda of: {"inner": of}, "x")),
    ],
)
def test_unions_that_contain_themselves_read_each_part_once(work: Callable[[int], Callable[[], object]]) -> None:
    assert is_linear(work, 3)


def test_a_name_of_a_mebibyte_is_not_compared_with_others() -> None:
    long = json.dumps({"k" * 1_000_000: 1})
    assert steps(lambda: mixed.validate(long)) <= steps(lambda: mixed.validate('{"kkkk": 1}'))


def test_a_long_name_is_in_no_path() -> None:
    with pytest.raises(InvalidArguments) as caught:
        mixed.validate_value({"a": [], "c": {"k" * 1000: {"x": [object()]}}})
    assert f"c.{'k' * 60}.x[0]: a object is not JSON data" in str(caught.value)


def test_where_secrets_are_in_places_too_long_to_keep_nothing_is_shown() -> None:
    assert secret.redacted({"a": [1, 2]}) == ("/a/0", "/a/1")
    assert secret.redacted({"b": {"k" * 100_000: [1] * 9}}) == ("",)


def test_thousands_of_problems_are_counted() -> None:
    with pytest.raises(InvalidArguments) as caught:
        mixed.validate(json.dumps({"a": [[]] * 1000}))
    assert str(caught.value).count("expected") == 6
    assert str(caught.value).endswith("and 994 more")


def test_what_a_constructor_says_is_cut_short() -> None:
    @attrs.frozen
    class Picky:
        word: str

        def __attrs_post_init__(self) -> None:
            raise ValueError(self.word)

    @tool
    def pick(a: Picky) -> str:
        """Pick."""
        return ""

    with pytest.raises(InvalidArguments) as caught:
        pick.validate(json.dumps({"a": {"word": "w" * 100_000}}))
    assert len(str(caught.value)) < 1200
