"""Nodes to values, led by the types of the fields: every wrong key, shape and scalar is found in one pass."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Callable, Collection
from enum import Enum
from typing import Annotated, Any, Final, Literal

import attrs

from pawl.runtime.simulation.scenario import Place, Spelled
from pawl.tools.compiler.findings import MOST_FINDINGS, Finding, Severity, listed, nearest, quoted, suggest
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.nodes import Mapping, Node, Scalar, Sequence

Hook = Callable[["Reader", Node], Any]


class _Invalid:
    """The value of a node that was refused; its finding is noted already."""


INVALID: Final[Any] = _Invalid()

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_LONGEST_NUMBER: Final = 400


class Reader:
    """One pass over one document. Reading never raises: it notes a finding and answers INVALID.

    `hooks` read classes that have a shape of their own in a file, `whatever` what has the type Any: steps. In what is
    `spoken` a null is refused that does not say anything: it would pass for an expectation.
    """

    def __init__(self, hooks: dict[type, Hook], whatever: Hook, spoken: Collection[type] = ()) -> None:
        self.findings: list[Finding] = []
        self._hooks, self._whatever, self._spoken = hooks, whatever, spoken

    # values by type -----------------------------------------------------------------------------------------

    def read(self, kind: Any, node: Node) -> Any:
        """What stands at `node`, as a value of `kind`."""
        origin = typing.get_origin(kind)
        if origin is Annotated:
            return self._spelled(typing.get_args(kind)[1], node)
        if origin in (types.UnionType, typing.Union):
            return self._optional(kind, node)
        if origin is Literal:
            return self.choice(typing.get_args(kind), node)
        if origin is tuple:
            return self._many(typing.get_args(kind)[0], node)
        if origin is dict:
            return self._table(typing.get_args(kind)[1], node)
        if kind is Any:
            return self._whatever(self, node)
        if kind in self._hooks:
            return self._hooks[kind](self, node)
        if attrs.has(kind):
            return self.record(kind, node)
        leaves: dict[Any, Callable[[Node], Any]] = {str: self.text, int: self._whole, bool: self._flag}
        return leaves[kind](node)

    def _spelled(self, how: Spelled, node: Node) -> Any:
        if how is Spelled.JSON:
            return self.json(node)
        return self._duration(node) if how is Spelled.DURATION else self._whole(node, 1)

    def _optional(self, kind: Any, node: Node) -> Any:
        if _is_null(node):
            return None
        members = [part for part in typing.get_args(kind) if part is not types.NoneType and not _is_mark(part)]
        return self.read(members[0], node)

    def text(self, node: Node, what: str = "text") -> Any:
        """A text."""
        if isinstance(node, Scalar):
            return node.text
        return self.wrong("Y13", node.at, f"{what} belongs here, not a {named(node)}; write it without brackets")

    def choice(self, words: tuple[str, ...], node: Node) -> Any:
        """One of some words."""
        text = self.text(node, f"one of {listed(words)}")
        if text is INVALID or text in words:
            return text
        advice = suggest(text, words, f"write one of {listed(words, 20)}")
        return self.wrong("Y14", node.at, f"{quoted(text)} is not possible here; {advice}")

    def positive(self, node: Node) -> Any:
        """A whole number from 1."""
        return self._whole(node, 1)

    def _whole(self, node: Node, least: int = 0) -> Any:
        text = self.text(node, "a whole number")
        if text is INVALID:
            return text
        if not re.fullmatch(r"\d{1,9}", text) or int(text) < least:
            return self.wrong("Y14", node.at, f"{quoted(text)} is not possible; write a whole number from {least}")
        return int(text)

    def _flag(self, node: Node) -> Any:
        text = self.choice(("true", "false"), node)
        return text if text is INVALID else text == "true"

    def _duration(self, node: Node) -> Any:
        text = self.text(node, "a duration")
        if text is INVALID:
            return text
        found = _DURATION.fullmatch(text)
        if found is None or len(text) > 20:
            return self.wrong("Y14", node.at, f"{quoted(text)} is no duration; write 200ms, 5s, 1m or 2h")
        return float(found[1]) * _UNITS[found[2]]

    def json(self, node: Node) -> Any:
        """JSON data: plain scalars that JSON knows are numbers, true, false and null; the rest is text."""
        if isinstance(node, Sequence):
            items = [self.json(item) for item in node.items]
            return INVALID if INVALID in items else items
        if isinstance(node, Mapping):
            made = {key.text: self.json(value) for key, value in node.entries}
            return INVALID if INVALID in made.values() else made
        return _scalar(node.text) if node.plain else node.text

    # lists, tables and records ------------------------------------------------------------------------------

    def _many(self, kind: Any, node: Node) -> Any:
        if not isinstance(node, Sequence):
            return self.wrong("Y13", node.at, f"a list belongs here, not a {named(node)}; write [a, b], or dashes")
        found = [self.read(kind, item) for item in node.items]
        return tuple(item for item in found if item is not INVALID)

    def _table(self, kind: Any, node: Node) -> Any:
        if not isinstance(node, Mapping):
            return self.wrong("Y13", node.at, f"a mapping belongs here, not a {named(node)}; write name: value")
        found = {key.text: self.read(kind, value) for key, value in node.entries}
        return {key: value for key, value in found.items() if value is not INVALID}

    def record(self, cls: type[Any], node: Node, **more: Any) -> Any:
        """An object of `cls`; `more` are fields that are known already."""
        if not isinstance(node, Mapping):
            keys = listed(keys_of(cls), 40) or "none"
            return self.wrong("Y13", node.at, f"a mapping belongs here, not a {named(node)}; its keys are {keys}")
        return self.made(cls, node, node.entries, **more)

    def made(self, cls: type[Any], node: Mapping, entries: tuple[tuple[Scalar, Node], ...], **more: Any) -> Any:
        """The same from some entries of `node`; INVALID where a field that must be there is missing or refused."""
        fields = keys_of(cls)
        hints = typing.get_type_hints(cls, include_extras=True)
        made, sound = dict(more), True
        for key, value in entries:
            field = fields.get(key.text)
            if field is None:
                self.unknown_key(key, fields)
                continue
            if cls in self._spoken and _is_null(value) and not _says_null(hints[field.name]):
                said = f"nothing is compared here; write what {quoted(key.text)} must be, or remove the key"
                found = self.wrong("Y14", value.at, said)
            else:
                found = self.read(hints[field.name], value)
            if found is not INVALID:
                made[field.name] = found
            sound = sound and (found is not INVALID or field.default is not attrs.NOTHING)
        written = {key.text for key, _ in entries}
        missing = [
            key
            for key, field in fields.items()
            if field.default is attrs.NOTHING and key not in written and field.name not in made
        ]
        if missing:
            at = entries[0][0].at if entries else node.at
            key_is = "the key {} is missing; add it" if len(missing) == 1 else "the keys {} are missing; add them"
            return self.wrong("Y13", at, key_is.format(listed(missing)))
        for place in ("at", "place"):
            if place in attrs.fields_dict(cls) and place not in made and hints[place] == Place | None:
                made[place] = place_of(node)
        return cls(**made) if sound else INVALID

    # findings -----------------------------------------------------------------------------------------------

    def unknown_key(self, key: Scalar, known: typing.Collection[str]) -> None:
        """Note a key that has no meaning here."""
        meant = nearest(key.text, known)
        advice = f"did you mean {quoted(meant)}?" if meant else f"the keys here are {listed(known, 40)}"
        if not known:
            advice = "nothing belongs here; remove it"
        self.wrong("Y12", key.at, f"unknown key {quoted(key.text)}; {advice}")

    def wrong(self, rule: str, at: Position, message: str) -> Any:
        """Note a finding; INVALID."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(rule, Severity.ERROR, at, message))
        return INVALID


