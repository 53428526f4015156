"""What is left over in a process: runs that are not at rest, and tasks of the application."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pawl.runtime.simulation.process import Process

_OWN = (str(Path(__file__).resolve().parents[1]), str(Path(asyncio.__file__).resolve().parent))


def leaks(process: Process) -> list[str]:
    """Each in a few words."""
    runs = [
        f"execution {name} is not at rest, it is in {state}: await it, cancel it or crash the world"
        for name, state in process.executing
    ]
    tasks = [task for task in process.loop.tasks if not task.done()]
    return runs + [f"the task {_name(task)} goes on: await it, or cancel it" for task in tasks if _is_foreign(task)]


def _is_foreign(task: asyncio.Task[Any]) -> bool:
    return not _file(task).startswith(_OWN)


def _file(task: asyncio.Task[Any]) -> str:
    code = getattr(task.get_coro(), "cr_code", None) or getattr(task.get_coro(), "gi_code", None)
    return str(Path(code.co_filename).resolve()) if code is not None else ""


def _name(task: asyncio.Task[Any]) -> str:
    return str(getattr(task.get_coro(), "__qualname__", task.get_name()))
