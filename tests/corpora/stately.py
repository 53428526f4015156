"""A small reader of flat machines that a visual editor exported as JSON (XState)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from corpora.making import Built, written
from corpora.naming import names


@attrs.frozen
class Way:
    """One transition; `source` None is every state, `event` None is automatic."""

    source: str | None
    event: str | None
    target: str | None
    guard: str | None
    actions: tuple[str, ...]


@attrs.frozen
class Drawn:
    """A machine as its file has it; timers are by state: how long, as it was written."""

    initial: str
    states: dict[str, dict[str, Any]]
    ways: tuple[Way, ...]
    timers: dict[str, str]

    def events(self) -> list[str]:
        """The events, each once."""
        return list(dict.fromkeys(way.event for way in self.ways if way.event is not None))


def read(path: Path) -> Drawn:
    """The machine in the file at `path`."""
    data = json.loads(path.read_text(encoding="utf-8"))
    states: dict[str, dict[str, Any]] = data["states"]
    ways = [*_ways(None, data, states)]
    timers = {}
    for name, state in states.items():
        ways += _ways(name, state, states)
        if state.get("after"):
            (timers[name],) = state["after"]
    every = next((way for way in ways if way.event == "*"), None)
    if every is not None:
        known = dict.fromkeys(way.event for way in ways if way.event not in (None, "*"))
        ways = [way for way in ways if way is not every] + [attrs.evolve(every, event=event) for event in known]
    return Drawn(data["initial"], states, tuple(ways), timers)


def build(drawn: Drawn) -> Built:
    """A spec, every name of the file in a label or a text."""
    states, events = names(drawn.states, "s"), names(drawn.events(), "e")
    guards = names((way.guard for way in drawn.ways if way.guard is not None), "if", always=True)
    entries = {name: _types(state.get("entry")) for name, state in drawn.states.items()}
    used = [action for way in drawn.ways for action in way.actions] + [a for each in entries.values() for a in each]
    actions = names(used, "do", always=True)
    declared = {}
    for text, name in states.items():
        state = drawn.states[text]
        flags = {"initial": text == drawn.initial, "final": state.get("type") == "final", "auto": "always" in state}
        declared[name] = {"label": text, **{flag: True for flag, on in flags.items() if on}}
        if entries[text]:
            declared[name]["enter"] = list(dict.fromkeys(actions[each] for each in entries[text]))
        if text in drawn.timers:
            declared[name]["after"] = {"delay": f"wait_{name}"[:64], "on": events[_due(text, drawn.timers[text])]}
    rows = []
    for way in drawn.ways:
        row: dict[str, Any] = {"from": states[way.source] if way.source is not None else "*"}
        row |= {"on": events[way.event]} if way.event is not None else {}
        row |= {"to": states[way.target]} if way.target is not None else {}
        row |= {"when": guards[way.guard]} if way.guard is not None else {}
        row |= {"do": list(dict.fromkeys(actions[each] for each in way.actions))} if way.actions else {}
        rows.append(row)
    told = {name: {"label": text} for text, name in events.items()}
    lists = {
        "guards": {name: text for text, name in guards.items()},
        "actions": {n: text for text, n in actions.items()},
    }
    text = written(declared, told, rows, **lists, **({"unhandled": {"ignore": "*"}} if events else {}))
    return Built(text, states, events)


def _ways(source: str | None, node: dict[str, Any], states: dict[str, Any]) -> Iterator[Way]:
    for event, found in (node.get("on") or {}).items():
        yield from _each(source, event, found, states)
    for place, invoked in enumerate(_list(node.get("invoke"))):
        actor = invoked.get("id") or f"{source}:{place}"
        for key in ("onDone", "onError"):
            yield from _each(source, f"{key} {actor}", invoked.get(key), states)
    for delay, found in (node.get("after") or {}).items():
        yield from _each(source, _due(str(source), delay), found, states)
    yield from _each(source, None, node.get("always"), states)


def _each(source: str | None, event: str | None, found: Any, states: dict[str, Any]) -> Iterator[Way]:
    for way in _list(found):
        target = way if isinstance(way, str) else way.get("target")
        if target is not None and target not in states:
            target = next(name for name in states if target.endswith(f".{name}"))  # `.name`, or `#machine.name`
        rest = way if isinstance(way, dict) else {}
        guard = rest.get("guard")
        guard = guard["type"] if isinstance(guard, dict) else guard
        yield Way(source, event, target, guard, _types(rest.get("actions")))


def _list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _types(value: Any) -> tuple[str, ...]:
    return tuple(each if isinstance(each, str) else each["type"] for each in _list(value))


def _due(state: str, delay: str) -> str:
    return f"{delay} after {state}"
