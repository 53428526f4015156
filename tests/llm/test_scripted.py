"""The scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pawl.runtime.llm.port import ModelRequest, OutputSchema
from pawl.runtime.llm.scripted import ScriptedProvider, call, calls, hang, scripted, streamed
from pawl.runtime.records.errors import InvalidArguments, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer, ToolCall, Usage
from pawl.runtime.simulation.clock import Clock, VirtualLoop


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


# streams ----------------------------------------------------------------------------------------------------


def pieces_of(provider: ScriptedProvider, sequence: int = 1) -> list[Any]:
    async def run() -> list[Any]:
        return [piece async for piece in provider.stream(request(sequence))]

    return asyncio.run(run())


def test_text_streams_word_by_word_and_nothing_is_lost() -> None:
    text = " Order 7\n is  refunded. "
    *words, answer = pieces_of(scripted([text]))
    assert words == [" ", "Order ", "7\n ", "is  ", "refunded. "]
    assert answer == ModelAnswer(text)


def test_given_pieces_stream_as_given_with_calls_at_the_end() -> None:
    script: list[Any] = [streamed("Let me ", "look.", call("find", what="7"), usage=Usage(1, 2)), call("find")]
    answer = ModelAnswer("Let me look.", (ToolCall("c1", "find", '{"what":"7"}'),), Usage(1, 2))
    assert pieces_of(scripted(script)) == ["Let me ", "look.", answer]
    assert ask(scripted(script), 1) == answer
    assert pieces_of(scripted(script), 2) == [ModelAnswer("", (ToolCall("c2", "find", "{}"),))]


def test_a_stream_breaks_off_once_and_the_next_attempt_goes_on() -> None:
    provider = scripted([streamed("Hel", ModelError("lost", retry_safe=True)), "Hello"])
    heard: list[Any] = []

    async def run() -> None:
        async for piece in provider.stream(request(1)):
            heard.append(piece)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(ModelError, match="lost"):
        asyncio.run(run())
    assert heard == ["Hel"]
    assert pieces_of(provider) == ["Hello", ModelAnswer("Hello")]


def test_a_stream_hangs_until_it_is_cancelled() -> None:
    provider = scripted([streamed("Hel", hang()), "Hello"])
    heard: list[Any] = []

    async def read(arrived: asyncio.Event) -> None:
        async for piece in provider.stream(request(1)):
            heard.append(piece)
            arrived.set()

    async def run() -> None:
        arrived = asyncio.Event()
        task = asyncio.create_task(read(arrived))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert heard == ["Hel"]
    assert ask(provider, 1) == ModelAnswer("Hello")


def test_pieces_come_in_the_time_of_the_loop() -> None:
    clock = Clock()
    loop = VirtualLoop(clock)
    heard: list[tuple[float, Any]] = []

    async def read() -> None:
        async for piece in scripted([streamed("a", "b", delay=2.0)]).stream(request(1)):
            heard.append((clock.time, piece))  # noqa: PERF401 - one is read at a time

    loop.task(read())
    while loop.turn() or loop.due is not None:
        clock.time = max(clock.time, loop.due or 0.0)
    loop.close()
    assert heard == [(2.0, "a"), (4.0, "b"), (4.0, ModelAnswer("ab"))]


def test_a_function_may_give_pieces() -> None:
    provider = scripted([lambda asked: streamed(asked.messages[-1].text, "!", call("f"))])
    assert pieces_of(provider) == ["hi", "!", ModelAnswer("hi!", (ToolCall("c1-1", "f", "{}"),))]


def test_a_wrong_answer_streams_as_it_is() -> None:
    assert pieces_of(scripted([lambda _: 5])) == [5]


def test_requests_keep_instructions_and_the_schema_of_the_output() -> None:
    provider = scripted(["{}"], output_schema=True)
    asked = ModelRequest("c", "a", "run", 1, "m", "Be kind.", (), output=OutputSchema("point", {"type": "object"}))
    asyncio.run(provider.complete(asked))
    assert (provider.requests[0].instructions, provider.requests[0].output) == ("Be kind.", asked.output)


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (streamed("a", 5), "takes text, call(...), an exception instance or hang(), not 5"),  # type: ignore[arg-type]
        (streamed(hang(), "a"), "nothing follows an exception or hang()"),
        (streamed(call("f", a={1})), "arguments of 'f' are not JSON"),
    ],
)
def test_a_stream_of_something_else_is_refused(item: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        scripted([item])
    assert says in str(caught.value)


def test_what_is_left_of_streams_is_named() -> None:
    with pytest.raises(AssertionError, match=r"\[0\] streamed\('a', call\('f', x=1\), hang\(\)\)"):
        scripted([streamed("a", call("f", x=1), hang())]).assert_consumed()
