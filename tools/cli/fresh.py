"""New stores for what is played: each empty, and gone afterwards unless a file was named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pawl.runtime.store.port import Store
from pawl.tools.cli.output import Misuse

MakeStore = Callable[[], Store]


@contextmanager
def stores(word: str) -> Iterator[MakeStore]:
    """Makes the store of each scenario: `memory`, `sqlite`, or the URL of a file that does not exist yet.

    Raises Misuse for another word, and for a file that exists.
    """
    from pawl.runtime.store.memory import MemoryStore
    from pawl.runtime.store.sqlite import SqliteStore

    if word in ("memory", "memory://"):
        yield lambda: MemoryStore(inline=True)
        return
    made, path = 0, None if word == "sqlite" else _named(word)
    with TemporaryDirectory(prefix="pawl-scenario-", dir=_in_memory(), ignore_cleanup_errors=True) as folder:

        def in_file() -> Store:
            nonlocal made
            made += 1
            if path is None:
                return SqliteStore(Path(folder) / f"{made}.db", "NORMAL", inline=True)
            return SqliteStore(path if made == 1 else path.with_stem(f"{path.stem}-{made}"), inline=True)

        yield in_file


def check_kind(word: str) -> None:
    """Raises Misuse for what is no kind of store but one store: where many are needed."""
    if word not in ("memory", "sqlite"):
        what = "is for one time" if word.startswith("sqlite:") else "is no store"
        raise Misuse(f"--store {word} {what}, and many new ones are needed; give memory or sqlite")


def _in_memory() -> str | None:
    """A folder that needs no disk, where there is one: what is written to it need not survive."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None


def _named(word: str) -> Path:
    if not word.startswith("sqlite:///"):
        raise Misuse(
            f"--store {word} is no store that scenarios are played on; it is memory, sqlite or sqlite:///NEW.db"
        )
    path = Path(word.removeprefix("sqlite:///"))
    if path.exists():
        raise Misuse(f"{path} exists already; scenarios begin with an empty store, name a new file")
    return path
