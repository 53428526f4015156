"""A small reader of flat SCXML machines, as far as a machine of names can carry one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from corpora.making import Built, written
from corpora.naming import names

_CARRIED = {"scxml", "state", "final", "transition", "log", "onentry", "onexit", "initial"}


class NotCarried(Exception):
    """The machine needs more than names: its own data, code, events raised inside, states within states."""


def read(path: Path, sent: list[str]) -> Built:
    """The machine in `path` as a spec, for the events that will be `sent` to it. Raises NotCarried."""
    root = ET.parse(path).getroot()
    tags = {_tag(node) for node in root.iter()}
    if not tags <= _CARRIED:
        raise NotCarried(", ".join(sorted(tags - _CARRIED)))
    nodes = [node for node in root if _tag(node) in ("state", "final")]
    if any(_tag(child) in ("state", "final") for node in nodes for child in node):
        raise NotCarried("states within states")
    initial = _initial(root, nodes)
    ways = [(node, way) for node in nodes for way in node if _tag(way) == "transition"]
    if any(way.get("cond", "true") != "true" for _, way in ways):
        raise NotCarried("conditions in code")
    states = names([str(node.get("id")) for node in nodes], "s")
    events = names([*sent, *(t for _, way in ways for t in _exact(way))], "e")
    rows: list[dict[str, Any]] = []
    for node, way in ways:
        row: dict[str, Any] = {"from": states[str(node.get("id"))]}
        row |= {"to": states[target]} if (target := way.get("target")) is not None else {}
        if way.get("event") is not None:
            row["on"] = [events[event] for event in events if _matches(str(way.get("event")), event)]
        rows.append(row)
    automatic = {row["from"] for row in rows if "on" not in row}
    declared = {
        name: {"label": text}
        | ({"initial": True} if text == initial else {})
        | ({"auto": True} if name in automatic else {})
        | ({"final": True} if any(_tag(node) == "final" for node in nodes if node.get("id") == text) else {})
        for text, name in states.items()
    }
    told = {name: {"label": text} for text, name in events.items()}
    unhandled = {"unhandled": {"ignore": "*"}} if events else {}
    return Built(written(declared, told, [row for row in rows if row.get("on", True)], **unhandled), states, events)


def _initial(root: ET.Element, nodes: list[ET.Element]) -> str:
    named = root.get("initial")
    inner = next((way.get("target") for node in root if _tag(node) == "initial" for way in node), None)
    return str(named or inner or nodes[0].get("id"))


def _exact(way: ET.Element) -> list[str]:
    return [word for word in str(way.get("event") or "").split() if not word.endswith("*")]


def _matches(descriptor: str, event: str) -> bool:
    """Whether an event is meant by a list of names, each standing for itself and whatever goes on after a dot."""
    words = [word.removesuffix(".*") for word in descriptor.split()]
    return any(word in ("*", event) or event.startswith(f"{word}.") for word in words)


def _tag(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else "comment"
