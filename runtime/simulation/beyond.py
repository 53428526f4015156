"""What agents and tools can do that no scenario file can say: random programs have it, `simulate` shows it in words.

The format of scenario files is fixed. A definition may carry one of these beside what the format knows; it is not
written to a file, and shrinking tries first to do without.
"""

from __future__ import annotations

from typing import Final, Literal

import attrs

SECRET: Final = 709_318_264_605
"""What stands in secret arguments, and nowhere else: no text that repeats itself holds it by chance."""


@attrs.frozen(kw_only=True)
class ToolBeyond:
    """Of a tool. `rate` is starts and seconds, `secret` hides its argument `n`, and the policy takes `asks_for`
    seconds; `result` blocks its result, changes it, or raises. Times are in seconds.
    """

    max_concurrent: int | None = None
    rate: tuple[int, float] | None = None
    secret: bool = False
    approval_timeout: float | None = None
    asks_for: float = 0.0
    max_result_bytes: int | None = None
    result: Literal["block", "change", "raise"] | None = None


@attrs.frozen(kw_only=True)
class AgentBeyond:
    """Of an agent. `number`: its answer must be a number. `hook`: one that adds what number of asking it is, one that
    hides all tools, or one that raises. `slow`: its filters and hooks take so long. Times are in seconds.
    """

    model_calls: int | None = None
    tool_calls: int | None = None
    total_tokens: int | None = None
    number: bool = False
    hook: Literal["count", "hide", "raise"] | None = None
    results: Literal["block", "change", "raise"] | None = None
    unfiltered: bool = False
    slow: float = 0.0
    preparation_timeout: float = 60.0
    drain_timeout: float = 600.0


def said(beyond: ToolBeyond | AgentBeyond) -> str:
    """In words: what is not as usual."""
    usual = type(beyond)()
    named = {field.name: getattr(beyond, field.name) for field in attrs.fields(type(beyond))}
    return ", ".join(f"{name}={value!r}" for name, value in named.items() if value != getattr(usual, name))
