"""The OpenAI provider: chat completions through the official SDK, at OpenAI or any compatible server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import openai

from pawl.runtime.llm.openai_wire import from_wire, shorten, to_wire
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.records.errors import InvalidArguments, MalformedModelAnswer, ModelError
from pawl.runtime.records.messages import ModelAnswer

_SAFE_STATUS: Final = frozenset({429, 500, 502, 503, 504})
"""The server says that it made no answer."""

_FINAL_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""429 answers that waiting does not cure."""

_NEVER_SENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError"})
"""Transport errors, by class name (the SDK's transport is not ours to import), of a request that left nothing."""

_OURS: Final = frozenset({"model", "messages", "tools", "stream", "n"})


class OpenAIProvider:
    """Chat completions. Safe for many calls at once; the connections belong to the event loop that made them.

    `model` is used when a request names none. `api_key` and `base_url` default to the SDK's environment variables
    (OPENAI_API_KEY, OPENAI_BASE_URL). `timeout` is in seconds; None is the SDK's default (10 minutes). `options` go
    into every request as they are, such as `{"temperature": 0, "max_completion_tokens": 4000}`.

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
    ) -> None:
        clash = sorted(_OURS & (options or {}).keys())
        if clash:
            raise InvalidArguments(f"OpenAIProvider options {', '.join(clash)}: each request sets these itself")
        self.model = model
        self._options = dict(options or {})
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
        body = to_wire(request, request.model or self.model)
        try:
            reply = await self._client.chat.completions.with_raw_response.create(**body, **self._options)
        except openai.APIStatusError as error:
            raise _from_status(error) from error
        except openai.APIConnectionError as error:
            raise _from_connection(error) from error
        except openai.APIError as error:
            raise MalformedModelAnswer(f"openai: the answer could not be read: {error}") from error
        except Exception as error:  # the SDK lets errors of its transport, and of encoding the request, through
            raise ModelError(f"openai: the request could not be made: {shorten(str(error))}") from error
        # The SDK's own models accept any shape; what is missing there must be an error here.
        return from_wire(reply.http_response.content)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.model!r})"


def _from_status(error: openai.APIStatusError) -> ModelError:
    said = error.body.get("message") if isinstance(error.body, dict) else None
    text = shorten(said if isinstance(said, str) else error.response.text) or "no reason given"
    code = f" ({error.code})" if error.code else ""
    advice = {401: "; check the API key", 403: "; the key may not use this", 404: "; check the model and base_url"}
    told = error.response.headers.get("x-should-retry")
    safe = error.status_code in _SAFE_STATUS and error.code not in _FINAL_CODES and told != "false"
    return ModelError(
        f"openai answered {error.status_code}{code}: {text}{advice.get(error.status_code, '')}", retry_safe=safe
    )


def _from_connection(error: openai.APIConnectionError) -> ModelError:
    causes = list(_chain(error))
    if any(type(cause).__name__ in _NEVER_SENT for cause in causes):
        return ModelError(f"openai cannot be reached: {_last_words(causes)}", retry_safe=True)
    if isinstance(error, openai.APITimeoutError):
        return ModelError("openai did not answer in time; whether the call was made is not known")
    return ModelError(f"openai: the connection was lost before the answer was complete: {_last_words(causes)}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _last_words(causes: list[BaseException]) -> str:
    """The most specific text in a chain of exceptions."""
    texts = [str(cause) for cause in causes if str(cause)]
    return shorten(texts[-1]) if texts else type(causes[-1]).__name__
