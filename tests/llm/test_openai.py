"""The OpenAI provider, over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import attrs
import pytest

from llm.openai_server import Cut, OpenAIServer, Received, Reply, Stall, completion, tool_call
from pawl.runtime.llm.openai import OpenAIProvider
from pawl.runtime.llm.port import ModelRequest, OutputSchema, ToolSpec
from pawl.runtime.records.errors import InvalidArguments, MalformedModelAnswer, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer, ToolCall, Usage


def request(*messages: Message, tools: tuple[ToolSpec, ...] = (), instructions: str = "") -> ModelRequest:
    return ModelRequest(
        call_id="call-1",
        agent_id="agent-1",
        execution_id="run-1",
        sequence=1,
        model="gpt-test",
        instructions=instructions,
        messages=messages or (Message("user", "hello"),),
        tools=tools,
    )


def ask(reply: Reply | Cut | Stall, asked: ModelRequest | None = None, **options: Any) -> tuple[ModelAnswer, Received]:
    async def run() -> tuple[ModelAnswer, Received]:
        async with OpenAIServer(reply) as server:
            provider = OpenAIProvider("gpt-test", api_key="k-1", base_url=server.url, **options)
            try:
                return await provider.complete(asked or request()), server.received[0]
            finally:
                await provider.aclose()

    return asyncio.run(run())


def failing(reply: Reply | Cut | Stall, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(reply, **options)
    return caught.value


def test_an_answer_has_text_usage_and_the_reported_model() -> None:
    answer, _ = ask(Reply(completion("Grüße")))
    assert answer == ModelAnswer("Grüße", (), Usage(11, 7), "gpt-test-2026")


def test_calls_keep_ids_names_and_raw_arguments() -> None:
    raw = '{"order_id": "7"'  # what the model wrote, even if it is no JSON
    answer, _ = ask(Reply(completion(None, calls=[tool_call("a", "refund", raw), tool_call("", "look", "")])))
    assert answer.text == ""
    assert answer.calls == (ToolCall("a", "refund", raw), ToolCall("", "look", ""))


def test_the_request_speaks_the_wire_format() -> None:
    spec = ToolSpec("refund", "Refund an order.", {"type": "object", "properties": {}})
    asked = request(
        Message("user", "refund 7"),
        Message("assistant", "", (ToolCall("c1", "refund", '{"a":1}'), ToolCall("c2", "no.such tool", "{}"))),
        Message("tool", "done", tool_call_id="c1"),
        Message("tool", "no such tool", tool_call_id="c2"),
        Message("assistant", "Refunded."),
        tools=(spec,),
        instructions="Be kind.",
    )
    _, received = ask(Reply(completion()), asked, options={"temperature": 0})
    assert (received.method, received.path) == ("POST", "/v1/chat/completions")
    assert received.headers["authorization"] == "Bearer k-1"
    assert received.body == {
        "model": "gpt-test",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "refund 7"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [tool_call("c1", "refund", '{"a":1}'), tool_call("c2", "no_such_tool", "{}")],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "tool", "tool_call_id": "c2", "content": "no such tool"},
            {"role": "assistant", "content": "Refunded."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "refund",
                    "description": "Refund an order.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


def test_no_tools_and_no_instructions_are_left_out() -> None:
    _, received = ask(Reply(completion()))
    assert received.body == {"model": "gpt-test", "messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_failure_before_an_answer_is_safe_to_retry(status: int) -> None:
    error = failing(Reply({"error": {"message": "overloaded", "code": "busy"}}, status))
    assert error.retry_safe
    assert str(error) == f"openai answered {status} (busy): overloaded"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refused_request_is_not_safe_to_retry(status: int) -> None:
    error = failing(Reply({"error": {"message": "no", "code": "bad"}}, status))
    assert not error.retry_safe
    assert str(error).startswith(f"openai answered {status} (bad): no")


def test_an_empty_account_is_not_worth_a_retry() -> None:
    error = failing(Reply({"error": {"message": "pay", "code": "insufficient_quota"}}, 429))
    assert not error.retry_safe


def test_the_server_may_say_that_a_retry_is_useless() -> None:
    error = failing(Reply({"error": {"message": "broken"}}, 500, headers=(("x-should-retry", "false"),)))
    assert not error.retry_safe


def test_the_sdk_does_not_retry_on_its_own() -> None:
    async def run() -> int:
        async with OpenAIServer(Reply({}, 503), Reply(completion())) as server:
            provider = OpenAIProvider("gpt-test", api_key="k", base_url=server.url)
            with pytest.raises(ModelError):
                await provider.complete(request())
            await provider.aclose()
            return len(server.received)

    assert asyncio.run(run()) == 1


def test_a_web_page_instead_of_an_error_is_quoted_shortly() -> None:
    error = failing(Reply(b"<html>" + b"bad gateway " * 100 + b"</html>", 502, content_type="text/html"))
    assert error.retry_safe
    assert len(str(error)) < 400
    assert "bad gateway" in str(error)


def test_a_refused_connection_is_safe_to_retry() -> None:
    with socket.socket() as held:  # bound and not listening: nobody else can take the port
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"

        async def run() -> None:
            provider = OpenAIProvider("gpt-test", api_key="k", base_url=url)
            try:
                await provider.complete(request())
            finally:
                await provider.aclose()

        with pytest.raises(ModelError, match="cannot be reached") as caught:
            asyncio.run(run())
    assert caught.value.retry_safe


def test_a_cut_connection_is_not_safe_to_retry() -> None:
    error = failing(Cut())
    assert not error.retry_safe
    assert "connection was lost" in str(error)


def test_an_answer_cut_in_the_middle_is_not_safe_to_retry() -> None:
    body = json.dumps(completion()).encode()
    error = failing(Reply(body[:50], announce=len(body)))
    assert not error.retry_safe
    assert not isinstance(error, MalformedModelAnswer)


def test_a_silent_server_is_a_timeout_of_unknown_effect() -> None:
    error = failing(Stall(), timeout=0.05)
    assert not error.retry_safe
    assert "did not answer in time" in str(error)


def test_cancelling_the_task_closes_the_connection() -> None:
    async def run() -> None:
        async with OpenAIServer(Stall()) as server:
            provider = OpenAIProvider("gpt-test", api_key="k", base_url=server.url)
            task = asyncio.create_task(provider.complete(request()))
            await server.arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.hung_up.wait(), 10)
            await provider.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (completion("half", finish="length"), "cut off at the token limit"),
        (completion(None, finish="content_filter"), "content filter"),
        (
            completion(choices=[{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]),
            "refused: I cannot.",
        ),
    ],
)
def test_an_answer_that_is_none_says_why(reply: dict[str, Any], says: str) -> None:
    error = failing(Reply(reply))
    assert says in str(error)
    assert not error.retry_safe
    assert not isinstance(error, MalformedModelAnswer)


def function(value: Any) -> dict[str, Any]:
    return completion(None, calls=[value])


MALFORMED: dict[str, tuple[Any, str]] = {
    "no choices": ({"object": "chat.completion"}, "no choices"),
    "empty choices": (completion(choices=[]), "no choices"),
    "choices no list": (completion(choices={"0": 1}), "no choices"),
    "an error inside a 200": ({"error": {"message": "model is loading"}}, "model is loading"),
    "no message": (completion(choices=[{"finish_reason": "stop"}]), "no message"),
    "content no text": (completion(choices=[{"message": {"content": [{"text": "x"}]}}]), "content is a list"),
    "calls no list": (completion(choices=[{"message": {"tool_calls": {}}}]), "tool_calls is an object"),
    "retired function_call": (completion(choices=[{"message": {"function_call": {"name": "x"}}}]), "function_call"),
    "call no object": (function("refund"), "tool_calls[0] is text"),
    "call without function": (function({"id": "a", "type": "custom"}), "no function (type 'custom')"),
    "call without id": (function({"function": {"name": "x", "arguments": "{}"}}), "no id"),
    "call without name": (function({"id": "a", "function": {"arguments": "{}"}}), "no name"),
    "call with empty name": (function(tool_call("a", "", "{}")), "empty name"),
    "arguments an object": (function(tool_call("a", "x", {"b": 1})), "arguments are an object"),  # type: ignore[arg-type]
    "arguments null": (function(tool_call("a", "x", None)), "arguments are null"),  # type: ignore[arg-type]
    "usage no object": (completion(usage=[1]), "usage is a list"),
    "usage negative": (completion(usage={"prompt_tokens": -1}), "usage.prompt_tokens is -1"),
    "not an object": (b"[1, 2]", "a list, not a JSON object"),
    "web page": (b"<!doctype html><p>login", "a web page, not JSON; check base_url"),
    "truncated": (b'{"choices": [{"mess', "not JSON"),
    "empty": (b"", "it is empty"),
    "not UTF-8": (b'{"choices": "\xff"}', "not UTF-8"),
    "nested too deep": (b"[" * 100_000, "nested too deep"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_answer_is_named(case: str) -> None:
    body, says = MALFORMED[case]
    error = failing(Reply(body))
    assert isinstance(error, MalformedModelAnswer), error
    assert says in str(error)


def test_absent_usage_counts_nothing() -> None:
    answer, _ = ask(Reply(completion(usage=None)))
    assert answer.usage == Usage()


def test_an_unknown_finish_reason_with_an_answer_is_an_answer() -> None:
    answer, _ = ask(Reply(completion("fine", finish="eos")))
    assert answer.text == "fine"


def test_text_that_is_not_unicode_cannot_be_sent() -> None:
    with pytest.raises(ModelError, match="could not be made") as caught:
        ask(Reply(completion()), request(Message("user", "\ud800")))
    assert not caught.value.retry_safe


def test_no_api_key_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIProvider("gpt-test")


def test_options_cannot_replace_what_a_request_sets() -> None:
    with pytest.raises(InvalidArguments, match="messages, stream"):
        OpenAIProvider("gpt-test", api_key="k", options={"stream": True, "messages": []})


def test_a_schema_for_the_output_goes_out_and_its_value_comes_back() -> None:
    numbers = OutputSchema("numbers", {"type": "array", "items": {"type": "integer"}})
    asked = attrs.evolve(request(), output=numbers)
    answer, received = ask(Reply(completion('{"value": [1, 2]}')), asked)
    assert answer.text == "[1,2]"
    assert received.body["response_format"]["json_schema"] == {
        "name": "numbers",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"value": numbers.schema},
            "required": ["value"],
            "additionalProperties": False,
        },
    }


def test_tool_calls_come_before_the_output_as_they_are() -> None:
    asked = attrs.evolve(request(), output=OutputSchema("n", {"type": "integer"}))
    answer, _ = ask(Reply(completion('{"value": 1}', calls=[tool_call("a", "f", "{}")])), asked)
    assert answer.text == '{"value": 1}', "text beside calls is no output"


def test_a_server_that_takes_no_schema_is_sent_none() -> None:
    asked = attrs.evolve(request(), output=OutputSchema("n", {"type": "integer"}))
    answer, received = ask(Reply(completion("1")), asked, output_schema=False)
    assert answer.text == "1"
    assert "response_format" not in received.body


def test_options_of_streams_are_for_streams_alone() -> None:
    _, received = ask(Reply(completion()), options={"stream_options": {"include_usage": False}, "seed": 1})
    assert received.body == {"model": "gpt-test", "messages": [{"role": "user", "content": "hello"}], "seed": 1}
