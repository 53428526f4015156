"""Read a spec file into positioned nodes, strictly: anything that YAML can do behind your back is a finding.

PyYAML's C parser gives events with marks; the nodes are built from them here, so that nesting is bounded before
anything recurses, no alias is ever followed and a scalar stays the text that was written.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any, Protocol

import yaml

from pawl.tools.compiler.build import SPEC, Builder, Words, too_deep
from pawl.tools.compiler.findings import Finding, Severity
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.nodes import Document

MAX_BYTES = 1 << 20
"""The longest spec file that is read, in bytes."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_UNWELCOME = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Control characters but newline, line separators that editors do not count, surrogates, stray byte order marks."""

_FOREIGN_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Mark(Protocol):
    line: int
    column: int


def load(path: Path | str) -> Document:
    """Read the spec at `path`. Never raises for what the file holds, or for a file that cannot be read."""
    text = text_of(path)
    return text if isinstance(text, Document) else _build(text, str(path))


def load_bytes(data: bytes, file: str) -> Document:
    """The same for bytes that were read already; `file` is what positions say."""
    text = _decoded(data, file)
    return text if isinstance(text, Document) else _build(text, file)


def load_text(text: str, file: str) -> Document:
    """The same for text."""
    checked = checked_text(text, file)
    return checked if isinstance(checked, Document) else _build(checked, file)


def text_of(path: Path | str) -> str | Document:
    """The text of a file that can be parsed; else a document that says why it cannot."""
    file = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return _refused(file, "Y01", f"cannot read this file: {reason}; check the path and its permissions")
    return _decoded(data, file)


def _decoded(data: bytes, file: str) -> str | Document:
    if len(data) > MAX_BYTES:
        return _refused(file, "Y03", f"the file is longer than {MAX_BYTES:,} bytes; split the machine into several")
    data = data.removeprefix(codecs.BOM_UTF8)
    if data.startswith(_FOREIGN_MARKS):
        return _refused(file, "Y02", "the file is UTF-16 or UTF-32; save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        at = _position(file, before, len(before))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return Document(file, None, (Finding("Y02", Severity.ERROR, at, message),))
    return checked_text(text, file)


def checked_text(text: str, file: str) -> str | Document:
    """Text with one kind of line ending; else a document that says why it is not read."""
    if len(text) > MAX_BYTES:
        return _refused(
            file, "Y03", f"the text is longer than {MAX_BYTES:,} characters; split the machine into several"
        )
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    unwelcome = _UNWELCOME.search(text)
    if unwelcome is not None:
        character, at = unwelcome.group(), _position(file, text, unwelcome.start())
        message = (
            "tab character; indent and separate with spaces"
            if character == "\t"
            else f"control character U+{ord(character):04X}; remove it"
        )
        return Document(file, None, (Finding("Y04", Severity.ERROR, at, message),))
    return text


def _build(text: str, file: str) -> Document:
    return _built(text, file, SPEC, several=False)[0]


def documents(text: str, file: str, words: Words) -> tuple[Document, ...]:
    """Every document of a text that `checked_text` or `text_of` passed, in order; empty ones only where there is no
    other. The first that is not YAML is the last.
    """
    return _built(text, file, words, several=True)


def _built(text: str, file: str, words: Words, *, several: bool) -> tuple[Document, ...]:
    done: list[Document] = []
    builder = Builder(file, words)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if several and builder.begun and isinstance(event, yaml.DocumentStartEvent):
                done += () if builder.empty else (builder.document(),)
                builder = Builder(file, words)
            if not builder.take(event):
                break
    except yaml.YAMLError as error:
        builder.findings.append(_syntax(file, error, builder.last))
        return (*done, Document(file, None, tuple(builder.findings)))
    except (ValueError, OverflowError, RecursionError) as error:
        # The pure parser lets chr() and int() of an escape raise; the C parser never comes here.
        message = f"not YAML: {error}; check the escapes and quotes near here"
        builder.findings.append(Finding("Y05", Severity.ERROR, builder.last, message))
        return (*done, Document(file, None, tuple(builder.findings)))
    return tuple(done) if done and builder.empty else (*done, builder.document())


def _syntax(file: str, error: yaml.YAMLError, last: Position) -> Finding:
    mark: _Mark | None = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed"
    if "nesting depth" in problem:  # libyaml reads ahead, and has a limit of its own
        return too_deep(last)
    context = getattr(error, "context", None)
    if context is not None and "scanning an alias" in context and mark is not None:
        at = Position(file, mark.line + 1, mark.column)
        return Finding("Y05", Severity.ERROR, at, 'not YAML: a bare * begins an alias; write it in quotes, "*"')
    at = Position(file, mark.line + 1, mark.column + 1) if mark is not None else Position(file, 1, 1)
    where = f" {context}" if context else ""
    return Finding("Y05", Severity.ERROR, at, f"not YAML:{where} {problem}; check indentation, colons and quotes here")


def _position(file: str, text: str, offset: int) -> Position:
    return Position(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _refused(file: str, rule: str, message: str) -> Document:
    return Document(file, None, (Finding(rule, Severity.ERROR, Position(file, 1, 1), message),))
