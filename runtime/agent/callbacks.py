"""All the functions of a definition that take part in its runs beside tools, looked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from pawl.runtime.agent.callback import Callback, callback_of, callbacks_of
from pawl.runtime.agent.context_policy import Counts, check_policy, counts_of
from pawl.runtime.agent.hooks import Hooked
from pawl.runtime.agent.knowledge import Segment, joined, segments_of
from pawl.runtime.llm.port import ToolSpec
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import InvalidArguments

if TYPE_CHECKING:
    from pawl.runtime.agent.definition import Agent


_CHOICES: Final = 100
"""Choices of tools, as hooks make them, whose text is kept."""


@attrs.frozen(eq=False)
class Callbacks:
    """The callbacks of one definition. `told` is what the model is told where all of it is fixed text, else None.

    `prepares`: some of it takes part in putting a request together.
    """

    input_filters: tuple[Callback, ...]
    output_filters: tuple[Callback, ...]
    tool_result_filters: tuple[Callback, ...]
    before_llm: tuple[Hooked, ...]
    segments: tuple[Segment, ...]
    told: str | None
    select: Callback | None
    counts: Counts | None
    prepares: bool
    _tools: dict[tuple[str, ...], str] = attrs.field(factory=dict, repr=False)

    def tools(self, specs: tuple[ToolSpec, ...]) -> str:
        """Tools as text, much as a provider would send them: what is counted of them."""
        names = tuple(spec.name for spec in specs)
        text = self._tools.get(names)
        if text is None:
            shown = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in specs]
            if len(self._tools) >= _CHOICES:
                self._tools.clear()
            text = self._tools[names] = canonical(shown) if shown else ""
        return text


def callbacks(agent: Agent[Any]) -> Callbacks:
    """Those of a definition. Raises InvalidArguments, naming the place."""
    where = f"agent {agent.name}"
    check_policy(agent.context, where)
    segments = segments_of(agent.instructions, agent.knowledge, where)
    fixed = [segment.rendered(segment.made) for segment in segments if isinstance(segment.made, str)]
    told = joined(tuple(fixed)) if len(fixed) == len(segments) else None
    before_llm = tuple(map(Hooked, callbacks_of(agent.before_llm, "before_llm hook", f"{where}: before_llm", 1, 1)))
    if not isinstance(agent.stream_unfiltered, bool):
        raise InvalidArguments(f"{where}: stream_unfiltered={agent.stream_unfiltered!r:.40} must be True or False")
    return Callbacks(
        input_filters=callbacks_of(agent.input_filters, "input filter", f"{where}: input_filters", 1, 2),
        output_filters=callbacks_of(agent.output_filters, "output filter", f"{where}: output_filters", 1, 2),
        tool_result_filters=callbacks_of(
            agent.tool_result_filters, "tool result filter", f"{where}: tool_result_filters", 1, 2
        ),
        before_llm=before_llm,
        segments=segments,
        told=told,
        select=_select(agent.context, where),
        counts=counts_of(agent.context) if agent.context is not None else None,
        prepares=told is None or bool(before_llm) or agent.context is not None,
    )


def _select(policy: object, where: str) -> Callback | None:
    if policy is None:
        return None
    asked = callback_of(getattr(policy, "select", None), "context policy", f"{where}: context", 1, 1)
    return attrs.evolve(asked, where=f"context policy '{type(policy).__name__}'")
