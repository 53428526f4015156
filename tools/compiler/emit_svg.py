"""SVG of a diagram, drawn by `graphviz-pure`: the same bytes on every machine, no system Graphviz needed.

The sha-256 of the DOT text stands in the SVG, so that a check compares hashes and need not draw.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from pawl.tools.compiler.write import mark

COMMAND = "graphviz-pure"
TIMEOUT_SECONDS = 120.0
"""The longest a layout may take: a person waits, and the picture of such a machine would not be readable anyway."""

_DRAWN_FAMILY = 'font-family="Helvetica,sans-Serif"'
_FAMILIES = 'font-family="Helvetica,Arial,Liberation Sans,Arimo,sans-serif"'
"""Fonts with the widths that the layout counted on, for viewers on every system; a wider one would leave its box."""
_HASH = re.compile(r"dot sha256: ([0-9a-f]{64})")


class CannotDraw(Exception):
    """The SVG cannot be made: the program is missing, failed, or needs too long. The message says what to do."""


def emit_svg(dot: str, file: str) -> str:
    """Draw `dot` and return the SVG text; `file` is the spec that it came from. Raises CannotDraw."""
    drawn = _run(dot)
    start = drawn.find("<svg")
    if start < 0 or "</svg>" not in drawn:
        raise CannotDraw(f"{COMMAND} made no SVG of {file}; use --format dot and draw it with another program")
    # Its prologue names its version and would change with it.
    head = ['<?xml version="1.0" encoding="UTF-8" standalone="no"?>', mark(file, "<!--", " -->")]
    body = drawn[start:].rstrip().replace(_DRAWN_FAMILY, _FAMILIES)
    return "\n".join((*head, hash_line(dot), body)) + "\n"


def dot_hash(dot: str) -> str:
    """The hash that an SVG of `dot` carries: sha-256 hex of the text with normal line endings."""
    return hashlib.sha256(dot.replace("\r\n", "\n").encode()).hexdigest()


def hash_line(dot: str) -> str:
    """The line of an SVG of `dot` that a check compares."""
    return f"<!-- dot sha256: {dot_hash(dot)} -->"


def hash_in(svg: str) -> str | None:
    """The hash of the DOT that an SVG was drawn from; None when it carries none."""
    found = _HASH.search(svg[:2000])
    return found[1] if found is not None else None


def _run(dot: str) -> str:
    program = _program()
    try:
        done = subprocess.run(
            [program, "-q", "-Tsvg"], input=dot.encode(), capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotDraw(
            f"{COMMAND} needs more than {TIMEOUT_SECONDS:.0f} s for this machine; "
            "split the machine, or use --format dot and draw it elsewhere"
        ) from None
    except OSError as error:
        raise CannotDraw(
            f"{program} cannot be run ({error.strerror}); reinstall it: pip install graphviz-pure"
        ) from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", errors="replace").strip() or f"exit code {done.returncode}"
        raise CannotDraw(f"{COMMAND} failed: {reason}; use --format dot and draw it with another program")
    return done.stdout.decode("utf-8")


def _program() -> str:
    """The program of this environment first, then any on PATH."""
    folders = (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent)
    for folder in folders:
        found = shutil.which(COMMAND, path=str(folder))
        if found is not None:
            return found
    found = shutil.which(COMMAND)
    if found is None:
        raise CannotDraw(f"{COMMAND} is not installed; pip install 'pawl-fsm[tools]', or use --format dot")
    return found
