"""The one door between text from a spec and Python source: literals that cannot be broken out of.

A spec is untrusted input to a code generator. Every piece that a template interpolates is a `Code`, and only this
module makes one; each literal is read back before it is handed out. `environment` refuses anything else.
"""

from __future__ import annotations

import ast
import keyword
import textwrap
import unicodedata

import jinja2

WIDTH = 118
"""Columns a docstring is folded to."""


class Code(str):
    """Python source that is inert: a checked literal or a plain identifier."""

    __slots__ = ()


class UnsafeText(ValueError):
    """Text that would not come back as it went in, or a name that is not an identifier; nothing is written."""


def literal(value: object, doc: bool = False, indent: int = 0) -> Code:
    """Source of a text, a number, a bool, None, or a tuple of these; reading it gives `value` back.

    With `doc`, a text becomes a triple-quoted docstring whose lines are folded to the page; reading it gives the
    same words. Raises UnsafeText.
    """
    if doc:
        return _docstring(str(value), indent)
    source = _source(value)
    if _read(source) != value:
        raise UnsafeText(f"{value!r} cannot be written as a literal")
    return Code(source)


def identifier(name: str, prefix: str = "") -> Code:
    """`name` as a bare identifier, after `prefix` and a dot when there is one. Raises UnsafeText."""
    usual = name.isidentifier() and unicodedata.normalize("NFKC", name) == name  # Python would read it as another
    if not usual or keyword.iskeyword(name) or (name.startswith("__") and name.endswith("__")):
        raise UnsafeText(f"{name!r} is not usable as a Python name")
    return Code(f"{identifier(prefix)}.{name}" if prefix else name)


def member(name: str, of: str = "") -> Code:
    """The enum member of a state, event or outcome: upper case, and `__` for the dot of an inner state."""
    return identifier(unicodedata.normalize("NFKC", name.upper()).replace(".", "__"), of)


def align(block: str) -> Code:
    """Pad the tab-separated columns of the lines of a template block. No interpolated piece holds a raw tab."""
    rows = [line.split("\t") for line in block.split("\n")]
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row[:-1]):
            widths[column] = max(widths.get(column, 0), len(cell))
    lines = ["".join(cell.ljust(widths[i]) for i, cell in enumerate(row[:-1])) + row[-1] for row in rows]
    return Code("\n".join(line.rstrip() for line in lines))


def environment() -> jinja2.Environment:
    """Jinja2 with the filters above; an interpolation that did not pass one of them is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("pawl.tools.compiler", "templates"),
        autoescape=False,  # Python, not HTML; `finalize` is stricter
        undefined=jinja2.StrictUndefined,
        finalize=_only_code,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(repr=literal, identifier=identifier, member=member, align=align)
    return made


def _only_code(value: object) -> Code:
    if type(value) is not Code:
        raise UnsafeText(f"a template interpolates {value!r} without a filter")
    return value


def _source(value: object) -> str:
    """`repr`, with double quotes where that needs no escaping; plain types only: others answer repr as they like."""
    if type(value) is tuple:
        return f"({', '.join(map(_source, value))}{',' * (len(value) == 1)})"
    if type(value) is str and '"' not in value:
        return '"' + repr(value + '"')[1:-2] + '"'
    if value is None or type(value) in (str, int, bool):
        return repr(value)
    raise UnsafeText(f"{value!r} cannot be written as a literal")


def _read(source: str) -> object:
    try:
        return ast.literal_eval(source)
    except (SyntaxError, ValueError):
        return UnsafeText  # equal to no text


def _docstring(text: str, indent: int) -> Code:
    lines: list[str] = []
    for line in text.strip().splitlines():
        lead = line[: len(line) - len(line.lstrip())].expandtabs(4)
        folded = textwrap.wrap(
            line.strip(),
            WIDTH - indent,
            initial_indent=lead,
            subsequent_indent=lead,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines.extend(folded or [""])
    body = "\n".join(" " * indent + line if line else "" for line in lines).strip()
    escaped = _escape(body[:-1]) + '\\"' if body.endswith('"') else _escape(body)
    source = f'"""{escaped}\n{" " * indent}"""' if "\n" in escaped else f'"""{escaped}"""'
    if str(_read(source)).split() != text.split():
        raise UnsafeText(f"{text!r} cannot be written as a docstring")
    return Code(source)


def _escape(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in quoted)
