"""A run that is asked for while its agent is busy: what keeps the agent, and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pawl.runtime.app.runtime import Runtime
from pawl.runtime.execution.registry import HERE
from pawl.runtime.records.errors import AgentBusy, PawlError
from pawl.runtime.records.rests import Rest
from pawl.tools.cli import rests
from pawl.tools.cli.output import err
from pawl.tools.cli.rests import Ways

_MOMENT: Final = 0.5
"""Seconds after which one is told of the run that is waited for. One that waits itself is only announced again here."""


async def when_free(runtime: Runtime, start: Callable[[Runtime], Awaitable[Rest[Any]]], ways: Ways) -> Rest[Any]:
    """Start a run; where this process has just adopted another one of the agent, when that has ended.

    Raises PawlError that says what keeps the agent, and what `start` raises.
    """
    try:
        return await start(runtime)
    except AgentBusy as busy:
        held = busy
    name, status = held.execution_id, held.status
    if held.owner == HERE:
        waiting = asyncio.ensure_future(_rest(runtime, name))
        done, _ = await asyncio.wait({waiting}, timeout=_MOMENT)
        if not done or rests.exit_code(waiting.result()) != rests.AT_REST:
            err(f"note: execution {name} of this agent was left open by another process; it goes on here first")
        rest = await waiting
        if rests.exit_code(rest) != rests.AT_REST:
            return await start(runtime)
        status = rests.name(rest)
    said = f"the agent is busy with execution {name} ({status}), and does one run at a time"
    if held.owner in (HERE, None):
        what = f"that one waits: `{ways.command('show', name)}` says for what, and how it goes on"
    else:
        what = f"another process runs that one: `{ways.command('tail', name, '--follow')}` shows how it goes on"
    raise PawlError(f"{said}; {what}; `--agent ID` starts beside it")


async def _rest(runtime: Runtime, name: str) -> Rest[Any]:
    return await (await runtime.execution(name))
