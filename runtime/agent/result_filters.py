"""Filters of tool results: what they are told, and what their answers make of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from pawl.runtime.agent.callback import Callback
from pawl.runtime.agent.filters import Block, FilterQuery, in_short
from pawl.runtime.agent.freeze import freeze_mapping
from pawl.runtime.records.errors import ToolError


@attrs.frozen(kw_only=True)
class ResultQuery(FilterQuery):
    """What a filter of tool results is asked about, beside the text that the model would read.

    `arguments` are the call's, deep-frozen, with the real values of redacted ones. `value` is what the tool returned,
    where the text was made of it in this process and no filter has changed it; it must not be changed.
    """

    arguments: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping, repr=False)
    value: Any = attrs.field(default=None, repr=False, eq=False)


@attrs.frozen
class Withheld:
    """A result that a filter has blocked, and what the model is told instead."""

    text: str


def passed(answer: object, callback: Callback, limit: int) -> str | Withheld:
    """The text that goes on, or what the model is told of a blocked one.

    Raises ToolError for anything else, whose text holds nothing of what was filtered.
    """
    if isinstance(answer, Block):
        reason = answer.reason if isinstance(answer.reason, str) else ""
        said = in_short(reason) or f"blocked by the {callback.where}"
        return Withheld(f"the result was withheld: {said}")
    if not isinstance(answer, str):
        raise ToolError(
            f"the {callback.where} returned a {type(answer).__name__} instead of text or Block(reason); the result is "
            "withheld"
        )
    try:
        size = len(str.encode(answer))  # not by what a subclass of str makes of itself
    except UnicodeEncodeError:
        raise ToolError(
            f"the {callback.where} returned text that is not Unicode (a lone surrogate); the result is withheld"
        ) from None
    if size > limit:
        raise ToolError(
            f"the {callback.where} returned {size} bytes, more than the {limit} that a result may have; the result is "
            "withheld"
        )
    return str.__str__(answer)
