"""Any provider's answer as a stream: checked where it can stream, in one piece where it cannot."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, Final, NoReturn

from pawl.runtime.llm.port import ModelRequest, Provider
from pawl.runtime.records.errors import MalformedModelAnswer
from pawl.runtime.records.messages import ModelAnswer

_TURN: Final = 32
"""Pieces after which the loop gets a turn: a provider may have many at hand, and others want to run as well."""


def can_stream(provider: Provider) -> bool:
    """Whether `provider` has a `stream` of its own."""
    return callable(getattr(provider, "stream", None))


async def answer_in_pieces(provider: Provider, request: ModelRequest, piece: Callable[[str], object]) -> ModelAnswer:
    """Answer `request`, and give `piece` each text that the answer is made of, never an empty one.

    A provider that cannot stream gives its text as one piece. The stream is closed before this returns or raises,
    also when the task is cancelled. Raises as the provider does; MalformedModelAnswer for a stream that gives anything
    else than text and, last, one ModelAnswer.
    """
    if not can_stream(provider):
        answer = await provider.complete(request)
        text = getattr(answer, "text", None)
        if isinstance(text, str) and text:
            piece(text)
        return answer
    given: Any = provider.stream(request)  # type: ignore[attr-defined]
    if inspect.isawaitable(given):  # an `async def` that returns its iterator
        given = await given
    if not isinstance(given, AsyncIterator):
        _malformed(provider, f"`stream` gave a {type(given).__name__}, not an asynchronous iterator")
    if not callable(getattr(given, "aclose", None)):
        return await _read(provider, given, piece)
    closable: Any = given
    async with aclosing(closable):
        return await _read(provider, given, piece)


async def _read(provider: Provider, given: AsyncIterator[object], piece: Callable[[str], object]) -> ModelAnswer:
    answer: ModelAnswer | None = None
    count = 0
    async for item in given:
        count += 1
        if count % _TURN == 0:
            await asyncio.sleep(0)
        if answer is not None:
            _malformed(provider, f"its stream goes on behind the answer, with a {type(item).__name__}")
        if isinstance(item, ModelAnswer):
            answer = item
        elif not isinstance(item, str):
            _malformed(provider, f"its stream gave a {type(item).__name__}; text and one ModelAnswer are allowed")
        elif item:
            piece(item)
    if answer is None:
        _malformed(provider, "its stream ended without a ModelAnswer")
    return answer


def _malformed(provider: Provider, what: str) -> NoReturn:
    raise MalformedModelAnswer(f"{provider.name}: the answer cannot be used: {what}")
