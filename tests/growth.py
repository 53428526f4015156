"""How the work of a function grows with its input, in executed bytecodes: the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(function: Callable[[], object]) -> int:
    """Bytecodes that are executed while `function` runs, in this thread, whatever it raises. C code is not counted."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Exception:  # an error is an answer as well: it must not take longer
        return count
    finally:
        sys.settrace(before)
    return count


def is_linear(work: Callable[[int], Callable[[], object]], size: int = 50) -> bool:
    """Whether four times the input is at most five times the work; `work` makes the function for a size."""
    return steps(work(4 * size)) <= 5 * steps(work(size))
