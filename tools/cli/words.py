"""Times, texts and JSON in one line, for people. What a model wrote can hold no control character here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import attrs

from pawl.runtime.records.canonical import canonical

WIDTH = 100
"""Characters of a text that a line shows."""


def clock(at: float) -> str:
    """`15:34:12.101`, local time."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S.%f")[:-3]


def moment(at: float) -> str:
    """`2026-11-29 15:34:12 +0000`, local time."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def span(seconds: float) -> str:
    """`0.3 ms`, `12 s`, `3 min`, `5 h`, `9 d`."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def printable(text: str) -> str:
    """`text` with control, formatting and direction characters as escapes: nothing hides, nothing moves the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def excerpt(text: str, width: int = WIDTH) -> str:
    """The beginning of `text` in one line, its spaces folded."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1]}…"


def compact(value: Any) -> str:
    """JSON in one line, whole: a person decides about it."""
    return printable(canonical(value))


def plain(value: Any) -> dict[str, Any]:
    """An attrs value as JSON data; what is private in it is none."""
    data: dict[str, Any] = attrs.asdict(value, filter=lambda field, _: not field.name.startswith("_"))
    return data


def count(number: int, thing: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {thing}{'s' * (number != 1)}"
