"""Model answers before they are used."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl.runtime.agent.answers import normalise
from pawl.runtime.llm.port import LARGEST_ANSWER
from pawl.runtime.records.errors import MalformedModelAnswer
from pawl.runtime.records.messages import ModelAnswer, ToolCall, Usage


def ids(*given_ids: str) -> list[str]:
    calls = tuple(ToolCall(one, "add", "{}") for one in given_ids)
    return [call.id for call in normalise(ModelAnswer(calls=calls)).calls]


def test_a_good_answer_is_unchanged() -> None:
    answer = ModelAnswer("hi", (ToolCall("a", "add", "not json"),), Usage(1, 2), "gpt")
    assert normalise(answer) == answer


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["", ""], ["call_1", "call_2"]),
        (["a", "a", "a"], ["a", "call_1", "call_2"]),
        (["", "call_1", ""], ["call_2", "call_1", "call_3"]),
        (["call_2", "", "call_2", ""], ["call_2", "call_1", "call_3", "call_4"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_empty_and_repeated_ids_are_replaced(before: list[str], after: list[str]) -> None:
    assert ids(*before) == after


@given(st.lists(st.sampled_from(["", "a", "b", "call_1", "call_2", "call_3"]), max_size=8))
def test_ids_are_always_unique_and_normalising_again_changes_nothing(before: list[str]) -> None:
    after = ids(*before)
    assert len(set(after)) == len(before)
    assert "" not in after
    assert ids(*after) == after
    assert all(new == old for old, new in zip(before, after, strict=True) if old and before.count(old) == 1)


def test_no_call_is_named_like_the_model_call_itself() -> None:
    (call,) = normalise(ModelAnswer(calls=(ToolCall("model", "add", "{}"),))).calls
    assert call.id == "call_1"


def test_an_answer_of_more_calls_than_a_process_can_judge_is_refused() -> None:
    calls = tuple(ToolCall(f"c{number}", "add", "{}") for number in range(257))
    assert len(normalise(ModelAnswer(calls=calls[:256])).calls) == 256
    with pytest.raises(MalformedModelAnswer, match="257 calls at once, more than 256"):
        normalise(ModelAnswer(calls=calls))


def test_a_list_of_calls_becomes_a_tuple() -> None:
    answer: Any = ModelAnswer(calls=[ToolCall("a", "add", "{}")])  # type: ignore[arg-type]
    assert normalise(answer).calls == (ToolCall("a", "add", "{}"),)


def test_an_empty_answer_is_an_answer() -> None:
    assert normalise(ModelAnswer()) == ModelAnswer()


def call(**changes: Any) -> ModelAnswer:
    return ModelAnswer(calls=(ToolCall(**({"id": "a", "name": "add", "arguments": "{}"} | changes)),))


WRONG: dict[str, tuple[Any, str]] = {
    "None": (None, "a NoneType was returned, not a ModelAnswer"),
    "text": ("hello", "a str was returned"),
    "text no text": (ModelAnswer(None), "text is a NoneType, not text"),  # type: ignore[arg-type]
    "text no Unicode": (ModelAnswer("a\ud800"), "lone surrogate at character 1"),
    "model no text": (ModelAnswer(model=5), "model is a int"),  # type: ignore[arg-type]
    "usage a dict": (ModelAnswer(usage={}), "usage is a dict"),  # type: ignore[arg-type]
    "usage a float": (ModelAnswer(usage=Usage(1.5, 0)), "usage.input is 1.5"),  # type: ignore[arg-type]
    "usage a bool": (ModelAnswer(usage=Usage(0, True)), "usage.output is True"),
    "usage beyond counting": (ModelAnswer(usage=Usage(2**53 + 1, 0)), "usage.input is 9007199254740993"),
    "usage beyond writing": (ModelAnswer(usage=Usage(0, 10**5000)), "usage.output is a number of thousands of digits"),
    "usage negative": (ModelAnswer(usage=Usage(0, -1)), "usage.output is -1"),
    "calls None": (ModelAnswer(calls=None), "calls is a NoneType"),  # type: ignore[arg-type]
    "call a dict": (ModelAnswer(calls=({},)), "calls[0] is a dict"),  # type: ignore[arg-type]
    "id None": (call(id=None), "calls[0].id is a NoneType"),
    "name empty": (call(name=""), "calls[0] names no tool"),
    "name None": (call(name=None), "calls[0].name is a NoneType"),
    "arguments a dict": (call(arguments={"a": 1}), "calls[0].arguments is a dict"),
    "arguments no Unicode": (call(arguments="\udfff"), "calls[0].arguments is not Unicode"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_provider_should_not_return_is_named(case: str) -> None:
    answer, says = WRONG[case]
    with pytest.raises(MalformedModelAnswer) as caught:
        normalise(answer, "acme")
    assert str(caught.value).startswith("acme: the answer cannot be used: ")
    assert says in str(caught.value)


def test_an_answer_has_as_many_bytes_as_the_largest_at_most() -> None:
    half = "é" * (LARGEST_ANSWER // 4)
    whole = ModelAnswer(half, (ToolCall("c", "f", half[2:]),))
    assert normalise(whole) is whole
    with pytest.raises(MalformedModelAnswer, match=f"it has {LARGEST_ANSWER + 2} bytes, more than {LARGEST_ANSWER}"):
        normalise(ModelAnswer(half, (ToolCall("c", "f", half),)))


def test_an_id_that_is_no_name_but_a_book_is_replaced() -> None:
    longest = "x" * (1 << 16)
    answer = normalise(ModelAnswer("", (ToolCall(longest, "f", "{}"), ToolCall(longest + "y", "f", "{}"))))
    assert [call.id for call in answer.calls] == [longest, "call_1"]
