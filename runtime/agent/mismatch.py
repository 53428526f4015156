"""What is wrong with a JSON value, in words that name the place, and how much of it may be quoted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, ParamSpec

P = ParamSpec("P")

_SHOWN: Final = 6
"""Problems that one error names."""

_MOST_PROBLEMS: Final = 20
"""Problems of one value that are kept: it may have thousands."""


class Mismatch(Exception):
    """A JSON value does not have the shape. `problems` are whole sentences that name the place, the first of them;
    `more` counts the others.
    """

    def __init__(self, *problems: str, more: int = 0) -> None:
        self.problems = problems[:_MOST_PROBLEMS]
        self.more = more + len(problems) - len(self.problems)
        super().__init__("; ".join(self.problems))

    def said(self) -> str:
        """The first few in one sentence, with the number of the others."""
        shown, more = self.problems[:_SHOWN], self.more + max(0, len(self.problems) - _SHOWN)
        return "; ".join((*shown, f"and {more} more") if more else shown)


class Problems:
    """What is wrong with the parts of one value, as it is found; the words are made for the first few only."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._more = 0

    def note(self, words: Callable[P, str], *about: P.args, **more: P.kwargs) -> None:
        """One more, in the words that are made of this."""
        if len(self._found) < _MOST_PROBLEMS:
            self._found.append(words(*about, **more))
        else:
            self._more += 1

    def add(self, mismatch: Mismatch) -> None:
        """Those of a part."""
        room = _MOST_PROBLEMS - len(self._found)
        self._found += mismatch.problems[:room]
        self._more += mismatch.more + max(0, len(mismatch.problems) - room)

    def check(self) -> None:
        """Raise Mismatch if there are any."""
        if self._found:
            raise Mismatch(*self._found, more=self._more)


_QUIET: Final[ContextVar[bool]] = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Let no problem that is found inside quote a value: a secret may have been given in another's place."""
    before = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(before)


def is_quiet() -> bool:
    """Whether problems may not quote values."""
    return _QUIET.get()


_WHOLE: Final[ContextVar[str]] = ContextVar("whole", default="arguments")


@contextmanager
def calling(whole: str) -> Iterator[None]:
    """Call what is read inside by this name, where a problem is of all of it."""
    before = _WHOLE.set(whole)
    try:
        yield
    finally:
        _WHOLE.reset(before)


def place(path: str) -> str:
    """Where a problem is, in words."""
    return path or _WHOLE.get()


def got(value: Any) -> str:
    """A JSON value in words, cut short; its kind alone where values may not be quoted."""
    if value is None:
        return "null"
    if _QUIET.get() and isinstance(value, bool | str | int | float):
        return {bool: "true or false", str: "text"}.get(type(value), "a number")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'the text "{value}"' if len(value) <= 40 else f'the text "{value[:40]}…"'
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    text = repr(value)
    return f"the number {text if len(text) <= 40 else text[:40] + '…'}"
