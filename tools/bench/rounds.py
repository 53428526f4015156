"""The run that the durable figures measure: rounds of a model's answer and a tool's result, 2 KB of text each."""

from __future__ import annotations

import gc
import random
import string
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.tool import tool
from pawl.runtime.app.agents import AgentHandle
from pawl.runtime.app.runtime import Runtime
from pawl.runtime.llm.port import ModelRequest
from pawl.runtime.llm.scripted import Answer as Scripted
from pawl.runtime.llm.scripted import scripted
from pawl.runtime.records.messages import ModelAnswer, ToolCall
from pawl.runtime.records.rests import Completed
from pawl.runtime.store.answers import Answer
from pawl.runtime.store.port import Operation
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_connect import Synchronous

T = TypeVar("T")

BODY: Final = 2048
"""Bytes of every text."""

_STRIDE: Final = 2053
_LETTERS: Final = 1 << 20


class Texts:
    """Texts of BODY bytes, a million different ones and then again; `given` counts them."""

    def __init__(self, seed: int = 7) -> None:
        letters = string.ascii_letters + string.digits + " "
        self._pool = "".join(random.Random(seed).choices(letters, k=_LETTERS + BODY))
        self.given = 0

    def next(self) -> str:
        """Another one: a window of the pool, far from the one before."""
        begin = self.given * _STRIDE % _LETTERS
        self.given += 1
        return self._pool[begin : begin + BODY]


@cache
def texts() -> Texts:
    """The texts of this process."""
    return Texts()


class CountedStore(SqliteStore):
    """A store that counts the barriers submitted to it, by name; `each` hears of every one."""

    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        super().__init__(path, synchronous)
        self.barriers: Counter[str] = Counter()
        self.each: Callable[[], None] = lambda: None

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:
        """Count it where it is a barrier."""
        barrier: str | None = getattr(getattr(operation, "__self__", None), "barrier", None)
        if barrier is not None:
            self.barriers[barrier] += 1
            self.each()
        super().submit(operation, answer)


@tool
async def look_up(line: int) -> str:
    """Look a line up."""
    return texts().next() if line else ""


def talker(rounds: int) -> Agent:
    """An agent whose runs take `rounds` rounds, the first run of a logical agent only."""

    def ask(request: ModelRequest) -> ModelAnswer:
        call = ToolCall(f"c{request.sequence}", "look_up", '{"line": 1}')
        return ModelAnswer(texts().next(), (call,))

    def end(_: ModelRequest) -> ModelAnswer:
        return ModelAnswer(texts().next())

    script: list[Scripted] = [*[ask] * rounds, end]
    return Agent(name="talker", model=scripted(script, record=False), tools=[look_up], max_iterations=rounds + 1)


@contextmanager
def on_disk() -> Iterator[Path]:
    """A new folder on a disk: the folder for temporary files is often memory, where a sync is free."""
    parent = Path("/var/tmp")
    with TemporaryDirectory(prefix="pawl-bench-", dir=parent if parent.is_dir() else None) as folder:
        yield Path(folder)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection, whose pauses depend on what else the process holds."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@asynccontextmanager
async def running(store: CountedStore, agent: Agent) -> AsyncIterator[Runtime]:
    """A runtime with this agent that looks for nobody else's work."""
    async with Runtime(store, agents=[agent], poll_interval=0) as runtime:
        yield runtime


async def finish(handle: AgentHandle) -> None:
    """Run it to its end. Raises AssertionError when that is not what was meant to be measured."""
    rest = await handle.run("Begin.")
    if not isinstance(rest, Completed):
        raise AssertionError(f"the run that was to be measured ended as {rest}")
