"""Nodes to spec classes with cattrs: every wrong key, shape and value is found in one pass, none is guessed at."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, TypeVar

import attrs
import cattrs

from pawl.runtime.fsm.table import Resume
from pawl.tools.compiler.findings import MOST_FINDINGS, Finding, Severity, listed, nearest, quoted, suggest
from pawl.tools.compiler.model import Position
from pawl.tools.compiler.names import is_reference
from pawl.tools.compiler.nodes import Document, Mapping, Node, Scalar, Sequence
from pawl.tools.compiler.spec import (
    LANGUAGE,
    Authority,
    BindSpec,
    CheckSpec,
    File,
    Fragment,
    GroupSpec,
    Hash,
    MethodSpec,
    MoveSpec,
    Name,
    Names,
    Part,
    Reference,
    Spec,
    Text,
    UseSpec,
    keys,
)

WHOLE = "[1-9][0-9]{0,8}"
"""A whole number from 1 up, as text."""

HASH = "[0-9a-f]{12,64}"
"""The hash of a spec, or how it begins: what pawl shows of it, or more."""

T = TypeVar("T")


class _Invalid:
    """The value of a node that was refused; its finding is noted already."""


_INVALID: Final = _Invalid()


@attrs.frozen
class _Entry:
    """A mapping entry on its way to a class that takes its name from the key."""

    key: Scalar
    value: Node


def structure(document: Document) -> tuple[Part | None, tuple[Finding, ...]]:
    """The machine or fragment in `document`, and what is wrong with its form. None when too little of it is usable."""
    if document.root is None:
        return None, ()
    structurer = Structurer(torn=bool(document.findings))
    part = structurer.read(document.root)
    return part, tuple(structurer.findings)


class Structurer:
    """One pass over one document. Hooks never raise: they note a finding and answer `_INVALID`.

    `torn`: parts of the document were refused already, so a key that is missing may have been there.
    """

    def __init__(self, torn: bool = False) -> None:
        self._torn = torn
        self.findings: list[Finding] = []
        self._converter = cattrs.Converter(detailed_validation=False)
        hook = self._converter.register_structure_hook
        for leaf in (Name, Text, Reference, File, Hash, bool, int, Resume, Authority, Severity, MethodSpec):
            hook(leaf, getattr(self, f"_{leaf.__name__.lower()}"))
        self._converter.register_structure_hook_func(lambda kind: kind == Names, self._names)
        self._converter.register_structure_hook_factory(_is_optional, self._optional)
        self._converter.register_structure_hook_factory(_is_table, self._table)
        self._converter.register_structure_hook_factory(_is_list, self._list)
        self._converter.register_structure_hook_factory(
            lambda kind: attrs.has(kind) and not issubclass(kind, (Scalar, MethodSpec)), self._class
        )

    def read(self, root: Mapping) -> Part | None:
        """The whole file: a fragment where it says so, else a machine."""
        heads = {key.text: key for key, _ in root.entries if key.text in ("machine", "fragment")}
        if len(heads) == 2:
            message = "a file holds a machine or a fragment, not both; remove one of the two, or make it two files"
            self._wrong("Y15", max(heads.values(), key=lambda key: (key.at.line, key.at.column)).at, message)
            return None
        found = self._converter.structure(root, Fragment if "fragment" in heads else Spec)
        if not isinstance(found, Part):
            return None
        if found.pawl != LANGUAGE:
            at = next((value.at for key, value in root.entries if key.text == "pawl"), root.at)
            message = f"the spec language {found.pawl} is not known here; write `pawl: {LANGUAGE}`, or update pawl"
            self._wrong("Y14", at, message)
        return found

    # -- leaves ------------------------------------------------------------------------------------------------

    def _name(self, node: Node, _: type) -> Name | _Invalid:
        scalar = self._scalar(node, "one name")
        return Name(scalar.text, scalar.at, scalar.plain) if scalar else _INVALID

    def _text(self, node: Node, _: type) -> Text | _Invalid:
        scalar = self._scalar(node, "text")
        return Text(scalar.text, scalar.at, scalar.plain) if scalar else _INVALID

    def _file(self, node: Node, _: type) -> File | _Invalid:
        scalar = self._scalar(node, "the path of a file")
        return File(scalar.text, scalar.at, scalar.plain) if scalar else _INVALID

    def _hash(self, node: Node, _: type) -> Hash | _Invalid:
        scalar = self._scalar(node, "the hash of a spec")
        if scalar is None:
            return _INVALID
        if not re.fullmatch(HASH, scalar.text):
            message = f"{quoted(scalar.text)} is not the hash of a spec; write its first 12 characters, or more"
            return self._wrong("Y14", scalar.at, message)
        return Hash(scalar.text, scalar.at, scalar.plain)

    def _reference(self, node: Node, _: type) -> Reference | _Invalid:
        scalar = self._scalar(node, "`package.module:Class`")
        if scalar is None:
            return _INVALID
        if not is_reference(scalar.text):
            return self._wrong("Y14", scalar.at, f"{quoted(scalar.text)} is not a class; write `package.module:Class`")
        return Reference(scalar.text, scalar.at, scalar.plain)

    def _bool(self, node: Node, _: type) -> bool | _Invalid:
        scalar = self._scalar(node, "`true` or `false`")
        if scalar is None:
            return _INVALID
        if scalar.text not in ("true", "false"):
            self._wrong("Y14", scalar.at, f"{quoted(scalar.text)} is not a flag; write `true` or leave the key out")
        return scalar.text.lower() in ("true", "yes", "on", "y", "1")

    def _int(self, node: Node, _: type) -> int | _Invalid:
        scalar = self._scalar(node, "a whole number")
        if scalar is None:
            return _INVALID
        if not re.fullmatch(WHOLE, scalar.text):
            return self._wrong(
                "Y14", scalar.at, f"{quoted(scalar.text)} is not a version; write a whole number from 1 up"
            )
        return int(scalar.text)

    def _resume(self, node: Node, _: type) -> Any:
        return self._choice(node, Resume)

    def _authority(self, node: Node, _: type) -> Any:
        return self._choice(node, Authority)

    def _severity(self, node: Node, _: type) -> Any:
        return self._choice(node, Severity)

    def _choice(self, node: Node, kind: type[StrEnum]) -> Any:
        words = [str(member) for member in kind]
        scalar = self._scalar(node, f"one of {listed(words)}")
        if scalar is None:
            return _INVALID
        if scalar.text not in words:
            advice = suggest(scalar.text, words, f"write one of {listed(words)}")
            return self._wrong("Y14", scalar.at, f"{quoted(scalar.text)} is not possible here; {advice}")
        return kind(scalar.text)

    def _scalar(self, node: Node, wanted: str) -> Scalar | None:
        if isinstance(node, Scalar):
            return node
        what = "list" if isinstance(node, Sequence) else "mapping"
        self._wrong("Y13", node.at, f"{wanted} belongs here, not a {what}; write it without brackets")
        return None

    # -- lists, tables and classes -------------------------------------------------------------------------------

    def _names(self, node: Node, _: type) -> Names | _Invalid:
        """One name, or a list of names."""
        if isinstance(node, Mapping):
            return self._wrong("Y13", node.at, "a name or a list of names belongs here, not a mapping; write [a, b]")
        items = node.items if isinstance(node, Sequence) else (node,)
        if not items:
            return self._wrong("Y14", node.at, "an empty list; name something or leave the key out")
        found = (self._name(item, Name) for item in items)
        return tuple(name for name in found if isinstance(name, Name))

    def _methodspec(self, node: Any, _: type) -> MethodSpec | _Invalid:
        """`name: text`, the text may be left out."""
        value = self._scalar(node.value, "text that says what it does")
        if value is None:
            return _INVALID
        doc = Text(value.text, value.at, value.plain) if value.text else None
        return MethodSpec(at=node.key.at, name=_named(node.key), doc=doc)

    def _optional(self, kind: Any) -> Callable[[Node, Any], Any]:
        inner = next(argument for argument in typing.get_args(kind) if argument is not types.NoneType)
        return lambda node, _: self._converter.structure(node, inner)

    def _list(self, kind: Any) -> Callable[[Node, Any], Any]:
        inner = typing.get_args(kind)[0]

        def read(node: Node, _: Any) -> Any:
            if _is_nothing(node):
                return ()
            if isinstance(node, ALONE.get(inner, ())):
                node = Sequence((node,), node.at)
            if not isinstance(node, Sequence):
                return self._wrong("Y13", node.at, "a list belongs here; start each item with a dash")
            found = [self._converter.structure(item, inner) for item in node.items]
            return tuple(item for item in found if item is not _INVALID)

        return read

    def _table(self, kind: Any) -> Callable[[Node, Any], Any]:
        inner = typing.get_args(kind)[1]

        def read(node: Node, _: Any) -> Any:
            if _is_nothing(node):
                return {}
            if not isinstance(node, Mapping):
                return self._wrong("Y13", node.at, "a mapping belongs here; write `name: …` for each entry")
            found = {key.text: self._converter.structure(_Entry(key, value), inner) for key, value in node.entries}
            return {key: value for key, value in found.items() if value is not _INVALID}

        return read

    def _class(self, cls: type[Any]) -> Callable[[Any, Any], Any]:
        fields = keys(cls)
        named = any(a.name == "name" for a in attrs.fields(cls))
        single = SINGLE.get(cls)
        short = self._use if cls is UseSpec else None

        def read(node: Any, _: Any) -> Any:
            made: dict[str, Any] = {"at": node.at if not named else node.key.at}
            if named:
                made["name"] = _named(node.key)
                node = node.value
            if single is not None:
                made[single] = self._converter.structure(node, fields[single].type)
                return _INVALID if made[single] is _INVALID else cls(**made)
            if _is_nothing(node) and named:
                node = Mapping((), node.at)
            if short is not None and isinstance(node, Scalar):
                return short(node)
            if not isinstance(node, Mapping):
                self._wrong("Y13", node.at, f"a mapping belongs here; its keys are {listed(fields, 30)}")
                if not named:
                    return _INVALID
                node = Mapping((), node.at)  # its name is known, so what uses it can be checked
            self._fill(made, node, fields)
            return _made(cls, made, fields)

        return read

    def _fill(self, made: dict[str, Any], node: Mapping, fields: typing.Mapping[str, Any]) -> None:
        """Every entry of `node` into `made`; a mistyped key is read as the one that was meant, where that is free."""
        written = {key.text for key, _ in node.entries}
        for key, value in node.entries:
            word = key.text if key.text in fields else self._unknown(key, value, fields, written)
            if word is not None:
                written.add(word)
                found = self._converter.structure(value, fields[word].type)
                if found is not _INVALID:
                    made[fields[word].name] = found
        absent = [word for word, a in fields.items() if a.default is attrs.NOTHING and word not in written]
        if absent and not self._torn:
            at = made["name"].at if "name" in made else (node.entries[0][0].at if node.entries else node.at)
            key_is = "the key {} is missing; add it" if len(absent) == 1 else "the keys {} are missing; add them"
            self._wrong("Y13", at, key_is.format(listed(absent)))

    def _unknown(self, key: Scalar, value: Node, fields: typing.Mapping[str, Any], written: set[str]) -> str | None:
        if _is_nothing(value) and " " in key.text:
            self._wrong("Y12", key.at, f"unknown key {quoted(key.text)}; put quotes around a text with a comma")
            return None
        meant = nearest(key.text, fields) if len(self.findings) < MOST_FINDINGS else None
        advice = f"did you mean {quoted(meant)}?" if meant else f"the keys here are {listed(fields, 30)}"
        self._wrong("Y12", key.at, f"unknown key {quoted(key.text)}; {advice}")
        return meant if meant is not None and meant not in written else None

    def _use(self, scalar: Scalar) -> UseSpec | _Invalid:
        """`FRAGMENT as PREFIX`, or `FRAGMENT` alone."""
        found = re.fullmatch(r"(\S+)(?: +as +(\S+))?", scalar.text)
        if found is None:
            message = f"{quoted(scalar.text)} uses nothing; write `FRAGMENT as PREFIX`, or a mapping with `with`"
            return self._wrong("Y14", scalar.at, message)

        def name(group: int) -> Name:
            column = scalar.at.column + found.start(group) + (0 if scalar.plain else 1)
            return Name(found[group], attrs.evolve(scalar.at, column=column), scalar.plain)

        return UseSpec(at=scalar.at, fragment=name(1), prefix=name(2) if found[2] is not None else None)

    def _wrong(self, rule: str, at: Position, message: str) -> _Invalid:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(rule, Severity.ERROR, at, message))
        return _INVALID


SINGLE: dict[type, str] = {GroupSpec: "members", CheckSpec: "severity", BindSpec: "value", MoveSpec: "value"}
"""Classes whose value is not a mapping but this one field."""

ALONE: dict[type, tuple[type, ...]] = {Authority: (Scalar,), File: (Scalar,), UseSpec: (Scalar, Mapping)}
"""What may stand alone, for a list of one."""


def _named(key: Scalar) -> Name:
    return Name(key.text, key.at, key.plain)


def _made(cls: type[Any], made: dict[str, Any], fields: typing.Mapping[str, Any]) -> Any:
    """The object, with a stand-in for what was refused where checking the rest is worth it."""
    for attribute in fields.values():
        if attribute.name not in made and attribute.default is attrs.NOTHING:
            if "fallback" not in attribute.metadata:
                return _INVALID
            value = attribute.metadata["fallback"]
            made[attribute.name] = Name(value, made["at"]) if isinstance(value, str) else value
    return cls(**made)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and not node.text


def _is_optional(kind: Any) -> bool:
    return types.NoneType in typing.get_args(kind)


def _is_table(kind: Any) -> bool:
    return typing.get_origin(kind) is dict


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is tuple and kind != Names
