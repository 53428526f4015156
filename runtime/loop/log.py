"""Loggers of the library: under `pawl.`, silent until the application configures logging, each run's with its ids.

What is logged names events, states, ids and types. It never holds what people, models or tools said: no inputs, no
arguments, no results, and no text of an error that the application's code raised. A traceback of such an error is
only logged at DEBUG, under `pawl.app`.
"""

from __future__ import annotations

import logging
from typing import Any

logging.getLogger("pawl").addHandler(logging.NullHandler())

_APP = logging.getLogger("pawl.app")


def about(execution_id: str, agent_id: str | None = None) -> dict[str, Any]:
    """The `extra` of a record about one run. `agent_id` None: it is not known where this is logged."""
    return {"execution_id": execution_id, "agent_id": agent_id}


def place_of(error: BaseException) -> str:
    """Where an error was raised, as `module.py:12`: its text may hold what is not to be logged."""
    trace = error.__traceback__
    if trace is None:
        return "an unknown place"
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{file}:{trace.tb_lineno}"


def raised(what: str, error: BaseException, execution_id: str | None = None) -> None:
    """Tell, at DEBUG, with its traceback and text, what application code raised."""
    if _APP.isEnabledFor(logging.DEBUG):
        extra = about(execution_id) if execution_id is not None else None
        _APP.debug("%s raised %s", what, type(error).__name__, exc_info=error, extra=extra)
