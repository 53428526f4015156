"""A store by its URL: `memory://`, `sqlite:///relative.db`, `sqlite:////absolute.db`, or just a path."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Final
from urllib.parse import parse_qsl, unquote

from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.store.memory import MemoryStore
from pawl.runtime.store.port import Store
from pawl.runtime.store.sqlite import SqliteStore
from pawl.runtime.store.sqlite_connect import Synchronous

_SYNCHRONOUS: Final[dict[str, Synchronous]] = {"FULL": "FULL", "NORMAL": "NORMAL"}
_FORMS: Final = "memory://, sqlite:///relative.db, sqlite:////absolute.db, or a path"


def open_store(url: str | PathLike[str]) -> Store:
    """Make and open the store. Raises InvalidArguments, StoreUnavailable, StoreReadOnly, StoreCorrupt, SchemaTooNew."""
    store = store_at(url)
    store.open()
    return store


def store_at(url: str | PathLike[str]) -> Store:
    """The store, not opened yet. `?synchronous=NORMAL` and `?busy_timeout=SECONDS` are options of sqlite URLs.

    Raises InvalidArguments.
    """
    text = fspath(url)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return SqliteStore(text)
    rest, _, query = rest.partition("?")
    options = _options(query, scheme)
    if scheme == "memory":
        _done(options, "memory://")
        if rest:
            raise InvalidArguments(f"memory:// takes no path, {rest!r} was given")
        return MemoryStore()
    if scheme == "sqlite":
        return _sqlite(rest, options)
    raise InvalidArguments(f"unknown kind of store {scheme!r}; use {_FORMS}")


def _sqlite(rest: str, options: dict[str, str]) -> SqliteStore:
    if not rest.startswith("/"):
        raise InvalidArguments(
            f"sqlite://{rest} names a host; write sqlite:///{rest} for a relative path, with one slash more for an "
            "absolute one"
        )
    path = unquote(rest[1:])
    if path in ("", ":memory:"):
        raise InvalidArguments(f"sqlite:///{path} names no file; use {_FORMS}")
    synchronous = options.pop("synchronous", "FULL").upper()
    timeout = options.pop("busy_timeout", "5")
    _done(options, "sqlite://")
    try:
        seconds = float(timeout)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise InvalidArguments(f"busy_timeout={timeout} is not a number of seconds between 0 and 3600")
    if synchronous not in _SYNCHRONOUS:
        raise InvalidArguments(f"synchronous={synchronous} is not possible; use FULL or NORMAL")
    return SqliteStore(path, _SYNCHRONOUS[synchronous], seconds)


def _options(query: str, scheme: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise InvalidArguments(f"the options of the {scheme}:// URL are not name=value&name=value") from None
    options = dict(pairs)
    if len(options) != len(pairs):
        raise InvalidArguments(f"the {scheme}:// URL has an option twice")
    return options


def _done(options: dict[str, str], scheme: str) -> None:
    if options:
        known = "synchronous, busy_timeout" if scheme == "sqlite://" else "none"
        raise InvalidArguments(f"unknown option {', '.join(sorted(options))} of {scheme} (known: {known})")
