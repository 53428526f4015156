"""A bar on stderr while something takes its time; nothing where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Bar: TypeAlias = Callable[[int, int], None]
"""(done, of so many)."""


@contextmanager
def bar(what: str) -> Iterator[Bar]:
    """A bar that counts `what`, gone at the end."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _nothing(done: int, total: int) -> None:
    """Nobody looks."""
