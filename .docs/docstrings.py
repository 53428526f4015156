"""Docstrings, which are plain text with `code` in backticks, as reStructuredText with links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from names import PUBLIC, is_error

_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_ERROR = re.compile(rf"\b({'|'.join(name for name in PUBLIC if is_error(name))})\b")
_SPECIAL = re.compile(r"(?P<bullet>^ *\* )|(?P<special>[*|\\]|(?<=\w)_(?!\w))", re.MULTILINE)
_SEE = re.compile(r"\b[Ss]ee (pawl\.\w+(?:\.\w+)?)")
_ARGUMENT = re.compile(r"^ {2,4}(\w+): (.*)$")


def to_rst(lines: Iterable[str]) -> list[str]:
    """The lines of one docstring, dedented: `Name` of a public thing and the names of errors become links.

    An indented block behind a colon and an empty line is an example.
    """
    made: list[str] = []
    for is_example, part in _parts(list(lines)):
        if is_example:
            made[-2] += ":"
            made += [*part, ""]
        else:
            pieces = _CODE.split("\n".join(part))
            text = "".join(
                _code(" ".join(one.split())) if place % 2 else _plain(one) for place, one in enumerate(pieces)
            )
            made += _arguments(text.split("\n"))
    return made


def _parts(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """Text and examples in turns."""
    begin = place = 0
    while place < len(lines):
        if place >= 2 and _begins_example(lines[place - 2 : place + 1]):
            yield False, lines[begin:place]
            begin = place
            while place < len(lines) and (not lines[place].strip() or lines[place].startswith("    ")):
                place += 1
            yield True, lines[begin:place]
            begin = place
        else:
            place += 1
    yield False, lines[begin:]


def _begins_example(three: list[str]) -> bool:
    said, empty, line = three
    return said.rstrip().endswith(":") and not said.startswith(" ") and not empty.strip() and line.startswith("    ")


def _code(text: str) -> str:
    name = text.removeprefix("pawl.")
    if name in PUBLIC:
        return f":py:obj:`{text} <pawl.{name}>`"
    return f"``{text}``"


def _plain(text: str) -> str:
    escaped = _SPECIAL.sub(lambda match: match["bullet"] or f"\\{match['special']}", text)
    linked = _SEE.sub(r"See :py:obj:`\1`", escaped)
    return _ERROR.sub(r":py:exc:`~pawl.\1`", linked)


def _arguments(lines: Iterable[str]) -> Iterator[str]:
    """A section `Arguments:` becomes a list of fields."""
    inside = False
    for line in lines:
        if line.strip() in ("Arguments:", "Attributes:"):
            inside = True
            yield ""
        elif inside and (argument := _ARGUMENT.match(line)):
            yield f":param {argument[1]}: {argument[2]}"
        elif inside and line.startswith("  ") and line.strip():
            yield f"    {line.strip()}"
        else:
            inside = False if line.strip() == "" else inside
            yield line
