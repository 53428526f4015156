"""The OpenAI provider's streams, over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from llm.openai_server import (
    USAGE,
    Cut,
    OpenAIServer,
    Received,
    Reply,
    Stall,
    Stream,
    chunk,
    completion,
    event,
    part,
    tool_call,
)
from pawl.runtime.llm.openai import OpenAIProvider
from pawl.runtime.llm.port import ModelRequest, OutputSchema
from pawl.runtime.llm.streaming import answer_in_pieces
from pawl.runtime.records.errors import MalformedModelAnswer, ModelError
from pawl.runtime.records.messages import Message, ModelAnswer, ToolCall, Usage

Said = Reply | Stream | Cut | Stall
END = (chunk(finish="stop"), USAGE, "[DONE]")


def request(output: OutputSchema | None = None) -> ModelRequest:
    return ModelRequest("call-1", "agent", "run", 1, "gpt-test", "", (Message("user", "hello"),), output=output)


def ask(
    reply: Said, asked: ModelRequest | None = None, **options: Any
) -> tuple[list[str], ModelAnswer | ModelError, Received]:
    """The pieces that came, the answer or the error that ended them, and what the server was asked."""
    pieces: list[str] = []

    async def run() -> tuple[ModelAnswer | ModelError, Received]:
        async with OpenAIServer(reply) as server:
            provider = OpenAIProvider("gpt-test", api_key="k-1", base_url=server.url, **options)
            try:
                answer: ModelAnswer | ModelError = await answer_in_pieces(provider, asked or request(), pieces.append)
            except ModelError as error:
                answer = error
            finally:
                await provider.aclose()
            return answer, server.received[0]

    answer, received = asyncio.run(run())
    return pieces, answer, received


def answered(*pieces: Any, **options: Any) -> ModelAnswer:
    answer = ask(Stream(pieces), **options)[1]
    assert isinstance(answer, ModelAnswer), answer
    return answer


def failed(reply: Said, **options: Any) -> ModelError:
    error = ask(reply, **options)[1]
    assert isinstance(error, ModelError), error
    return error


def test_text_comes_in_pieces_and_then_whole_with_its_usage() -> None:
    pieces, answer, received = ask(Stream((chunk(""), chunk("Grü"), chunk("ße"), *END)))
    assert pieces == ["Grü", "ße"]
    assert answer == ModelAnswer("Grüße", (), Usage(11, 7), "gpt-test-2026")
    assert received.body == {
        "model": "gpt-test",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_piece_comes_before_the_answer_is_complete() -> None:
    async def run() -> None:
        async with OpenAIServer(Stream((chunk("first"),), end="stall")) as server:
            provider = OpenAIProvider("gpt-test", api_key="k", base_url=server.url)
            stream = provider.stream(request())
            assert await anext(stream) == "first"
            await stream.aclose()  # type: ignore[attr-defined]
            await asyncio.wait_for(server.hung_up.wait(), 10)
            await provider.aclose()

    asyncio.run(run())


def test_cancelling_in_the_middle_closes_the_connection() -> None:
    async def run() -> None:
        arrived = asyncio.Event()
        async with OpenAIServer(Stream((chunk("first"),), end="stall")) as server:
            provider = OpenAIProvider("gpt-test", api_key="k", base_url=server.url)
            task = asyncio.create_task(answer_in_pieces(provider, request(), lambda _: arrived.set()))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.hung_up.wait(), 10)
            await provider.aclose()

    asyncio.run(run())


def test_a_connection_is_used_again_after_a_whole_stream() -> None:
    ports: list[int] = []
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports.append(writer.get_extra_info("peername")[1])
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
                reply = Stream((chunk("x"), *END))
                writer.write(reply.head() + b"".join(reply.chunks()))
                await writer.drain()
                writer.write(b"0\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            await writer.wait_closed()
            over.set()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        provider = OpenAIProvider("gpt-test", api_key="k", base_url=url)
        for _ in range(2):
            await answer_in_pieces(provider, request(), lambda _: None)
        await provider.aclose()
        await over.wait()
        server.close()
        await server.wait_closed()

    asyncio.run(run())
    assert len(ports) == 1


def test_calls_are_put_together_by_index() -> None:
    answer = answered(
        chunk("Let me look."),
        chunk(calls=[part(0, "", id="a", type="function", name="refund")]),
        chunk(calls=[part(0, '{"order'), part(1, "", id="b", name="look")]),
        chunk(calls=[part(1, '{"x":')]),
        chunk(calls=[part(0, '": 7}'), part(1, "1}")]),
        chunk(finish="tool_calls"),
        USAGE,
        "[DONE]",
    )
    assert answer.text == "Let me look."
    assert answer.calls == (ToolCall("a", "refund", '{"order": 7}'), ToolCall("b", "look", '{"x":1}'))
    assert answer.usage == Usage(11, 7)


DIALECTS: dict[str, tuple[tuple[dict[str, Any], ...], tuple[ToolCall, ...]]] = {
    "every call at index 0": (
        (
            chunk(calls=[part(0, '{"n":', id="a", name="f")]),
            chunk(calls=[part(0, "1}")]),
            chunk(calls=[part(0, '{"n":', id="b", name="f")]),
            chunk(calls=[part(0, "2}")]),
        ),
        (ToolCall("a", "f", '{"n":1}'), ToolCall("b", "f", '{"n":2}')),
    ),
    "no index, whole calls": (
        (chunk(calls=[part(None, "{}", id="a", name="f"), part(None, '{"x":1}', id="b", name="g")]),),
        (ToolCall("a", "f", "{}"), ToolCall("b", "g", '{"x":1}')),
    ),
    "no index and no id": (
        (chunk(calls=[part(None, "{}", name="f")]), chunk(calls=[part(None, '{"x"', name="g"), part(None, ":1}")])),
        (ToolCall("", "f", "{}"), ToolCall("", "g", '{"x":1}')),
    ),
    "no index, the id in every part": (
        (
            chunk(calls=[part(None, "{", id="a", name="f"), part(None, "[", id="b", name="g")]),
            chunk(calls=[part(None, "}", id="a"), part(None, "]", id="b")]),
        ),
        (ToolCall("a", "f", "{}"), ToolCall("b", "g", "[]")),
    ),
    "id and name in every part": (
        (chunk(calls=[part(0, "{", id="a", name="f")]), chunk(calls=[part(0, "}", id="a", name="f")])),
        (ToolCall("a", "f", "{}"),),
    ),
    "a later index first": (
        (chunk(calls=[part(1, "{}", id="b", name="g")]), chunk(calls=[part(0, "{}", id="a", name="f")])),
        (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")),
    ),
    "arguments left out and null": (
        (chunk(calls=[part(0, id="a", name="f")]), chunk(calls=[{"index": 0, "function": {"arguments": None}}])),
        (ToolCall("a", "f", ""),),
    ),
}


@pytest.mark.parametrize("case", DIALECTS)
def test_calls_of_compatible_servers_are_told_apart(case: str) -> None:
    chunks, calls = DIALECTS[case]
    assert answered(*chunks, chunk(finish="tool_calls"), "[DONE]").calls == calls


SERVERS: dict[str, tuple[Any, ...]] = {
    "as OpenAI": (chunk("o"), chunk("k"), chunk(finish="stop"), USAGE, "[DONE]"),
    "no [DONE]": (chunk("o"), chunk("k"), chunk(finish="stop"), USAGE),
    "no finish_reason": (chunk("o"), chunk("k"), USAGE, "[DONE]"),
    "usage in every chunk": (
        chunk("o", usage={"prompt_tokens": 11, "completion_tokens": 1}),
        chunk("k", finish="stop", usage={"prompt_tokens": 11, "completion_tokens": 7}),
        "[DONE]",
    ),
    "empty chunks first": ({"choices": [], "prompt_filter_results": [{}]}, {"choices": None}, chunk("ok"), *END),
    "unknown fields": (
        chunk("ok", extra={"a": 1}, choices=[{"delta": {"content": "ok", "reasoning": "hm"}, "seed": 1}]),
        *END,
    ),
    "null delta at the end": (chunk("ok"), {"choices": [{"delta": None, "finish_reason": "stop"}]}, USAGE),
    "a second choice": (
        chunk("ok", choices=[{"delta": {"content": "ok"}}, {"index": 1, "delta": {"content": "no"}}]),
        *END,
    ),
    "comments": (b": keep-alive\n\n: PROCESSING\n\n", chunk("ok"), b": bye\n\n", *END),
    "carriage returns": (b"".join(event(piece) for piece in (chunk("ok"), *END)).replace(b"\n", b"\r\n"),),
    "no space behind data:": (b"".join(event(piece) for piece in (chunk("ok"), *END)).replace(b"data: ", b"data:"),),
    "event names and ids": (b"event: message\nid: 4\nretry: 5\n" + event(chunk("ok")), *END),
    "no empty line at the end": (chunk("ok"), USAGE, event(chunk(finish="stop"))[:-2]),
    "byte by byte": tuple(bytes([byte]) for byte in b"".join(event(piece) for piece in (chunk("ok"), *END))),
}


@pytest.mark.parametrize("case", SERVERS)
def test_every_compatible_server_is_read(case: str) -> None:
    answer = answered(*SERVERS[case])
    assert (answer.text, answer.usage) == ("ok", Usage(11, 7))


def test_absent_usage_counts_nothing() -> None:
    assert answered(chunk("ok", finish="stop"), "[DONE]").usage == Usage()


def test_line_ends_of_unicode_are_text() -> None:
    text = "a\u2028b\u0085c\x0bd"
    raw = json.dumps(chunk(text), ensure_ascii=False)
    assert answered(b"data: " + raw.encode() + b"\n\n", *END).text == text


def test_text_is_whole_when_the_bytes_of_a_letter_are_torn() -> None:
    raw = event(chunk("x")).replace(b'"x"', '"ß"'.encode())
    middle = raw.index("ß".encode()) + 1
    assert answered(raw[:middle], raw[middle:], *END).text == "ß"


def test_a_server_that_does_not_stream_gives_one_piece() -> None:
    pieces, answer, _ = ask(Reply(completion("whole", calls=[tool_call("a", "f", "{}")])))
    assert pieces == ["whole"]
    assert answer == ModelAnswer("whole", (ToolCall("a", "f", "{}"),), Usage(11, 7), "gpt-test-2026")


def test_stream_options_can_be_left_out_for_servers_that_refuse_them() -> None:
    assert "stream_options" not in ask(Stream(END), options={"stream_options": None})[2].body


# what goes wrong --------------------------------------------------------------------------------------------


def test_a_stream_that_just_ends_is_no_answer() -> None:
    pieces, error, _ = ask(Stream((chunk("half"),)))
    assert pieces == ["half"]
    assert isinstance(error, ModelError)
    assert "ended before the answer was complete" in str(error)
    assert not error.retry_safe


@pytest.mark.parametrize(
    "pieces", [(), (chunk(""),), (chunk("half"),), (chunk(calls=[part(0, "{", id="a", name="f")]),)]
)
def test_a_stream_that_breaks_is_not_safe_to_retry_however_little_came(pieces: tuple[Any, ...]) -> None:
    error = failed(Stream(pieces, end="cut"))
    assert "connection was lost before the answer was complete" in str(error)
    assert not error.retry_safe
    assert not isinstance(error, MalformedModelAnswer)


def test_a_stream_that_breaks_behind_the_answer_costs_the_usage_only() -> None:
    pieces, answer, _ = ask(Stream((chunk("whole"), chunk(finish="stop")), end="cut"))
    assert (pieces, answer) == (["whole"], ModelAnswer("whole", model="gpt-test-2026"))


def test_an_answer_does_not_wait_for_a_body_that_stays_open() -> None:
    answer = ask(Stream((chunk("whole"), *END), end="stall"))[1]
    assert answer == ModelAnswer("whole", (), Usage(11, 7), "gpt-test-2026")


def test_silence_in_the_middle_is_a_timeout_of_unknown_effect() -> None:
    error = failed(Stream((chunk("half"),), end="stall"), timeout=0.05)
    assert not error.retry_safe
    assert "did not answer in time" in str(error)


def test_a_lost_connection_before_the_head_is_not_safe_to_retry() -> None:
    assert not failed(Cut()).retry_safe


def test_a_refused_connection_is_safe_to_retry() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))

        async def run() -> None:
            url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
            provider = OpenAIProvider("gpt-test", api_key="k", base_url=url)
            try:
                await answer_in_pieces(provider, request(), lambda _: None)
            finally:
                await provider.aclose()

        with pytest.raises(ModelError, match="cannot be reached") as caught:
            asyncio.run(run())
    assert caught.value.retry_safe


def test_a_status_says_when_to_come_again() -> None:
    error = failed(Reply({"error": {"message": "slow down", "code": "busy"}}, 429, (("Retry-After", "7"),)))
    assert (error.retry_safe, error.retry_after) == (True, 7.0)
    assert str(error) == "openai answered 429 (busy): slow down"


@pytest.mark.parametrize(
    ("error", "safe"),
    [
        ({"message": "overloaded", "type": "server_error"}, True),
        ({"message": "busy", "code": 503}, True),
        ({"message": "busy", "code": "429"}, True),
        ({"message": "pay", "code": "insufficient_quota", "type": "rate_limit_exceeded"}, False),
        ({"message": "bad", "code": "invalid_request"}, False),
        ("text", False),
    ],
)
def test_an_error_in_place_of_the_answer_is_safe_where_the_server_says_so(error: Any, safe: bool) -> None:
    said = failed(Stream(({"error": error},)))
    assert said.retry_safe is safe
    assert "broke off the answer" in str(said)


def test_an_error_in_the_middle_is_not_safe() -> None:
    pieces, error, _ = ask(Stream((chunk("half"), {"error": {"message": "overloaded", "code": 503}})))
    assert isinstance(error, ModelError)
    assert (pieces, error.retry_safe) == (["half"], False)


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ((chunk("half"), chunk(finish="length")), "cut off at the token limit (finish_reason"),
        (
            (chunk(calls=[part(0, '{"cents": 1', id="a", name="pay")]), chunk(finish="length")),
            "cut off at the token limit in the middle of a tool call",
        ),
        ((chunk("x"), chunk(finish="content_filter")), "content filter"),
        ((chunk(refusal="I can"), chunk(refusal="not."), chunk(finish="stop")), "refused: I cannot."),
    ],
)
def test_an_answer_that_is_none_says_why(pieces: tuple[Any, ...], says: str) -> None:
    error = failed(Stream((*pieces, "[DONE]")))
    assert says in str(error)
    assert not error.retry_safe
    assert not isinstance(error, MalformedModelAnswer)


def test_a_refusal_is_never_a_piece_of_text() -> None:
    assert ask(Stream((chunk(refusal="I cannot."), chunk(finish="stop"))))[0] == []


def choice(**delta: Any) -> dict[str, Any]:
    return chunk(choices=[{"index": 0, "delta": delta}])


MALFORMED: dict[str, tuple[Any, str]] = {
    "not JSON": ("{half", "not JSON"),
    "a web page": ("<html>", "check base_url"),
    "no object": ([1], "a list, not a JSON object"),
    "not UTF-8": (b'data: {"a": "\xff"}\n\n', "not UTF-8"),
    "choices no list": ({"choices": {"0": 1}}, "choices is an object"),
    "choice no object": ({"choices": [1]}, "a choice is a number"),
    "delta no object": (chunk(choices=[{"delta": "x"}]), "delta is text"),
    "content no text": (choice(content=[{"text": "x"}]), "content is a list"),
    "calls no list": (choice(tool_calls={}), "tool_calls is an object"),
    "call no object": (choice(tool_calls=["x"]), "a part of a tool call is text"),
    "function no object": (choice(tool_calls=[{"function": "x"}]), "the function of a tool call is text"),
    "arguments an object": (choice(tool_calls=[part(0, {"a": 1}, name="f")]), "arguments of a tool call is an object"),  # type: ignore[arg-type]
    "index no number": (choice(tool_calls=[{"index": "0", "function": {"name": "f"}}]), "index of a tool call is '0'"),
    "a part of nothing": (choice(tool_calls=[part(None, "{}")]), "belongs to no call"),
    "two names": (choice(tool_calls=[part(0, "", id="a", name="f"), part(0, "", name="g")]), "'f' and then 'g'"),
    "no name at all": (choice(tool_calls=[part(0, "{}", id="a")]), "empty name"),
    "retired function_call": (choice(function_call={"name": "f"}), "function_call"),
    "usage no object": (chunk(usage=[1]), "usage is a list"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_chunk_is_named(case: str) -> None:
    piece, says = MALFORMED[case]
    error = failed(Stream((chunk("x"), piece, chunk(finish="stop"), "[DONE]")))
    assert isinstance(error, MalformedModelAnswer), error
    assert says in str(error)


# the schema of the output -----------------------------------------------------------------------------------

LIST = OutputSchema("numbers", {"type": "array", "items": {"type": "integer"}})
RECORD = OutputSchema("point", {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})


def test_a_schema_goes_out_as_response_format_and_text_streams() -> None:
    pieces, answer, received = ask(Stream((chunk('{"x"'), chunk(":1}"), *END)), request(RECORD))
    assert pieces == ['{"x"', ":1}"]
    assert isinstance(answer, ModelAnswer)
    assert answer.text == '{"x":1}'
    assert received.body["response_format"]["json_schema"]["strict"] is True


def test_a_value_that_is_no_object_comes_without_the_object_around_it() -> None:
    pieces, answer, received = ask(Stream((chunk('{"value": ['), chunk("1, 2]}"), *END)), request(LIST))
    assert isinstance(answer, ModelAnswer)
    assert (pieces, answer.text) == (["[1,2]"], "[1,2]")
    assert received.body["response_format"]["json_schema"]["schema"]["properties"] == {"value": LIST.schema}


def test_a_server_that_takes_no_schema_is_not_sent_one() -> None:
    _, answer, received = ask(Stream((chunk("[1]"), *END)), request(LIST), output_schema=False)
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "[1]"
    assert "response_format" not in received.body


def test_a_refused_schema_says_what_to_do() -> None:
    error = failed(Reply({"error": {"message": "response_format is not supported"}}, 400))
    assert "output_schema=False" in str(error)
