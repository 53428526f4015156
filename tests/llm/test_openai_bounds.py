"""What a server may send at once: more of it is no answer, and what it costs to find out is in proportion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from growth import is_linear
from llm.openai_server import OpenAIServer, Reply, Stream, chunk, completion, event, part
from pawl.runtime.llm import openai, openai_chunks
from pawl.runtime.llm.openai import OpenAIProvider
from pawl.runtime.llm.openai_chunks import Chunks, EventData
from pawl.runtime.llm.port import MOST_CALLS, ModelRequest
from pawl.runtime.llm.streaming import answer_in_pieces
from pawl.runtime.records.errors import MalformedModelAnswer
from pawl.runtime.records.messages import Message


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that tests come to."""
    monkeypatch.setattr(openai, "LARGEST", 2000)
    monkeypatch.setattr(openai_chunks, "LARGEST", 2000)
    monkeypatch.setattr(openai_chunks, "LARGEST_ANSWER", 1000)


def fed(*pieces: bytes) -> list[bytes]:
    events = EventData()
    return [data for piece in pieces for data in events.feed(piece)]


@pytest.mark.parametrize(
    "pieces",
    [
        [b"x" * 2001],
        [b"x" * 500] * 5,
        [b"data: x\n"] * 400,
        [b"data:\n" * 100] * 25,
        [b"data: " + b"x" * 1500 + b"\n", b"data: " + b"x" * 600],
    ],
)
def test_an_event_that_does_not_end_is_given_up(pieces: list[bytes]) -> None:
    with pytest.raises(MalformedModelAnswer, match="one event of the stream has more than 2000 bytes"):
        fed(*pieces)


def test_a_stream_of_many_events_has_no_end_to_come_to() -> None:
    assert len(fed(*[event({"n": at}) + b": awake\n\n" for at in range(500)])) == 500


@pytest.mark.parametrize(
    "deltas",
    [
        [{"content": "x" * 300}] * 4,
        [{"refusal": "x" * 300}] * 4,
        [{"tool_calls": [part(0, "x" * 300, id="c", name="f")]}] * 4,
        [{"tool_calls": [{"index": 0, "id": "c" * 300, "function": {"name": "f"}}]}] * 4,
    ],
)
def test_an_answer_that_grows_beyond_every_answer_is_given_up(deltas: list[dict[str, Any]]) -> None:
    with pytest.raises(MalformedModelAnswer, match="it has more than 1000 bytes"):
        taken(json.dumps({"choices": [{"delta": delta}]}).encode() for delta in deltas)


def taken(chunks: Iterable[bytes]) -> Chunks:
    made = Chunks()
    for data in chunks:
        made.take(data)
    made.take(b"[DONE]")
    return made


def calls(count: int) -> Iterator[bytes]:
    for at in range(count):
        yield json.dumps({"choices": [{"delta": {"tool_calls": [part(None, "", id=f"{at}", name="f")]}}]}).encode()


def test_more_calls_than_an_answer_may_have_are_not_even_collected() -> None:
    with pytest.raises(MalformedModelAnswer, match="it asks for more than 256 calls at once"):
        taken(calls(MOST_CALLS + 1))
    assert len(taken(calls(MOST_CALLS)).answer().calls) == MOST_CALLS


@pytest.mark.parametrize("piece", [b"\r", b"\n", b"data: x\n\n", b": awake\n", b"data: x"])
def test_bytes_one_by_one_take_time_in_proportion(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chunks, "LARGEST", 1 << 20)
    assert is_linear(lambda n: lambda: fed(*[piece[at : at + 1] for _ in range(n) for at in range(len(piece))]))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    "reply",
    [Reply(completion("x" * 3000)), Reply(b"[" * 3000), Reply(b"x" * 100_000)],
)
def test_a_reply_that_is_longer_than_any_is_not_read_to_its_end(reply: Reply, streams: bool) -> None:
    assert "it has more than 2000 bytes" in said_of(reply, streams)


def test_a_stream_that_is_one_line_is_not_read_to_its_end() -> None:
    assert "one event of the stream has more than 2000 bytes" in said_of(Stream((b"x" * 1500,) * 3), True)
    assert "it has more than 1000 bytes" in said_of(Stream((chunk("x" * 600),) * 3), True)


def said_of(reply: Reply | Stream, streams: bool) -> str:
    request = ModelRequest("call-1", "agent", "run", 1, "gpt-test", "", (Message("user", "hello"),))

    async def run() -> None:
        async with OpenAIServer(reply) as server:
            provider = OpenAIProvider("gpt-test", api_key="k-1", base_url=server.url)
            try:
                await (answer_in_pieces(provider, request, str) if streams else provider.complete(request))
            finally:
                await provider.aclose()

    with pytest.raises(MalformedModelAnswer) as caught:
        asyncio.run(run())
    return str(caught.value)
