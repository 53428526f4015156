"""The one check between a provider and the rest: a model answer is what it claims to be, and usable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final, NoReturn

import attrs

from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.llm.port import LARGEST_ANSWER, MOST_CALLS
from pawl.runtime.records.errors import MalformedModelAnswer
from pawl.runtime.records.messages import ModelAnswer, ToolCall, Usage

_LONGEST_ID: Final = 1 << 16
"""Characters of a call's id. Some servers keep what they have to remember in it."""

MOST_TOKENS: Final = 2**53
"""Tokens of one call: what every reader of JSON can still count."""


def normalise(answer: object, provider: str = "the provider") -> ModelAnswer:
    """`answer` with proper types and unique call ids: an empty or repeated id becomes `call_<n>`, and so do "model",
    which names the model call where people resolve, and what is too long for an id.

    The same answer is always normalised the same way. Unknown tools and bad arguments are left alone: they answer
    the model. Raises MalformedModelAnswer.
    """
    if not isinstance(answer, ModelAnswer):
        _malformed(provider, f"a {type(answer).__name__} was returned, not a ModelAnswer")
    size = _text(provider, "text", answer.text)
    if answer.model is not None:
        size += _text(provider, "model", answer.model)
    _check_usage(provider, answer.usage)
    if not isinstance(answer.calls, tuple | list):
        _malformed(provider, f"calls is a {type(answer.calls).__name__}, not a tuple of ToolCall")
    if len(answer.calls) > MOST_CALLS:
        _malformed(provider, f"it asks for {len(answer.calls)} calls at once, more than {MOST_CALLS}")
    for place, call in enumerate(answer.calls):
        size += _check_call(provider, place, call)
    if size > LARGEST_ANSWER:
        _malformed(provider, f"it has {size} bytes, more than {LARGEST_ANSWER}")
    calls = tuple(_named(answer.calls))
    return answer if calls == answer.calls else attrs.evolve(answer, calls=calls)


def _named(calls: tuple[ToolCall, ...]) -> Iterator[ToolCall]:
    given = {call.id for call in calls}
    free = (f"call_{number}" for number in count(1) if f"call_{number}" not in given)
    seen = {"", MODEL}
    for call in calls:
        yield attrs.evolve(call, id=next(free)) if call.id in seen or len(call.id) > _LONGEST_ID else call
        seen.add(call.id)


def _check_call(provider: str, place: int, call: object) -> int:
    if not isinstance(call, ToolCall):
        _malformed(provider, f"calls[{place}] is a {type(call).__name__}, not a ToolCall")
    fields = ("id", "name", "arguments")
    size = sum(_text(provider, f"calls[{place}].{field}", getattr(call, field)) for field in fields)
    if not call.name:
        _malformed(provider, f"calls[{place}] names no tool")
    return size


def _check_usage(provider: str, usage: object) -> None:
    if not isinstance(usage, Usage):
        _malformed(provider, f"usage is a {type(usage).__name__}, not a Usage")
    for name, value in (("input", usage.input), ("output", usage.output)):
        if type(value) is not int or not 0 <= value <= MOST_TOKENS:
            _malformed(provider, f"usage.{name} is {_shown(value)}, not a count of tokens")


def _shown(value: object) -> str:
    try:
        return f"{value!r:.40}"
    except ValueError:  # a number of thousands of digits
        return "a number of thousands of digits"


def _text(provider: str, where: str, value: object) -> int:
    """Its bytes."""
    if not isinstance(value, str):
        _malformed(provider, f"{where} is a {type(value).__name__}, not text")
    try:
        return len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError as error:
        _malformed(provider, f"{where} is not Unicode text (a lone surrogate at character {error.start})")


def _malformed(provider: str, what: str) -> NoReturn:
    raise MalformedModelAnswer(f"{provider}: the answer cannot be used: {what}")