def keys_of(cls: type[Any]) -> dict[str, attrs.Attribute[Any]]:
    """The fields of a class by the key that they have in a file."""
    keys: dict[str, attrs.Attribute[Any]] = {}
    for field in attrs.fields(cls):
        key = field.metadata.get("key", field.name)
        if key is not None and field.init:
            keys[key] = field
    return keys


def hint_of(cls: type[Any], name: str) -> Any:
    """The type of a field."""
    return typing.get_type_hints(cls, include_extras=True)[name]


def place_of(node: Node) -> Place:
    """Where a node stands, for what is said of it later."""
    return Place(node.at.file, node.at.line, node.at.column)


def named(node: Node) -> str:
    """What kind of node it is, in words."""
    return "list" if isinstance(node, Sequence) else "mapping" if isinstance(node, Mapping) else "single value"


def _scalar(text: str) -> Any:
    if text in ("", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    return json.loads(text) if _NUMBER.fullmatch(text) and len(text) < _LONGEST_NUMBER else text


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.text in ("null", "")


def _says_null(kind: Any) -> bool:
    """Whether null is something that can be expected there, which leaving the key out is not."""
    return any(map(_is_mark, typing.get_args(kind)))


def _is_mark(kind: Any) -> bool:
    """Whether it is `Literal[UNWRITTEN]`, which no file can say."""
    return typing.get_origin(kind) is Literal and isinstance(typing.get_args(kind)[0], Enum)
