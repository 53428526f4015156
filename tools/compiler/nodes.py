"""The node graph of a spec file: text, lists and mappings, each with its place in the file."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from pawl.tools.compiler.findings import Finding
from pawl.tools.compiler.model import Position


@attrs.frozen
class Scalar:
    """A text as it was written, whatever YAML would make of it; `plain` when it stood without quotes."""

    text: str
    at: Position
    plain: bool = True


@attrs.frozen
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    at: Position


@attrs.frozen
class Mapping:
    """Keys and values in the order of the file; every key once."""

    entries: tuple[tuple[Scalar, Node], ...]
    at: Position


Node: TypeAlias = Scalar | Sequence | Mapping


@attrs.frozen
class Document:
    """A spec file that was read; `root` is None where the findings leave nothing to go on with."""

    file: str
    root: Mapping | None
    findings: tuple[Finding, ...]
