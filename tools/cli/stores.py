"""The store that a command is about: --db, else PAWL_DB, else ./pawl.db. Only a command that starts work makes one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pawl.runtime.store.open import store_at
from pawl.runtime.store.port import Store
from pawl.tools.cli.options import DEFAULT_DB
from pawl.tools.cli.output import Misuse


@contextmanager
def opened(url: str, create: bool = False) -> Iterator[Store]:
    """The store at `url`, open. Raises Misuse when there is none and `create` is not set, and what `Store.open` raises.

    Looking at a store never makes one: a mistyped name is told, and leaves nothing behind.
    """
    store = store_at(url)
    if not create:
        _must_exist(store, url)
    store.open()
    try:
        yield store
    finally:
        store.close()


def looked_at(url: str) -> Path:
    """The file of a store that is only to be looked at. Raises Misuse when there is none."""
    store = store_at(url)
    _must_exist(store, url)
    if store.info.adapter != "sqlite":
        raise Misuse(f"{url} is no file that could be looked at")
    return Path(store.info.place)


def option(url: str) -> str:
    """How a suggested command names the store: not at all where it is found without."""
    return "" if url == os.environ.get("PAWL_DB", DEFAULT_DB) else f" --db {shlex.quote(url)}"


def lasts(url: str) -> bool:
    """Whether the store outlives the process that opens it."""
    return store_at(url).info.adapter != "memory"


def _must_exist(store: Store, url: str) -> None:
    if store.info.adapter == "memory":
        raise Misuse("memory:// is gone with the process that made it; name a file with --db")
    if store.info.adapter != "sqlite":
        return
    path = Path(store.info.place)
    source = " (the default)" if url == DEFAULT_DB and "PAWL_DB" not in os.environ else ""
    if not path.exists():
        raise Misuse(f"there is no store at {path}{source}; name one with --db or PAWL_DB (`pawl run` makes one)")
    if path.is_file() and path.stat().st_size == 0:
        raise Misuse(f"{path}{source} is an empty file and no store; name one with --db or PAWL_DB")
