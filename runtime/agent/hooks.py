"""Before-LLM hooks: functions that see each model request before it is made, and may patch that one request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from pawl.runtime.agent.callback import Callback, callback_of, callbacks_of
from pawl.runtime.agent.freeze import freeze_mapping
from pawl.runtime.llm.port import ToolSpec
from pawl.runtime.records.codec import encode
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.messages import Message, Usage, why_invalid


@attrs.frozen(kw_only=True)
class HookQuery:
    """The request that is about to be made, as it stands after the hooks before this one.

    `sequence` counts the requests of the run (1, 2, …); `messages` is the whole conversation, of which a context
    policy may leave some out afterwards; `instructions` has the knowledge in it. `usage` is the sum of the run's calls
    so far, `deps` what the Runtime was given. Nothing in here can be changed: return a RequestPatch.
    """

    agent_id: str
    definition: str
    version: int
    execution_id: str
    sequence: int
    messages: Sequence[Message]
    instructions: str
    tools: tuple[ToolSpec, ...]
    usage: Usage
    durable_context: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping)
    deps: Any = attrs.field(default=None, repr=False, eq=False)


def _messages(value: object) -> tuple[Message, ...]:
    if isinstance(value, Message):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise TypeError(f"a patch's messages are Message values, not {value!r:.60}")
    return tuple(value)


def _names(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise TypeError(f"a patch's tools are a list of names, not {value!r:.60}")
    return tuple(value)


@attrs.frozen(kw_only=True)
class RequestPatch:
    """A change of one request, and of that alone: the conversation on record stays as it is.

    `instructions` replaces the agent's own (knowledge stays), `add_instructions` comes after everything that the model
    is told. `before` and `after` are messages around the conversation. `tools` names those of the agent's tools that
    the model is offered; a tool that is not offered is hidden, not forbidden. Raises TypeError for what is none of it.
    """

    instructions: str | None = None
    add_instructions: str = ""
    before: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    after: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    tools: tuple[str, ...] | None = attrs.field(default=None, converter=_names)


Hook: TypeAlias = Callable[[HookQuery], RequestPatch | Awaitable[RequestPatch | None] | None]
"""A function of a HookQuery, async or not; None changes nothing."""


class Hooked:
    """One hook of one runtime or logical agent, until it is removed."""

    __slots__ = ("callback", "removed")

    def __init__(self, callback: Callback) -> None:
        self.callback, self.removed = callback, False


class Hooks:
    """The hooks of a runtime: those of every agent, and those of single logical agents."""

    def __init__(self, everywhere: object = ()) -> None:
        hooks = callbacks_of(everywhere, "before_llm hook", "Runtime: before_llm", 1, 1)
        self._everywhere = tuple(map(Hooked, hooks))
        self._of: dict[str, tuple[Hooked, ...]] = {}

    def of_run(self, of_definition: tuple[Hooked, ...], agent_id: str) -> tuple[Hooked, ...]:
        """Those of a run, in the order in which they are asked: of every agent, of its definition, of it alone."""
        return (*self._everywhere, *of_definition, *self._of.get(agent_id, ()))

    def forget(self, agent_id: str) -> None:
        """The logical agent is gone, and whoever gets its name is another."""
        self._of.pop(agent_id, None)

    def add(self, agent_id: str, hook: object) -> Callable[[], None]:
        """Add one to a logical agent; returns what removes it. Raises InvalidArguments."""
        callback = callback_of(hook, "before_llm hook", f"agent {agent_id}: before_llm", 1, 1)
        added = Hooked(callback)
        self._of[agent_id] = (*self._of.get(agent_id, ()), added)

        def remove() -> None:
            added.removed = True
            left = tuple(one for one in self._of.get(agent_id, ()) if one is not added)
            if left:
                self._of[agent_id] = left
            else:
                self._of.pop(agent_id, None)

        return remove


def patch_of(answer: object, known: Mapping[str, ToolSpec]) -> RequestPatch | None:
    """What a hook answered. Raises TypeError, ValueError for what cannot be a patch of a request with these tools."""
    if answer is None:
        return None
    if not isinstance(answer, RequestPatch):
        raise TypeError(f"it returned {type(answer).__name__} {answer!r:.60}; return a RequestPatch, or None")
    for name, text in (("instructions", answer.instructions), ("add_instructions", answer.add_instructions)):
        if not isinstance(text, str) and not (text is None and name == "instructions"):
            raise TypeError(f"its patch has {name} that are a {type(text).__name__}, not text")
        if text is not None:
            _check_unicode(name, text)
    for name, messages in (("before", answer.before), ("after", answer.after)):
        _check_messages(name, messages)
    for tool in answer.tools or ():
        if tool not in known:
            there = ", ".join(known) or "none"
            raise ValueError(f"its patch keeps the tool {tool!r:.60}, which is not offered here; there are: {there}")
    return answer


def _check_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"its patch has {name} that are no Unicode text (character {error.start})") from None


def _check_messages(name: str, messages: tuple[Message, ...]) -> None:
    for place, message in enumerate(messages):
        if not isinstance(message, Message):
            raise TypeError(f"its patch has {type(message).__name__} as {name}[{place}], not a Message")
        try:
            encode(message)
        except CodecError as error:
            raise ValueError(f"its patch has a {name}[{place}] that is no proper message: {error}") from None
    wrong = why_invalid(messages)
    if wrong is not None:
        raise ValueError(f"no provider would take its patch's `{name}`: {wrong}")
