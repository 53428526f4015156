"""Filters: functions that see a text on its way in, out, or back from a tool, and change or block it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from pawl.runtime.agent.callback import Callback
from pawl.runtime.agent.freeze import freeze_mapping
from pawl.runtime.llm.port import LARGEST_ANSWER

_LONGEST_REASON: Final = 10_000
"""Characters of a reason that are kept."""

Stage: TypeAlias = Literal["input", "output", "tool_result"]


@attrs.frozen
class Block:
    """What a filter returns to stop the text. The run ends `Blocked`, and its error says the reason."""

    reason: str = ""


@attrs.frozen(kw_only=True)
class FilterQuery:
    """What a filter is asked about, beside the text. `deps` is what the Runtime was given; the rest are values.

    `tool` and `tool_call_id` say whose result the text is, at the stage "tool_result".
    """

    stage: Stage
    agent_id: str
    definition: str
    version: int
    execution_id: str
    durable_context: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping)
    tool: str | None = None
    tool_call_id: str | None = None
    deps: Any = attrs.field(default=None, repr=False, eq=False)


Filter: TypeAlias = (
    Callable[[str], str | Block | Awaitable[str | Block]]
    | Callable[[str, FilterQuery], str | Block | Awaitable[str | Block]]
)
"""A function of the text, or of the text and a FilterQuery (a second parameter without a default gets it)."""


def filtered(answer: object, callback: Callback) -> str | Block:
    """What a filter answered. Raises TypeError, ValueError for anything but Unicode text or a Block, whose words hold
    nothing of what was to be filtered.
    """
    if isinstance(answer, Block):
        reason = answer.reason if isinstance(answer.reason, str) else repr(answer.reason)
        return Block(in_short(reason) or f"blocked by the {callback.where}")
    if not isinstance(answer, str):
        kind = "None" if answer is None else f"a value of type {type(answer).__name__}"
        raise TypeError(f"it returned {kind}; return the text that goes on, or Block(reason)")
    check_unicode(answer)
    return str.__str__(answer)


def in_short(reason: str) -> str:
    """A reason as it is kept: of whatever length it is given, Unicode or not."""
    kept = str.__str__(reason)
    kept = kept if len(kept) <= _LONGEST_REASON else f"{kept[:_LONGEST_REASON]}… ({len(kept)} characters)"
    return kept.encode("utf-8", "backslashreplace").decode()


def check_unicode(text: str) -> None:
    """Raise ValueError for text that cannot be written, or is longer than any answer."""
    try:
        size = len(str.encode(text))  # not by what a subclass of str makes of itself
    except UnicodeEncodeError as error:
        raise ValueError(f"it returned no Unicode text (a lone surrogate at character {error.start})") from None
    if size > LARGEST_ANSWER:
        raise ValueError(f"it returned {size} bytes, more than {LARGEST_ANSWER}")
