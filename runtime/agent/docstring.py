"""Descriptions out of a docstring, in the Google, NumPy and Sphinx habits; best effort."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(
    r"^(args|arguments|parameters|params|other parameters|keyword args|keyword arguments|returns?|yields?|raises"
    r"|examples?|notes?|warnings?|see also|references|attributes|todo):?$",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(r"^(keyword |other )?(args|arguments|parameters|params|attributes):?$", re.IGNORECASE)
_FIELD = re.compile(r"^:(\w+)(?:\s+([^:]*))?:\s*(.*)$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(?:\s+(.*))?$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")


def describe(doc: str | None) -> tuple[str, dict[str, str]]:
    """What `doc` says before its first section, and what it says about each argument."""
    lines = inspect.cleandoc(doc or "").splitlines()
    end = next((at for at, line in enumerate(lines) if _is_section(lines, at) or _FIELD.match(line)), len(lines))
    about: dict[str, str] = {}
    for at, line in enumerate(lines):
        if _is_section(lines, at) and _ARGUMENTS.match(line.strip()):
            numpy = _is_rule(lines, at + 1)
            about.update(_entries(lines[at + 2 :] if numpy else lines[at + 1 :], numpy))
    about.update(_fields(lines))
    return "\n".join(lines[:end]).strip(), about


def _is_rule(lines: list[str], at: int) -> bool:
    return at < len(lines) and set(lines[at].strip()) in ({"-"}, {"="})


def _is_section(lines: list[str], at: int) -> bool:
    """A heading stands at the margin, with a colon or underlined."""
    line = lines[at]
    return bool(_SECTION.match(line)) and (line.endswith(":") or _is_rule(lines, at + 1))


def _entries(lines: list[str], numpy: bool) -> dict[str, str]:
    """The entries of one section: a name, then text that is indented deeper than the name."""
    about: dict[str, list[str]] = {}
    margin: int | None = None
    name = ""
    for at, line in enumerate(lines):
        if _is_section(lines, at):
            break
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        if indent < margin or (indent == 0 and not numpy):
            break
        found = (_NUMPY_ENTRY if numpy else _ENTRY).match(line.strip()) if indent == margin else None
        if found:
            name = found[1]
            about[name] = [] if numpy else [found[2] or ""]
        elif name:
            about[name].append(line.strip())
    return {key: " ".join(part for part in parts if part) for key, parts in about.items()}


def _fields(lines: list[str]) -> dict[str, str]:
    """`:param int cents: The amount.` with its continuation lines."""
    about: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        found = _FIELD.match(line)
        if found:
            name = (found[2] or "").split(" ")[-1] if found[1] in ("param", "parameter", "arg", "argument") else ""
            if name:
                about[name] = [found[3]]
        elif name and line.startswith(" "):
            about[name].append(line.strip())
        else:
            name = ""
    return {key: " ".join(part for part in parts if part) for key, parts in about.items()}
