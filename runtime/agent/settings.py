"""Checks of the settings that are a number of seconds, or an object of ours, with errors that name the place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pawl.runtime.agent.retries import Retries
from pawl.runtime.agent.usage import UsageLimits
from pawl.runtime.records.errors import InvalidArguments

if TYPE_CHECKING:
    from pawl.runtime.agent.definition import Agent

_SECONDS = ("drain_timeout", "preparation_timeout")
_SECONDS_OR_NONE = ("model_timeout", "run_timeout", "approval_timeout")


def is_seconds(value: object) -> bool:
    """Whether it is a finite number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value) and value > 0
    except OverflowError:
        return False


def shown(value: object) -> str:
    """A value in an error, cut short."""
    try:
        return f"{value!r:.40}"
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "a number of thousands of digits"


def check_settings(where: str, agent: Agent[Any]) -> None:
    """Check timeouts, retries and limits. Raises InvalidArguments."""
    for name in _SECONDS:
        if not is_seconds(getattr(agent, name)):
            raise InvalidArguments(f"{where}: {name}={shown(getattr(agent, name))} must be a number of seconds above 0")
    for name in _SECONDS_OR_NONE:
        value = getattr(agent, name)
        if value is not None and not is_seconds(value):
            raise InvalidArguments(f"{where}: {name}={shown(value)} must be a number of seconds above 0, or None")
    if not isinstance(agent.retries, Retries):
        raise InvalidArguments(f"{where}: retries={agent.retries!r:.40} must be Retries(…), as Retries(attempts=3)")
    if agent.limits is not None and not isinstance(agent.limits, UsageLimits):
        raise InvalidArguments(
            f"{where}: limits={agent.limits!r:.40} must be UsageLimits(…), such as UsageLimits(total_tokens=50_000)"
        )


def check_run_timeout(value: object) -> float | None:
    """That of one start: seconds, None for the definition's, infinity for none. Raises InvalidArguments."""
    if value is None or value == math.inf:
        return None if value is None else math.inf
    if not is_seconds(value):
        raise InvalidArguments(
            f"run_timeout={shown(value)} must be a number of seconds above 0, None for that of the agent, "
            "or math.inf for no deadline"
        )
    assert isinstance(value, int | float)
    return float(value)
