"""What goes to a model and comes back, in no provider's dialect."""

from __future__ import annotations

from typing import Literal

import attrs

Role = Literal["system", "user", "assistant", "tool"]


@attrs.frozen
class ToolCall:
    """One call that a model asks for; `arguments` is the raw JSON text it wrote, with what is redacted elsewhere."""

    id: str
    name: str
    arguments: str = attrs.field(repr=False)


@attrs.frozen
class Usage:
    """Tokens of one call, or their sum."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output)


@attrs.frozen
class Message:
    """One message of a conversation. `calls` only on assistant messages, `tool_call_id` only on tool messages."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@attrs.frozen
class ModelAnswer:
    """A model's answer: text, calls or both. `model` is the name the provider reports."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = attrs.Factory(Usage)
    model: str | None = None
