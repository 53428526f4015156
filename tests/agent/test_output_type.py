"""Output types: what a model is told, and which values its answers become."""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import attrs
import pytest

from pawl import Agent, InvalidArguments, InvalidOutput, scripted
from pawl.runtime.agent.output_type import OutputType, output_type_of


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Line:
    """One line of an order.

    Attributes:
        count: how many
    """

    sku: str
    count: int = 1


@attrs.frozen
class Order:
    """An order."""

    lines: list[Line]
    colour: Colour | None = None


@dataclasses.dataclass
class Point:
    """A point."""

    x: float
    y: float


class Named(TypedDict):
    """A name."""

    name: str


class Pair(NamedTuple):
    """A pair."""

    left: int
    right: int


class Even:
    """Stands in for a type whose constructor refuses."""


@attrs.frozen
class Picky:
    """Refuses odd numbers in its constructor."""

    number: int

    def __attrs_post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(f"{self.number} is odd")


def output(hint: Any) -> OutputType:
    return output_type_of(hint, "agent a")


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (str, " anything ", " anything "),
        (Line, '{"sku": "a"}', Line("a")),
        (Order, '{"lines": [{"sku": "a", "count": 2}], "colour": "blue"}', Order([Line("a", 2)], Colour.BLUE)),
        (Point, '{"x": 1, "y": 2.5}', Point(1.0, 2.5)),
        (Named, '{"name": "x"}', {"name": "x"}),
        (Pair, '{"left": 1, "right": 2}', Pair(1, 2)),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (int, '{"value": 5}', 5),
        (bool, '{"value": true}', True),
        (list[Line], '{"value": [{"sku": "a"}]}', [Line("a")]),
        (Line | Pair, '{"value": {"left": 1, "right": 2}}', Pair(1, 2)),
        (int | None, '{"value": null}', None),
        (Literal["yes", "no"], '{"value": "no"}', "no"),
        (Colour, '{"value": "red"}', Colour.RED),
        (Annotated[int, "how many"], '{"value": 3}', 3),
        (Line, '```json\n{"sku": "a"}\n```', Line("a")),
        (Line, '\n```\n{"sku": "```"}\n```\n', Line("```")),
    ],
)
def test_an_answer_becomes_a_value_of_the_type(hint: Any, text: str, value: Any) -> None:
    assert output(hint).read(text) == value
    assert type(output(hint).read(text)) is type(value)


@pytest.mark.parametrize(
    ("hint", "text", "said"),
    [
        (Line, "it is a", "the contents of the answer are not JSON: Expecting value at line 1, column 1"),
        (Line, "", "the contents of the answer are not JSON: Expecting value at line 1, column 1"),
        (Line, "[]", "the answer must be a JSON object"),
        (Line, "{}", "sku: missing"),
        (Line, '{"sku": 5}', "sku: expected text, got the number 5"),
        (Line, '{"sku": "a", "sku": "b"}', "the name 'sku' is given twice in one object"),
        (Line, '{"sku": "a", "count": NaN}', "NaN is not JSON; leave the value out or write null"),
        (Order, '{"lines": [{"sku": "a", "count": "2"}]}', 'lines[0].count: expected an integer, got the text "2"'),
        (int, "5", 'the answer must be a JSON object with the one member "value"'),
        (int, '{"value": 5, "why": ""}', 'the answer must be a JSON object with the one member "value"'),
        (list[int], '{"value": [1, "x"]}', 'value[1]: expected an integer, got the text "x"'),
        (Picky, '{"number": 3}', "3 is odd"),
        (Line, "[" * 5000, "the contents of the answer"),
        (Line, '{"sku": "\\ud800"}', "sku: not Unicode text"),
    ],
)
def test_an_answer_of_another_kind_is_refused_in_words_for_a_model(hint: Any, text: str, said: str) -> None:
    with pytest.raises(InvalidOutput) as refused:
        output(hint).read(text)
    assert said in str(refused.value)


def test_many_problems_are_cut_short() -> None:
    with pytest.raises(InvalidOutput, match=r"and 4 more$"):
        output(list[int]).read('{"value": [' + ", ".join(['"x"'] * 10) + "]}")


def test_a_schema_is_an_object_at_its_root() -> None:
    line = output(Line).schema
    assert line is not None
    assert line.name == "Line"
    assert line.schema["type"] == "object"
    assert line.schema["properties"].keys() == {"sku", "count"}
    number = output(int).schema
    assert number is not None
    assert number.schema == {
        "type": "object",
        "properties": {"value": {"type": "integer"}},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert output(str).schema is None


def test_a_name_is_one_that_a_provider_takes() -> None:
    names = [output(hint) for hint in (list[Line], Line | None, dict[str, int])]
    for one in names:
        assert one.schema is not None
        assert one.schema.name
        assert set(one.schema.name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
        assert len(one.schema.name) <= 64


@pytest.mark.parametrize("hint", [None, bytes, Even, lambda: 1, "Line", 5])
def test_a_type_that_json_cannot_give_is_refused_where_the_agent_is_defined(hint: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"^agent weather: output_type"):
        Agent(name="weather", model=scripted(["x"]), output_type=hint)


def test_what_the_type_s_own_code_refuses_is_said_of_the_answer() -> None:
    @dataclasses.dataclass
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("it must be even")

    with pytest.raises(InvalidOutput) as caught:
        output_type_of(Even, "agent a").read('{"number": 1}')
    assert str(caught.value) == "the answer: it must be even"


def test_a_constraint_of_the_whole_is_said_of_the_answer() -> None:
    @attrs.frozen
    class Two:
        min_length: int = 2

    with pytest.raises(InvalidOutput) as caught:
        output_type_of(Annotated[dict[str, int], Two()], "agent a").read('{"number": 1}')
    assert str(caught.value).startswith("the answer: expected ")
