"""Words to people and to programs: plain lines, with colour only where a terminal shows it.

Text is never read as Rich markup: a message may hold [brackets].
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

if TYPE_CHECKING:
    from pawl.tools.compiler.findings import Finding

STDOUT: Final = Path("-")
"""What an option that names a file means by a dash."""


class Misuse(Exception):
    """The command cannot do what was asked, here: exit code 2. The message says what to do instead."""


def debugging() -> bool:
    """Whether errors are to be shown with their tracebacks: `pawl --debug`, or PAWL_DEBUG."""
    return os.environ.get("PAWL_DEBUG", "") not in ("", "0")


def out(text: str = "", style: str = "") -> None:
    """One line, or several, of the result."""
    _write(sys.stdout, text, style)


def err(text: str, style: str = "") -> None:
    """One line, or several, about the result; programs that read stdout do not see it."""
    _write(sys.stderr, text, style)


def tell_warnings() -> None:
    """Show what the library logs from WARNING on, on stderr; where the application's code configures logging, that."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="pawl: %(message)s", stream=sys.stderr)


def raw(text: str) -> None:
    """A whole document on stdout, as UTF-8 whatever the terminal speaks: it says so inside, or is piped to a file."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        buffer.write(text.encode())
        buffer.flush()


def as_json(value: Any) -> None:
    """`value` as JSON in ASCII on stdout, alone there."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def clear() -> None:
    """Begin at the top of an empty terminal; nothing where the output goes elsewhere."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")
        sys.stdout.flush()


def never_fail_to_print() -> None:
    """Characters that the terminal's encoding lacks are shown as escapes instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def finding(found: Finding) -> None:
    """`file:line:col: RULE what is wrong; what to do` on stderr."""
    colour = "red" if found.severity == "error" else "yellow"
    place, _, rest = str(found).partition(f" {found.rule} ")
    if not sys.stderr.isatty():
        err(f"{place} {found.rule} {rest}")
        return
    from rich.text import Text

    _rich(sys.stderr, Text.assemble((place, "bold"), " ", (found.rule, f"bold {colour}"), " ", rest))


def diff(text: str) -> None:
    """A unified diff on stdout."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    for line in text.splitlines():
        out(line, "bold" if line.startswith(("+++", "---")) else styles.get(line[:1], ""))


def leave(code: int) -> NoReturn:
    """End the command with an exit code."""
    import typer

    raise typer.Exit(code)


def _write(stream: TextIO, text: str, style: str) -> None:
    if not style or not stream.isatty():
        stream.write(text + "\n")
        return
    from rich.text import Text

    _rich(stream, Text(text, style))


def _rich(stream: TextIO, text: Any) -> None:
    from rich.console import Console

    Console(file=stream, soft_wrap=True, highlight=False, markup=False, emoji=False).print(text)
