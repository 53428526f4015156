"""What a model is told before the conversation: instructions and knowledge, as text or made for each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import attrs

from pawl.runtime.agent.callback import Callback, callback_of, listed
from pawl.runtime.agent.filters import check_unicode
from pawl.runtime.agent.freeze import freeze_mapping
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.messages import Usage


@attrs.frozen(kw_only=True)
class InstructionQuery:
    """What a function of instructions or knowledge is asked for: the request number `sequence` (1, 2, …) of a run.

    `usage` is the sum of the run's calls so far, `deps` what the Runtime was given.
    """

    agent_id: str
    definition: str
    version: int
    execution_id: str
    sequence: int
    usage: Usage
    durable_context: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping)
    deps: Any = attrs.field(default=None, repr=False, eq=False)


Told: TypeAlias = (
    str
    | Callable[[], str | Awaitable[str | None] | None]
    | Callable[[InstructionQuery], str | Awaitable[str | None] | None]
)
"""Text, or a function (async or not) that makes it; a parameter without a default gets the InstructionQuery."""


@attrs.frozen
class Knowledge:
    """A segment of knowledge under a title. `text` is text or a function; no text (or None) leaves the segment out."""

    title: str
    text: Told


@attrs.frozen
class Segment:
    """One part of what the model is told: its text, or what makes it."""

    made: str | Callback
    title: str = ""

    @property
    def fixed(self) -> bool:
        """Whether it is the same in every request."""
        return isinstance(self.made, str)

    def rendered(self, text: object) -> str:
        """`text` as this segment is shown. Raises TypeError, ValueError for what is no Unicode text."""
        if text is None:
            return ""
        if not isinstance(text, str):
            raise TypeError(f"it returned {type(text).__name__} {text!r:.60}; return text")
        check_unicode(text)
        return f"# {self.title}\n\n{text}" if self.title and text else str.__str__(text)


def segments_of(instructions: object, knowledge: object, agent: str) -> tuple[Segment, ...]:
    """The segments of a definition: the instructions first. Raises InvalidArguments, naming the place."""
    first = _segment(instructions, "", f"{agent}: instructions", "instruction function")
    parts = (_known(one, f"{agent}: knowledge[{n}]") for n, one in enumerate(listed(knowledge, f"{agent}: knowledge")))
    return (first, *parts)


def _known(part: object, place: str) -> Segment:
    if not isinstance(part, Knowledge):
        return _segment(part, "", place, "knowledge function")
    if not isinstance(part.title, str) or not part.title.isprintable():
        raise InvalidArguments(f"{place}: the title {part.title!r:.60} must be one line of text")
    return _segment(part.text, part.title, place, "knowledge function")


def _segment(made: object, title: str, place: str, what: str) -> Segment:
    if callable(made):
        return Segment(callback_of(made, what, place, 0, 1), title)
    here = f"{place} {'are' if place.endswith('instructions') else 'is'}"
    if not isinstance(made, str):
        raise InvalidArguments(f"{here} a {type(made).__name__}, and must be text, or a function that makes it")
    try:
        made.encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments(f"{here} not Unicode text (a lone surrogate at character {error.start})") from None
    return Segment(made, title)


def joined(texts: tuple[str, ...]) -> str:
    """Segments as one text: what is empty is left out."""
    return "\n\n".join(text for text in texts if text)
