"""A whole run over a real socket: streamed chat completions, tool calls, usage, and a hang-up when it is cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

from app.test_streaming import add, all_of, told
from llm.openai_server import USAGE, OpenAIServer, Reply, Stream, chunk, completion, part
from pawl import Agent, Cancelled, Completed, EventKind, Runtime, Usage
from pawl.runtime.llm.openai import OpenAIProvider

CALLING = Stream(
    (
        chunk("Let me "),
        chunk("add."),
        chunk(calls=[part(0, "", id="call_a", name="add")]),
        chunk(calls=[part(0, '{"a": 1, '), part(1, "", id="call_b", name="add")]),
        chunk(calls=[part(0, '"b": 2}'), part(1, '{"a": 3, "b": 4}')]),
        chunk(finish="tool_calls"),
        USAGE,
        "[DONE]",
    )
)
SAYING = Stream((chunk("three"), chunk(", seven"), chunk(finish="stop"), USAGE, "[DONE]"))


def served(*replies: Any) -> tuple[OpenAIServer, Any]:
    """A server, and what makes an agent of it."""
    server = OpenAIServer(*replies)

    def made() -> tuple[Agent, OpenAIProvider]:
        provider = OpenAIProvider("gpt-test", api_key="k", base_url=server.url)
        return Agent(name="a", model=provider, tools=[add]), provider

    return server, made


def test_a_run_streams_with_tool_calls_and_usage_over_a_real_socket() -> None:
    async def run() -> None:
        server, made = served(CALLING, SAYING)
        async with server:
            agent, provider = made()
            async with Runtime("memory://", [agent]) as runtime, runtime.stream(agent, "go") as stream:
                events, rest = await all_of(stream), await stream
            await provider.aclose()
        assert isinstance(rest, Completed)
        assert (rest.output, rest.usage) == ("three, seven", Usage(22, 14))
        assert told(events) == [
            *("Let me ", "add."),
            *(("tool_call", 4), ("tool_call", 4), ("tool_result", 5), ("tool_result", 7)),
            *("three", ", seven"),
            ("done", 12),
        ]
        assert [message["role"] for message in server.received[1].body["messages"]] == [
            *("user", "assistant", "tool", "tool")
        ]
        assert all(received.body["stream"] for received in server.received)

    asyncio.run(run())


def test_cancelling_a_run_in_the_middle_of_a_stream_hangs_up() -> None:
    async def run() -> None:
        server, made = served(Stream((chunk("half"),), end="stall"))
        async with server:
            agent, provider = made()
            async with Runtime("memory://", [agent]) as runtime, runtime.stream(agent, "go") as stream:
                async for event in stream:
                    if event.kind is EventKind.TOKEN:
                        await runtime.cancel(stream.execution.id)
                assert isinstance(await stream, Cancelled)
                await asyncio.wait_for(server.hung_up.wait(), 10)
            await provider.aclose()

    asyncio.run(run())


def test_a_stream_that_was_refused_is_asked_for_again_and_nothing_is_shown_twice() -> None:
    async def run() -> None:
        server, made = served(Reply({"error": {"message": "busy"}}, 429, (("Retry-After", "0"),)), SAYING)
        async with server:
            agent, provider = made()
            async with Runtime("memory://", [agent]) as runtime, runtime.stream(agent, "go") as stream:
                events = await all_of(stream)
            await provider.aclose()
        assert [event.data["text"] for event in events if event.kind is EventKind.TOKEN] == ["three", ", seven"]

    asyncio.run(run())


def test_without_a_consumer_the_same_run_is_made_of_whole_completions() -> None:
    async def run() -> None:
        server, made = served(Reply(completion("whole")))
        async with server:
            agent, provider = made()
            async with Runtime("memory://", [agent]) as runtime:
                rest = await runtime.run(agent, "go")
            await provider.aclose()
        assert isinstance(rest, Completed)
        assert "stream" not in server.received[0].body

    asyncio.run(run())
