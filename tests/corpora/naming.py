"""Any texts to names of a spec, one to one: the text itself goes into `label`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from pawl.tools.compiler.names import LONGEST, folded, is_name, reserved


def names(texts: Iterable[str], prefix: str, always: bool = False) -> dict[str, str]:
    """A name for each text: what is readable of it, and a number where two would be the same. The order of `texts`
    does not matter. `prefix` goes before what alone would be no name, or `always`.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for text in sorted(set(texts), key=lambda text: (_plain(text) != text, text)):
        base = _plain(text)
        if always or not is_name(base) or reserved(base) is not None:
            base = f"{prefix}_{base}"[:LONGEST].rstrip("_")
        name, number = base, 1
        while folded(name) in taken or not is_name(name):
            number += 1
            assert number < 10_000, text
            name = f"{base[: LONGEST - 6]}_{number}".replace("__", "_")
        taken.add(folded(name))
        found[text] = name
    return found


def _plain(text: str) -> str:
    """Letters and digits in lower case, words parted by one underscore, every other sign as its number."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", unicodedata.normalize("NFKC", text)).lower()
    spelt = "".join(c if f"a{c}".isidentifier() else _sign(c) for c in words)
    return re.sub("_+", "_", spelt).strip("_")[:LONGEST].strip("_")


def _sign(character: str) -> str:
    return "_" if character in " ._-/:,\n\t" else f"_x{ord(character):x}_"
