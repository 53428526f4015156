"""What went wrong between here and the server, and whether the call may be made again."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

import openai

from pawl.runtime.llm.openai_wire import shorten
from pawl.runtime.records.errors import ModelError

SAFE_STATUS: Final[frozenset[object]] = frozenset({408, 429, 500, 502, 503, 504, 529})
"""The server says that it made no answer."""

_SAFE_WORDS: Final[frozenset[object]] = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "server_error", "overloaded_error", "server_overloaded", "slow_down"}
)
"""The same said in words, by servers that have answered 200 already."""

_FINAL_CODES: Final[frozenset[object]] = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""429 answers that waiting does not cure."""

_NEVER_SENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError"})
"""Transport errors, by class name (the SDK's transport is not ours to import), of a request that left nothing."""

_TIMEOUTS: Final = frozenset({"ReadTimeout", "WriteTimeout", "APITimeoutError"})


def from_status(error: openai.APIStatusError) -> ModelError:
    """A status of 400 or more."""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    text = shorten(said if isinstance(said, str) else error.response.text) or "no reason given"
    code = f" ({error.code})" if error.code else ""
    headers = error.response.headers
    safe = is_safe(error.status_code, error.code) and headers.get("x-should-retry") != "false"
    return ModelError(
        f"openai answered {error.status_code}{code}: {text}{_advice(error, text)}",
        retry_safe=safe,
        retry_after=retry_after(headers),
    )


def is_safe(*said: object) -> bool:
    """Whether a server that says this (statuses, codes, types) has made no answer, and may make one later."""
    words = {int(word) if isinstance(word, str) and word.isdecimal() else word for word in said if _plain(word)}
    return bool(words & (SAFE_STATUS | _SAFE_WORDS)) and not words & _FINAL_CODES


def _plain(word: object) -> bool:
    return isinstance(word, str | int)


def from_transport(error: BaseException) -> ModelError:
    """The connection could not be made, was lost, or was silent for too long.

    Once the request has left, nobody knows what the server did with it, and an answer that has begun is paid for. So
    only what never left is safe to send again, however much of the answer has arrived.
    """
    causes = list(_chain(error))
    names = {type(cause).__name__ for cause in causes}
    if names & _NEVER_SENT:
        return ModelError(f"openai cannot be reached: {_last_words(causes)}", retry_safe=True)
    if names & _TIMEOUTS:
        return ModelError("openai did not answer in time; whether the call was made is not known")
    return ModelError(f"openai: the connection was lost before the answer was complete: {_last_words(causes)}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: from `retry-after-ms`, or `Retry-After` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) / unit
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    then = _date(headers.get("retry-after"))
    now = _date(headers.get("date"))  # the server's clock, where it tells
    return None if then is None else max(0.0, then - (time.time() if now is None else now))


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _advice(error: openai.APIStatusError, text: str) -> str:
    if error.status_code in {400, 422} and "response_format" in f"{getattr(error, 'param', None)} {text}":
        return "; where the server takes no schema, use OpenAIProvider(..., output_schema=False)"
    advice = {401: "; check the API key", 403: "; the key may not use this", 404: "; check the model and base_url"}
    return advice.get(error.status_code, "")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _last_words(causes: list[BaseException]) -> str:
    """The most specific text in a chain of exceptions."""
    texts = [str(cause) for cause in causes if str(cause)]
    return shorten(texts[-1]) if texts else type(causes[-1]).__name__
