"""Specs as an editor's language server sees them: plain data, its scalars by the core schema of YAML 1.2."""

from __future__ import annotations

import re
from typing import Any

from pawl.tools.compiler.load import load_text
from pawl.tools.compiler.nodes import Mapping, Node, Scalar


def data(text: str) -> Any:
    """The document in `text`, which has to be YAML."""
    document = load_text(text, "spec.yaml")
    if document.root is None and {finding.rule for finding in document.findings} == {"Y13"}:
        return "no mapping"
    assert document.root is not None, [str(finding) for finding in document.findings]
    return plain(document.root)


def plain(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {key.text: plain(value) for key, value in node.entries}
    if isinstance(node, Scalar):
        return _scalar(node.text) if node.plain else node.text
    return [plain(item) for item in node.items]


def _scalar(text: str) -> Any:
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text):
        return float(text)
    return text
