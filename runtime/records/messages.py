"""What goes to a model and comes back, in no provider's dialect, and what every provider refuses of it."""

from __future__ import annotations

from collections.abc import Sequence
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


def why_invalid(messages: Sequence[Message]) -> str | None:
    """Why no provider would take these messages, None when one would: each call has its result behind it, in order."""
    owed: list[str] = []
    for place, message in enumerate(messages):
        if owed:
            if message.role != "tool" or message.tool_call_id != owed[0]:
                return f"message {place} is a {message.role} message where the result of {owed[0]} belongs"
            owed.pop(0)
        elif message.role == "tool":
            return f"message {place} is a result of {message.tool_call_id}, which nobody asked for"
        else:
            owed = [call.id for call in message.calls]
    return f"the results of {', '.join(owed)} are missing" if owed else None
