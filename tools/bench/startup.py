"""What a process costs from its start to the first step on disk."""

from __future__ import annotations

import subprocess
import sys

from pawl.tools.bench.figures import Figure
from pawl.tools.bench.rounds import on_disk

_FIRST_STEP = """
import asyncio, sys
from time import process_time
from pawl import Agent, Runtime, scripted, tool

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

async def main():
    agent = Agent(name="clerk", model=scripted(["Done."]), tools=[add])
    async with Runtime(f"sqlite:///{sys.argv[1]}", agents=[agent]) as runtime:
        execution = await runtime.start(agent, "Begin.")
        print(process_time() * 1000)
        await execution

asyncio.run(main())
"""


def first_step_ms(tries: int = 7) -> Figure:
    """Processor time from the start of a process to its first barrier on disk, in a new file: the best of some tries.

    Processor time as for `import_ms`, and for the same reason; the few syncs of a new file are not in it.
    """
    _first_step()  # writes the bytecode, and warms the file cache
    best = min(_first_step() for _ in range(tries))
    return Figure(
        "first_step_ms", best, 400, "ms", note="imports, sqlite-utils for the tables of a new file among them"
    )


def _first_step() -> float:
    with on_disk() as folder:
        command = [sys.executable, "-c", _FIRST_STEP, str(folder / "first.db")]
        child = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(child.stdout)
