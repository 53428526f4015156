"""Text of a spec on a page: what has no look of its own is shown as an escape, and nothing turns the text around."""

from __future__ import annotations

import re

import markupsafe

_KEPT = "\t\n"
_ENDS = re.compile(r"(?<=\w)[_.](?=\w)")


def shown(text: object) -> str:
    """`text` with control, formatting and direction characters as escapes."""
    return "".join(c if c in _KEPT or c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def broken(text: object) -> markupsafe.Markup:
    """A name that may be broken where its words end, when there is no room."""
    escaped = str(markupsafe.escape(shown(text)))  # else what is put in is escaped, too
    return markupsafe.Markup(_ENDS.sub(r"\g<0><wbr>", escaped))
