"""What the compiler has to say about a spec: one finding is one place, one rule, one sentence with a way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum

import attrs

from pawl.tools.compiler.model import Position

MOST_FINDINGS = 200
"""How many findings of one kind are kept for one file; nobody reads more, and a hostile file has no end of them."""


class Severity(StrEnum):
    """How much a finding weighs: an error refuses the machine, a warning does not, `off` is never reported."""

    OFF = "off"
    WARN = "warn"
    ERROR = "error"


@attrs.frozen
class Finding:
    """One finding. `message` says what is wrong and, after a semicolon, what to do about it."""

    rule: str
    severity: Severity
    position: Position
    message: str

    def __str__(self) -> str:
        uses = self.position.uses
        used = f" (used in {', in '.join(map(str, uses))})" if uses else ""
        return f"{self.position}: {self.rule} {self.message}{used}"


def in_file_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort by file, line, column and rule, each distinct finding once; about a fragment that is used several times,
    what is said of the first use is enough.
    """
    found = sorted(dict.fromkeys(findings), key=_order)
    first: dict[tuple[str, str, int, int], tuple[Position, ...]] = {}
    for each in found:
        first.setdefault(_place(each), each.position.uses)
    return tuple(each for each in found if first[_place(each)] == each.position.uses)


def _place(found: Finding) -> tuple[str, str, int, int]:
    at = found.position
    return found.rule, at.file, at.line, at.column


def _order(found: Finding) -> tuple[object, ...]:
    at = found.position
    used = [(place.file, place.line, place.column) for place in reversed(at.uses)]
    return at.file, at.line, at.column, found.rule, used, found.message


def line_of(at: Position, reader: Position) -> str:
    """`line 7`, or `retry.yaml:7` for somebody who reads another file."""
    return f"line {at.line}" if at.file == reader.file else f"{at.file}:{at.line}"


def suggest(wrong: str, known: Iterable[str], otherwise: str) -> str:
    """`did you mean 'x'?` for the known name that is nearest to `wrong`; `otherwise` when none is near."""
    near = nearest(wrong, known)
    return f"did you mean {quoted(near)}?" if near is not None else otherwise


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """The known name that `wrong` was most likely meant to be, or None."""
    names = sorted({name for name in known if len(name) <= _LONG})
    if len(wrong) > _LONG or len(names) > _MANY:
        return None
    near = difflib.get_close_matches(wrong, names, n=1) or difflib.get_close_matches(wrong.casefold(), names, n=1)
    return near[0] if near else None


def quoted(text: str) -> str:
    """`text` in quotes on one line, cut where it is long: names from a spec may be anything."""
    shown = text if len(text) <= _LONG else text[: _LONG - 1] + "…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown) + "'"


def listed(names: Iterable[str], most: int = 12) -> str:
    """`'a', 'b'` and, beyond `most` names, how many more there are."""
    every = list(names)
    shown = ", ".join(quoted(name) for name in every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"


_LONG = 80
_MANY = 500
