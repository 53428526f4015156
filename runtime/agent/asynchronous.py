"""Whether a callable is asynchronous, whatever it is wrapped in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling `function` gives a coroutine: functions, methods, partials and objects with `__call__`."""
    while hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
        function = function.func
    return inspect.iscoroutinefunction(function) or (
        not inspect.isroutine(function) and inspect.iscoroutinefunction(type(function).__call__)
    )
