"""The scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.llm.scripted import ScriptedProvider, call, calls, hang, scripted
from pawl.runtime.records.errors import InvalidArguments, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer, ToolCall, Usage


def request(sequence: int, agent: str = "a") -> ModelRequest:
    return ModelRequest(f"call-{sequence}", agent, "run", sequence, "scripted", "", (Message("user", "hi"),))


def ask(provider: ScriptedProvider, sequence: int, agent: str = "a") -> ModelAnswer:
    return asyncio.run(provider.complete(request(sequence, agent)))


def test_answers_follow_the_sequence_number() -> None:
    provider = scripted(["one", ModelAnswer("two", usage=Usage(1, 2))])
    assert ask(provider, 2) == ModelAnswer("two", usage=Usage(1, 2))
    assert ask(provider, 1) == ModelAnswer("one")


def test_the_same_call_dispatched_again_gets_the_same_answer() -> None:
    provider = scripted(["one", "two"])
    assert [ask(provider, 1).text, ask(provider, 1).text, ask(provider, 2).text] == ["one", "one", "two"]


def test_every_agent_has_the_script_from_its_start() -> None:
    provider = scripted([ModelError("busy"), "one"])
    for agent in ("a", "b"):
        with pytest.raises(ModelError, match="busy"):
            ask(provider, 1, agent)
        assert ask(provider, 1, agent).text == "one"


def test_calls_are_numbered_through_the_script_around_given_ids() -> None:
    several = calls(call("add", b=2, a=1), call("pay", call_id="c2"), text="now", usage=Usage(3, 4))
    provider = scripted([call("add", a=1), several])
    assert ask(provider, 1).calls == (ToolCall("c1", "add", '{"a":1}'),)
    assert ask(provider, 2) == ModelAnswer(
        "now", (ToolCall("c3", "add", '{"a":1,"b":2}'), ToolCall("c2", "pay", "{}")), Usage(3, 4)
    )


def test_a_failure_is_an_attempt_of_its_own_before_the_answer() -> None:
    provider = scripted(["one", ModelError("busy", retry_safe=True), RuntimeError("odd"), "two"])
    assert ask(provider, 1).text == "one"
    with pytest.raises(ModelError, match="busy"):
        ask(provider, 2)
    with pytest.raises(RuntimeError, match="odd"):
        ask(provider, 2)
    assert ask(provider, 2).text == "two"
    assert ask(provider, 2).text == "two"


def test_a_hanging_attempt_ends_by_cancellation_and_the_next_one_answers() -> None:
    provider = scripted([hang(), "one"])

    async def run() -> str:
        task = asyncio.create_task(provider.complete(request(1)))
        await asyncio.sleep(0)  # one turn: the task runs until it hangs
        assert len(provider.requests) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await provider.complete(request(1))).text

    assert asyncio.run(run()) == "one"


def test_a_function_answers_from_the_request() -> None:
    async def later(asked: ModelRequest) -> Any:
        return calls(call("add", a=asked.sequence), call("add", a=0))

    provider = scripted([lambda asked: asked.messages[-1].text, later])
    assert ask(provider, 1) == ModelAnswer("hi")
    assert ask(provider, 2).calls == (ToolCall("c2-1", "add", '{"a":2}'), ToolCall("c2-2", "add", '{"a":0}'))


def test_a_function_may_give_what_no_provider_should() -> None:
    assert ask(scripted([lambda _: 5]), 1) == 5  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("sequence", [0, 3])
def test_running_out_says_which_answer_and_how_many_there_are(sequence: int) -> None:
    with pytest.raises(ModelError) as caught:
        ask(scripted(["one", ModelError("busy"), "two"]), sequence, "clerk")
    assert str(caught.value) == (
        f"the script ends after 2 answers, and agent 'clerk' asks for number {sequence} (attempt 1); add an answer"
    )
    assert not caught.value.retry_safe


def test_failures_at_the_end_are_raised_before_running_out() -> None:
    provider = scripted(["one", ModelError("busy", retry_safe=True)])
    with pytest.raises(ModelError, match="busy"):
        ask(provider, 2)
    with pytest.raises(ModelError, match=r"ends after 1 answer, .* asks for number 2 \(attempt 2\)"):
        ask(provider, 2)


def test_what_is_left_is_named() -> None:
    provider = scripted(["one", call("add", a=1), calls(call("x"), call("y")), hang(), ModelError("busy"), "z" * 200])
    ask(provider, 1)
    with pytest.raises(AssertionError) as caught:
        provider.assert_consumed()
    assert str(caught.value) == (
        "5 of 6 scripted answers were never asked for: [1] call('add', a=1); [2] calls(call('x'), call('y')); "
        f"[3] hang(); [4] ModelError('busy'); [5] '{'z' * 76}…"
    )


def test_a_consumed_script_has_nothing_left() -> None:
    with scripted(["one"]) as provider:
        ask(provider, 1)


def test_leaving_the_block_checks_what_is_left() -> None:
    with pytest.raises(AssertionError, match="1 of 1"), scripted(["one"]):
        pass


def test_an_error_inside_the_block_is_not_hidden_by_what_is_left() -> None:
    with pytest.raises(ZeroDivisionError), scripted(["one"]):
        raise ZeroDivisionError


def test_requests_are_recorded_unless_told_otherwise() -> None:
    provider, silent = scripted(["one"]), scripted(["one"], record=False)
    ask(provider, 1)
    ask(silent, 1)
    assert (provider.requests, silent.requests) == ([request(1)], [])


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ([None], "[0] is None"),
        (["a", 5], "[1] is 5"),
        ([ModelError], "[0] is <class"),
        ([call("add", a={1})], "arguments of 'add' are not JSON"),
        ([call("add", a=float("nan"))], "arguments of 'add' are not JSON"),
        (
            [calls("add")],  # type: ignore[arg-type]
            "calls() takes call(...), not 'add'",
        ),
        ("text", "put the text in brackets"),
    ],
)
def test_a_script_of_something_else_is_refused(script: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        scripted(script)
    assert says in str(caught.value)
