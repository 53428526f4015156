"""Work in processes beside each other."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def beside(work: Callable[[A], B], items: Sequence[A], jobs: int) -> Iterator[B]:
    """`work` of each item, in their order, in so many processes (0: one a core); in this one where one is enough."""
    jobs = min(jobs or os.cpu_count() or 1, len(items))
    if jobs <= 1:
        yield from map(work, items)
        return
    # A new interpreter each: a fork would take along what this one's threads hold.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, items)
