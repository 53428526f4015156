"""A local server that speaks enough of the chat-completions wire format to test a client over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from types import TracebackType
from typing import Any, Self

import attrs


@attrs.frozen
class Reply:
    """A response: `body` as JSON unless it is bytes. `announce` claims another content length."""

    body: Any
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    announce: int | None = None

    def encode(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        length = len(body) if self.announce is None else self.announce
        lines = [
            f"HTTP/1.1 {self.status} Said",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {length}",
            "Connection: close",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@attrs.frozen
class Stream:
    """A response in pieces: objects and text as server-sent events, bytes as they are.

    `end`: how the body ends. "close" is a whole body, "cut" breaks it off, "stall" leaves it open until the client
    hangs up.
    """

    pieces: tuple[Any, ...]
    end: str = "close"
    headers: tuple[tuple[str, str], ...] = ()

    def head(self) -> bytes:
        lines = [
            "HTTP/1.1 200 Said",
            "Content-Type: text/event-stream; charset=utf-8",
            "Transfer-Encoding: chunked",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def chunks(self) -> list[bytes]:
        """The pieces in HTTP's own chunks."""
        said = [piece if isinstance(piece, bytes) else event(piece) for piece in self.pieces]
        return [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in said]


def event(data: Any) -> bytes:
    """One server-sent event, of JSON or of text."""
    return b"data: " + (data if isinstance(data, str) else json.dumps(data)).encode() + b"\n\n"


def chunk(text: str | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk as OpenAI writes it: `calls=[...]` and `refusal=` go into the delta, the rest replaces top-level keys."""
    delta = {"content": text} if text is not None else {}
    for key, name in (("calls", "tool_calls"), ("refusal", "refusal")):
        if key in more:
            delta[name] = more.pop(key)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "gpt-test-2026",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "usage": None,
        **more,
    }


def part(index: int | None, arguments: str | None = None, **more: Any) -> dict[str, Any]:
    """A part of a tool call; `id` and `name` where it begins."""
    function = {} if arguments is None else {"arguments": arguments}
    if "name" in more:
        function["name"] = more.pop("name")
    return {**({} if index is None else {"index": index}), "function": function, **more}


USAGE = chunk(choices=[], usage={"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})
"""The chunk that `include_usage` asks for."""


@attrs.frozen
class Cut:
    """Close the connection without a response."""


@attrs.frozen
class Stall:
    """Say nothing until the client hangs up."""


@attrs.frozen
class Received:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def completion(
    text: str | None = "ok", *, calls: list[Any] | None = None, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    """A response body as OpenAI writes it; `more` replaces top-level keys."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if calls is not None:
        message["tool_calls"] = calls
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-test-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        **more,
    }


def tool_call(id: str, name: str, arguments: str) -> dict[str, Any]:  # noqa: A002 - as on the wire
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


class OpenAIServer:
    """`async with OpenAIServer(Reply(...), ...) as server`: one scripted reply a request, requests in `received`."""

    def __init__(self, *replies: Reply | Stream | Cut | Stall) -> None:
        self._replies = deque(replies)
        self.received: list[Received] = []
        self.arrived = asyncio.Event()
        self.hung_up = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.received.append(await _read(reader))
            self.arrived.set()
            reply = self._replies.popleft() if self._replies else Reply({"error": {"message": "script is over"}}, 418)
            if isinstance(reply, Reply):
                writer.write(reply.encode())
                await writer.drain()
            elif isinstance(reply, Stream):
                await self._stream(reply, reader, writer)
            elif isinstance(reply, Stall):
                await reader.read()
                self.hung_up.set()
        finally:
            writer.close()

    async def _stream(self, reply: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply.head())
        for piece in reply.chunks():
            writer.write(piece)
            await writer.drain()
        if reply.end == "close":
            writer.write(b"0\r\n\r\n")
        elif reply.end == "stall":
            await reader.read()
            self.hung_up.set()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Received(method, path, headers, json.loads(body))
