"""Arguments that were read before the loop came to them: the same text, and nothing is read twice."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import attrs
import pytest

from pawl import Agent, scripted
from pawl.runtime.agent.ahead import ReadText, is_large, is_much, read_ahead
from pawl.runtime.agent.tool import tool
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.messages import ModelAnswer, ToolCall

BUILT: list[int] = []


@attrs.frozen
class Point:
    x: int

    def __attrs_post_init__(self) -> None:
        BUILT.append(self.x)


@tool
def take(a: Point, b: str = "") -> str:
    """Take it."""
    return ""


@tool
def other(a: Any) -> str:
    """Take anything."""
    return ""


def test_what_was_read_ahead_is_not_read_again() -> None:
    BUILT.clear()
    text = ReadText('{"a": {"x": 7}}', take.parameters)
    assert BUILT == [7]
    assert take.validate(text) == take.validate(text) == {"a": {"x": 7}, "b": ""}
    assert BUILT == [7]
    assert other.validate(text) == {"a": {"x": 7}}


def test_what_did_not_fit_does_not_fit_later() -> None:
    text = ReadText('{"a": 7}', take.parameters)
    for _ in range(2):
        with pytest.raises(InvalidArguments, match="invalid arguments for take: a: expected an object with x"):
            take.validate(text)


def test_it_is_the_text_that_the_model_wrote_and_copies_are_that_alone() -> None:
    text = ReadText('{"a": {"x": 7}}', take.parameters)
    assert text == '{"a": {"x": 7}}'
    assert json.dumps(text) == json.dumps('{"a": {"x": 7}}')
    assert type(pickle.loads(pickle.dumps(text))) is type(copy.deepcopy(text)) is str


def test_the_calls_of_an_answer_are_read_but_those_of_tools_that_do_not_exist() -> None:
    agent = Agent(name="a", model=scripted([]), tools=[take])
    calls = (ToolCall("c1", "take", '{"a": {"x": 7}}'), ToolCall("c2", "gone", "{}"))
    read = read_ahead(agent, ModelAnswer("said", calls))
    assert read == ModelAnswer("said", calls)
    assert [type(call.arguments) for call in read.calls] == [ReadText, str]


def test_much_is_what_all_calls_have_together() -> None:
    small = ToolCall("c", "take", "x" * 5000)
    assert not is_much(ModelAnswer("x" * 100_000, (small,)))
    assert is_much(ModelAnswer("", (small, small)))


@attrs.frozen
class Plain:
    items: list[int]


@pytest.mark.parametrize(
    ("value", "large"),
    [
        (None, False),
        ("x" * 100_000, False),
        ([0] * 499, False),
        ([0] * 600, True),
        ([[0] * 20] * 20, False),
        ([[0] * 30] * 30, True),
        ({"a": {str(n): n for n in range(600)}}, True),
        (frozenset(range(600)), True),
        (Plain([0] * 600), True),
        (object(), False),
    ],
)
def test_large_is_what_has_many_values(value: object, large: bool) -> None:
    assert is_large(value) is large
