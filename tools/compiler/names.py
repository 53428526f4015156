"""Which words may name things, so that a name is the same safe identifier everywhere the compiler writes it."""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata

LONGEST = 64
"""The most characters in a name."""

MACHINE = "[a-z](?:_?[a-z0-9])*"
NAME = r"[^\x00-\x60\x7b-\x7f](?:_?[^\x00-\x2f\x3a-\x60\x7b-\x7f])*"
"""The form of a name for tools that have no more than regular expressions: beyond ASCII, everything is a letter."""
GROUP = "[A-Z](?:_?[A-Z0-9])*"
_WORD = "[A-Za-z_][A-Za-z_0-9]*"
REFERENCE = rf"{_WORD}(?:\.{_WORD})*:{_WORD}(?:\.{_WORD})*"

_ASCII_NAME = re.compile(MACHINE)
_GROUP = re.compile(GROUP)
_REFERENCE = re.compile(REFERENCE)

_SOFT = frozenset({"case", "match", "type"})
"""Soft keywords of every Python from 3.11 up, whichever runs the compiler."""

_ENUM = frozenset({"mro", "name", "value"})
"""Words that mean something to `enum.Enum` itself."""

_WINDOWS = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""File names that Windows does not give away, with any suffix."""

_STDLIB = sys.stdlib_module_names | {
    "annotationlib", "asynchat", "asyncore", "binhex", "cgi", "cgitb", "chunk", "compression", "crypt", "distutils",
    "formatter", "imghdr", "imp", "lib2to3", "macpath", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "parser",
    "pipes", "smtpd", "sndhdr", "spwd", "string", "sunau", "symbol", "telnetlib", "test", "uu", "xdrlib",
}  # fmt: skip
"""Modules of this interpreter and of those before and after it: a spec must not compile on one Python only."""


def is_name(text: str) -> bool:
    """Whether `text` may name a state, event, guard, action and so on: a snake_case identifier without `__`."""
    if len(text) > LONGEST or "__" in text or text[:1] == "_" or text[-1:] == "_":
        return False
    if text.isascii():
        return _ASCII_NAME.fullmatch(text) is not None
    upper = text.upper()
    return text == text.lower() and unicodedata.normalize("NFKC", text) == text and (text + upper).isidentifier()


def is_group_name(text: str) -> bool:
    """Whether `text` may name a group: a name, or one in upper case."""
    return is_name(text) or (len(text) <= LONGEST and _GROUP.fullmatch(text) is not None)


def is_reference(text: str) -> bool:
    """Whether `text` is `package.module:Class` with identifiers that an import statement can hold."""
    if len(text) > 4 * LONGEST or not text.isascii() or _REFERENCE.fullmatch(text) is None:
        return False
    return not any(keyword.iskeyword(part) for part in re.split("[.:]", text))


def reserved(text: str, module: bool = False) -> str | None:
    """Why `text` is not free to be used as a name ('a Python keyword'), or None. `module`: it names a file, too."""
    if keyword.iskeyword(text) or keyword.issoftkeyword(text) or text in _SOFT:
        return "a Python keyword"
    if text in _ENUM:
        return "reserved by Python's enum"
    if module and text in _STDLIB:
        return "a module of Python's standard library"
    if module and text in _WINDOWS:
        return "a device on Windows"
    return None


def folded(text: str) -> str:
    """What is left of a name when case and compatible characters do not count; equal ones collide."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.upper()).casefold()).replace(".", "__")
