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

    def __init__(self, *replies: Reply | Cut | Stall) -> None:
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
            elif isinstance(reply, Stall):
                await reader.read()
                self.hung_up.set()
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Received(method, path, headers, json.loads(body))
