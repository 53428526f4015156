"""A Runtime for the code that was named: its agents, with what its module says of how they are to be run."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.deps import check_deps
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.execution.keeper import Trace
from pawl.runtime.execution.listeners import Listener
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.store.open import store_at
from pawl.tools.cli.apps import OPTIONS, Code, broken
from pawl.tools.cli.output import Misuse

_KNOWN: Final = ("deps", "on_event", "on_listener_error", "before_llm", "poll_interval", "close_timeout")


@asynccontextmanager
async def opened_runtime(
    code: Code, db: str, agents: Sequence[Agent[Any]], hear: Listener, trace: Trace | None = None
) -> AsyncIterator[Runtime]:
    """A runtime for `agents` over the store at `db`, with the `runtime_options` of their module; `hear` hears, too.

    Raises Misuse where the options are none, and what opening a Runtime raises.
    """
    options = await _options(code)
    theirs = options.pop("on_event", None)
    try:
        check_deps(agents, options.get("deps"))
    except InvalidArguments as error:
        raise Misuse(f"{error}; `pawl` takes them from {code.module}: {OPTIONS} = {{'deps': …}}") from None
    runtime = Runtime(store_at(db), agents, on_event=hear, trace=trace, **options)
    if theirs is not None:
        runtime.add_listener(theirs)
    async with runtime:
        yield runtime


async def _options(code: Code) -> dict[str, Any]:
    """What the module says, or its function. That is called on the loop: what it opens there belongs to the loop."""
    said = code.options
    where = f"{OPTIONS} of {code.module}"
    if callable(said):
        try:
            said = said()
            if inspect.isawaitable(said):
                said = await said
        except Exception as error:
            raise broken(f"calling {where}", error) from error
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise Misuse(
            f"{where} is of the type {type(said).__name__}; make it a dict, or a function that returns one: {_list()}"
        )
    for name in said:
        if name not in _KNOWN:
            raise Misuse(f"{where} has {name!r}, which is none of its options: {_list()}")
    return dict(said)


def _list() -> str:
    return ", ".join(_KNOWN)
