"""Parser events to nodes, without recursion, refusing every feature of YAML that a spec does not need."""

from __future__ import annotations

import unicodedata
from typing import Any

import attrs
import yaml

from pawl.tools.compiler.findings import MOST_FINDINGS, Finding, Severity, quoted
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.nodes import Document, Mapping, Node, Scalar, Sequence

MAX_DEPTH = 32
"""How deep lists and mappings may be nested; a valid spec needs six."""


@attrs.define
class _Frame:
    at: Position
    mapping: bool
    items: list[Node] = attrs.field(factory=list)
    entries: dict[str, tuple[Scalar, Node]] = attrs.field(factory=dict)
    key: Scalar | None = None
    has_key: bool = False


@attrs.frozen
class Words:
    """What a kind of file is called, and how one begins, in the words of findings."""

    noun: str = "a spec"
    begin: str = "`pawl: 1` and `machine: NAME`"
    needs: str = "six"
    holds: str = "one machine"


SPEC = Words()


def too_deep(at: Position, words: Words = SPEC) -> Finding:
    """Y09, wherever it is noticed."""
    message = f"nested more than {MAX_DEPTH} levels deep; {words.noun} needs {words.needs}"
    return Finding("Y09", Severity.ERROR, at, message)


class Builder:
    """Takes the parser's events one by one; `findings` grows, `last` is where the latest event stood."""

    def __init__(self, file: str, words: Words = SPEC) -> None:
        self.file, self.words = file, words
        self.findings: list[Finding] = []
        self.last = Position(file, 1, 1)
        self._stack: list[_Frame] = []
        self._root: Node | None = None
        self._documents = 0
        self._broken = False

    def take(self, event: Any) -> bool:
        """Use one event; False when the rest of the file is not worth reading."""
        self.last = Position(self.file, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.DocumentStartEvent):
            return self._document(event)
        if isinstance(event, yaml.AliasEvent):
            self._find(
                "Y07", f"alias *{event.anchor}; write the value out, {self.words.noun} has no anchors or aliases"
            )
            self._add(Scalar("", self.last), False)
        elif isinstance(event, yaml.NodeEvent):
            return self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        return True

    @property
    def begun(self) -> bool:
        """Whether a document has started."""
        return self._documents > 0

    @property
    def empty(self) -> bool:
        """Whether nothing stands in the document, and nothing is wrong with it."""
        nothing = self._root is None or (isinstance(self._root, Scalar) and self._root.plain and not self._root.text)
        return nothing and not self.findings

    def document(self) -> Document:
        """What was built. `root` is None where the file has no mapping to go on with."""
        if self.empty:
            self._find("Y06", f"the file is empty; start with {self.words.begin}", Position(self.file, 1, 1))
        root = self._root if isinstance(self._root, Mapping) and not self._broken else None
        if root is None and not self.findings:
            at = self._root.at if self._root is not None else self.last
            self._find("Y13", f"{self.words.noun} is a mapping; start with {self.words.begin}", at)
        return Document(self.file, root, tuple(self.findings))

    def _document(self, event: Any) -> bool:
        self._documents += 1
        if self._documents > 1:
            self._find("Y10", f"a second document starts here; one file holds {self.words.holds}")
            return False
        if event.version or event.tags:
            self._find("Y08", "YAML directive; remove the line that starts with %")
        return True

    def _node(self, event: Any) -> bool:
        if event.anchor is not None:
            said = f"anchor &{event.anchor}; write the value out where it is used, {self.words.noun} has no anchors"
            self._find("Y07", said)
        if event.tag is not None:
            self._find(
                "Y08", f"tag {quoted(event.tag)}; remove it, {self.words.noun} decides the type of every value itself"
            )
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
            return True
        if len(self._stack) >= MAX_DEPTH:
            # Where it begins, as some versions of the parser stop at a depth of their own and know no better.
            self.findings.append(too_deep(self._stack[1].at, self.words))
            self._broken = True
            return False
        self._stack.append(_Frame(self.last, isinstance(event, yaml.MappingStartEvent)))
        return True

    def _scalar(self, event: Any) -> None:
        text: str = event.value
        for character in text:
            if character != "\n" and unicodedata.category(character) in ("Cc", "Cs"):
                self._find("Y04", f"control character U+{ord(character):04X}; remove the escape that makes it")
                text = ""
                break
        plain = event.style is None or event.style == ""
        self._add(Scalar(text, self.last, plain), True)

    def _close(self) -> None:
        frame = self._stack.pop()
        node: Node = (
            Mapping(tuple(frame.entries.values()), frame.at)
            if frame.mapping
            else Sequence(tuple(frame.items), frame.at)
        )
        self._add(node, True)

    def _add(self, node: Node, usable: bool) -> None:
        """Put a finished node where it belongs; `usable` False: it was refused and its entry is left out."""
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        if not frame.mapping:
            if usable:
                frame.items.append(node)
        elif not frame.has_key:
            frame.has_key, frame.key = True, self._key(node, frame) if usable else None
        else:
            key, frame.has_key, frame.key = frame.key, False, None
            if key is not None and isinstance(node, Scalar) and node.plain and not node.text:
                node = attrs.evolve(node, at=key.at)  # where nothing stands, the two parsers see it in two places
            if key is not None and usable:
                frame.entries[key.text] = (key, node)

    def _key(self, node: Node, frame: _Frame) -> Scalar | None:
        if not isinstance(node, Scalar) or (node.plain and not node.text):
            self._find("Y11", "a key is one word of text; not a list, a mapping or nothing", node.at)
            return None
        if node.text == "<<":
            self._find("Y07", f"merge key <<; write the keys out, {self.words.noun} has no merging", node.at)
            return None
        first = frame.entries.get(node.text)
        if first is not None:
            message = (
                f"{quoted(node.text)} is written twice here, first in line {first[0].at.line}; rename or remove one"
            )
            self._find("E02", message, node.at)
            return None
        return node

    def _find(self, rule: str, message: str, at: Position | None = None) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(rule, Severity.ERROR, at or self.last, message))
