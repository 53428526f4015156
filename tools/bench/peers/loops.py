"""What the durable libraries are given to do: an agent loop, its texts and its pauses.

Rounds of a model's answer and a tool's result, then a last answer. Every text is 2 KB, another one each time. Each
library is used as it recommends for one process and an SQLite file, with its own defaults of durability.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Protocol

Pauses = tuple[float, float]
"""Seconds that a model and a tool take."""


class Contestant(Protocol):
    """One library, opened in a folder; `run` is a coroutine where `is_async`."""

    is_async: bool

    def __init__(self, folder: Path, pauses: Pauses) -> None: ...

    def run(self, name: str, rounds: int) -> Any:
        """One execution from its start to its end."""

    def close(self) -> Any:
        """Let go of the file; a coroutine where `is_async`."""


async def spend(seconds: float) -> None:
    """What a model or a tool takes."""
    if seconds:
        await asyncio.sleep(seconds)
