"""Usage limits: what one run may ask of models and tools."""

from __future__ import annotations

import attrs

from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.messages import Usage


def _limit(_: object, field: attrs.Attribute[int | None], value: object) -> None:
    if value is not None and (type(value) is not int or value < 1):
        raise InvalidArguments(
            f"UsageLimits: {field.name}={value!r:.40} must be a whole number from 1, or None for no limit"
        )


@attrs.frozen(kw_only=True)
class UsageLimits:
    """What one run may use, None for as much as it likes. A run that needs more fails with UsageLimitExceeded.

    `input_tokens`, `output_tokens` and `total_tokens` are sums over the recorded model calls, `model_calls` counts the
    calls that were let go (retries and lost ones too), `tool_calls` the calls that model answers asked for. Raises
    InvalidArguments for a limit that is no whole number from 1.
    """

    input_tokens: int | None = attrs.field(default=None, validator=_limit)
    output_tokens: int | None = attrs.field(default=None, validator=_limit)
    total_tokens: int | None = attrs.field(default=None, validator=_limit)
    model_calls: int | None = attrs.field(default=None, validator=_limit)
    tool_calls: int | None = attrs.field(default=None, validator=_limit)


def over(limits: UsageLimits, record: ExecutionRecord, usage: Usage, tool_calls: int) -> str | None:
    """At which limit a run is that has used `usage` and wants one more model call, in words; None at none."""
    spent = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "model_calls": record.model_calls,
    }
    for name, used in spent.items():
        limit = getattr(limits, name)
        if limit is not None and used >= limit:
            return f"{name}: {used} used of {limit}, and the run needs another model call"
    if limits.tool_calls is not None and tool_calls > limits.tool_calls:
        return f"tool_calls: {tool_calls} asked for of {limits.tool_calls}"
    return None
