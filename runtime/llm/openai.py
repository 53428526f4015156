"""The OpenAI provider: chat completions through the official SDK, at OpenAI or any compatible server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import attrs
import openai

from pawl.runtime.llm.openai_chunks import Chunks, EventData
from pawl.runtime.llm.openai_errors import from_status, from_transport
from pawl.runtime.llm.openai_schema import is_wrapped, unwrap
from pawl.runtime.llm.openai_wire import LARGEST, from_wire, malformed, shorten, to_wire
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.errors import InvalidArguments, MalformedModelAnswer, ModelError
from pawl.runtime.records.messages import ModelAnswer

_OURS: Final = frozenset({"model", "messages", "tools", "stream", "n"})

_REST: Final = 0.1
"""Seconds to wait for the end of a body whose answer is complete. Read to its end, the connection is used again."""


class OpenAIProvider:
    """Chat completions. Safe for many calls at once; the connections belong to the event loop that made them.

    `model` is used when a request names none. `api_key` and `base_url` default to the SDK's environment variables
    (OPENAI_API_KEY, OPENAI_BASE_URL). `timeout` is the longest silence of the server, in seconds; None is the SDK's
    default (10 minutes). `options` go into every request as they are, such as `{"temperature": 0,
    "max_completion_tokens": 4000}`; `stream_options` goes into streams only, and None there leaves it out.
    `output_schema=False` is for servers that take no `response_format`: the schema is told in the instructions.

    The SDK retries nothing: a call that may be made again is made again by the runtime, behind its own barrier.
    Raises ModelError when there is no API key; InvalidArguments for options that a request sets itself.
    """

    name = "openai"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        options: Mapping[str, Any] | None = None,
        output_schema: bool = True,
    ) -> None:
        clash = sorted(_OURS & (options or {}).keys())
        if clash:
            raise InvalidArguments(f"OpenAIProvider options {', '.join(clash)}: each request sets these itself")
        self.model = model
        self.supports_output_schema = output_schema
        self._options = dict(options or {})
        self._stream_options = self._options.pop("stream_options", {"include_usage": True})
        try:
            self._client = openai.AsyncOpenAI(
                api_key=api_key,
                base_url=base_url,
                timeout=openai.NOT_GIVEN if timeout is None else timeout,
                max_retries=0,
            )
        except openai.OpenAIError as error:
            raise ModelError(f"openai: no client can be made: {error}") from error

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Ask for one completion. Raises ModelError, MalformedModelAnswer; cancelling closes the connection."""
        request = self._seen(request)
        try:
            async with self._client.chat.completions.with_streaming_response.create(**self._body(request)) as reply:
                body = await _whole(reply)
        except ModelError:
            raise
        except Exception as error:
            raise _failed(error) from error
        # The SDK's own models accept any shape; what is missing there must be an error here.
        return _given(from_wire(body), request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelAnswer]:
        """Ask for one completion in pieces. Raises as `complete`; closing or cancelling closes the connection.

        An answer is complete when the server has said why it ends, or `[DONE]`; a connection that breaks behind that
        costs the usage at most. One that breaks before is an error that is not safe to retry, however little came.
        """
        request, chunks = self._seen(request), Chunks()
        body = {**self._body(request), "stream": True}
        if self._stream_options is not None:
            body["stream_options"] = self._stream_options
        silent = is_wrapped(request.output)  # what is around the value is no text of the answer
        try:
            async with self._client.chat.completions.with_streaming_response.create(**body) as reply:
                if "json" in reply.headers.get("content-type", ""):  # a server that does not stream
                    silent, answer = True, from_wire(await _whole(reply))
                else:
                    async with aclosing(_texts(reply, chunks)) as texts:
                        async for text in texts:
                            if text and not silent:
                                yield text
                    answer = chunks.answer()
        except ModelError:
            raise
        except Exception as error:
            raise _failed(error) from error
        answer = _given(answer, request)
        if silent and answer.text:
            yield answer.text
        yield answer

    def _seen(self, request: ModelRequest) -> ModelRequest:
        return request if self.supports_output_schema else attrs.evolve(request, output=None)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        return {**self._options, **to_wire(request, request.model or self.model)}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.model!r})"


async def _whole(reply: Any) -> bytes:
    """The body of a reply, as far as it is no longer than any answer."""
    pieces, size = [], 0
    async for piece in reply.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            malformed("openai", f"it has more than {LARGEST} bytes")
    return b"".join(pieces)


async def _texts(reply: Any, chunks: Chunks) -> AsyncGenerator[str]:
    """The text that each chunk of a reply adds, as it comes."""
    events, pieces = EventData(), reply.iter_bytes()
    try:
        async for piece in pieces:
            for data in events.feed(piece):
                yield chunks.take(data)
            if chunks.done:
                await _drain(pieces)
                return
    except ModelError:
        raise
    except Exception:
        if not chunks.complete:
            raise
        return
    for data in events.end():
        yield chunks.take(data)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(_REST):
            async for _ in pieces:
                pass
    except Exception:
        return  # the answer is complete; what is wrong now costs the connection only


def _given(answer: ModelAnswer, request: ModelRequest) -> ModelAnswer:
    """The answer to `request`, without the object around a value that is none."""
    if answer.calls or not is_wrapped(request.output):
        return answer
    return attrs.evolve(answer, text=unwrap(answer.text))


def _failed(error: Exception) -> ModelError:
    """What the SDK raised, in our words; it lets errors of its transport, and of encoding the request, through."""
    if isinstance(error, openai.APIStatusError):
        return from_status(error)
    if isinstance(error, openai.APIConnectionError) or any(c.__name__ == "RequestError" for c in type(error).__mro__):
        return from_transport(error)
    if isinstance(error, openai.APIError):
        return MalformedModelAnswer(f"openai: the answer could not be read: {error}")
    return ModelError(f"openai: the request could not be made: {shorten(str(error))}")
