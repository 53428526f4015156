"""The shapes of a scenario file that types do not say: words that stand for a mapping, and what excludes what."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, get_args

import attrs

from pawl.runtime.records.events import EventKind
from pawl.runtime.simulation.faults import AtBarrier, AtBody
from pawl.runtime.simulation.scenario import (
    REFUSALS,
    AgentDef,
    Answer,
    Approve,
    Do,
    Expected,
    FaultDef,
    FilterDef,
    InputExpected,
    ListenerDef,
    Probed,
    RunExpected,
    Scenario,
    ToolDef,
    UsageExpected,
    Wanted,
    WantedError,
)
from pawl.runtime.simulation.steps import SINGLE, STEPS, Change, Decide, Expect, Fails, Start, Verdict
from pawl.tools.compiler.findings import listed, nearest, quoted, suggest
from pawl.tools.compiler.nodes import Mapping, Node, Scalar, Sequence
from pawl.tools.scenario.reader import INVALID, Hook, Reader, hint_of, keys_of, named, place_of

LANGUAGE: Final = "1"


def read_scenario(reader: Reader, root: Mapping) -> Scenario | None:
    """The scenario that a document holds; None where its findings leave nothing to play."""
    version = next((value for key, value in root.entries if key.text == "scenario"), None)
    if version is None:
        reader.wrong("Y13", root.at, f"the key 'scenario' is missing; start with `scenario: {LANGUAGE}`")
    elif not isinstance(version, Scalar) or version.text != LANGUAGE:
        said = quoted(version.text) if isinstance(version, Scalar) else "this"
        reader.wrong("Y14", version.at, f"the scenario language {said} is not known here; write `scenario: {LANGUAGE}`")
    entries = tuple(entry for entry in root.entries if entry[0].text != "scenario")
    made = reader.made(Scenario, root, entries)
    return made if isinstance(made, Scenario) else None


# definitions ----------------------------------------------------------------------------------------------------------


def _approve(reader: Reader, node: Node) -> Any:
    if isinstance(node, Mapping):
        raises = _only(reader, node, "raises")
        return INVALID if raises is INVALID else _with(reader.text(raises), lambda text: Approve("ask", text))
    return _with(reader.choice(("allow", "ask", "reject"), node), Approve)


def _probed(reader: Reader, node: Node) -> Any:
    if isinstance(node, Mapping):
        found = _only(reader, node, "found")
        return INVALID if found is INVALID else _with(reader.json(found), lambda value: Probed("found", value))
    return _with(reader.choice(("absent", "unknown"), node), Probed)


def _tool(reader: Reader, node: Node) -> Any:
    if _is_nothing(node):
        node = Mapping((), node.at)
    if isinstance(node, Mapping):
        entries = [
            (key, Sequence((value,), value.at) if key.text in ("returns", "probe") and _is_one(value) else value)
            for key, value in node.entries
        ]
        node = Mapping(tuple(entries), node.at)
    made, sound = _record(reader, ToolDef, node)
    if sound:
        _check_tool(reader, node, made)
    return made


def _check_tool(reader: Reader, node: Node, made: ToolDef) -> None:
    if made.returns is not None and made.raises is not None:
        reader.wrong("Y14", node.at, "a tool returns or raises, not both; remove one of the two")
    if made.returns == ():
        reader.wrong("Y14", node.at, "`returns` is empty; name a value, or leave the key out")
    if (made.recovery == "probe") is not bool(made.probe):
        reader.wrong(
            "Y14", node.at, "`recovery: probe` and `probe: [absent, …]` belong together; write both, or neither"
        )
    for name, kind in (made.schema or {}).items():
        if kind not in TYPES:
            reader.wrong(
                "Y14", node.at, f"the type {quoted(kind)} of {quoted(name)} is not known; it is one of {listed(TYPES)}"
            )


TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "any")
"""Types of arguments in `schema`."""


def _filter(reader: Reader, node: Node) -> Any:
    made, sound = _record(reader, FilterDef, node)
    if sound and sum(part is not None for part in attrs.astuple(made, recurse=False)) != 1:
        return reader.wrong(
            "Y14",
            node.at,
            "a filter does one thing; write {block: word}, {replace: {from: a, to: b}} or {raises: words}",
        )
    return made


def _agent(reader: Reader, node: Node) -> Any:
    return reader.record(AgentDef, Mapping((), node.at) if _is_nothing(node) else node)


def _listener(reader: Reader, node: Node) -> Any:
    made, sound = _record(reader, ListenerDef, node)
    if sound and made.raises_on not in _EVENTS:
        advice = suggest(made.raises_on, _EVENTS, f"it is one of {listed(_EVENTS, 20)}")
        return reader.wrong("Y14", node.at, f"no listener is told of {quoted(made.raises_on)}; {advice}")
    return made


_EVENTS: Final = (*map(str, EventKind), "handoff", "parked")


def _answer(reader: Reader, node: Node) -> Any:
    made, sound = _record(reader, Answer, node)
    if not sound:
        return made
    kinds = {
        "text or calls": made.text is not None or bool(made.calls),
        "error": made.error is not None,
        "hang": made.hang,
        "malformed": made.malformed,
        "handoff": made.handoff is not None,
    }
    said = [kind for kind, there in kinds.items() if there]
    if len(said) != 1:
        what = f"{' and '.join(said)} at once" if said else "nothing"
        return reader.wrong("Y14", node.at, f"this answer is {what}; write one of {', '.join(kinds)}")
    if made.chunks and "".join(made.chunks) != (made.text or ""):
        return reader.wrong("Y14", node.at, "the chunks together are not the text; write the text in pieces")
    if made.responsibility is not None and made.handoff is None:
        return reader.wrong("Y14", node.at, "`responsibility` belongs to a `handoff`; add it, or remove the key")
    return made


# faults ---------------------------------------------------------------------------------------------------------------

_DOS: Final = (*get_args(AtBarrier), *get_args(AtBody))
_WITH_MORE: Final = {"refuse": "{refuse: …}", "unavailable": "{unavailable: n}", "unreadable": "{unreadable: n}"}
"""What can say more than its word (`unreadable` need not), and how that is written."""
_PLAIN: Final = tuple(word for word in _DOS if word not in ("refuse", "unavailable"))


def _do(reader: Reader, node: Node) -> Any:
    if not isinstance(node, Mapping):
        return _with(_plain(reader, node), Do)
    if len(node.entries) != 1:
        return reader.wrong("Y13", node.at, f"a fault does one thing; write {' or '.join(_WITH_MORE.values())}")
    key, value = node.entries[0]
    if key.text == "refuse":
        return _with(reader.choice(REFUSALS, value), lambda word: Do("refuse", 0, word))
    if key.text not in ("unavailable", "unreadable"):
        reader.unknown_key(key, _WITH_MORE)
        return INVALID
    kind: Any = key.text
    return _with(reader.positive(value), lambda times: Do(kind, times))


def _plain(reader: Reader, node: Node) -> Any:
    """One of the words that say all of what a fault does."""
    forms = f"{listed(_PLAIN, 20)}, {', '.join(_WITH_MORE.values())}"
    text = reader.text(node, f"one of {forms}")
    if text is INVALID or text in _PLAIN:
        return text
    advice = f"write {_WITH_MORE[text]}" if text in _WITH_MORE else suggest(text, _PLAIN, f"write one of {forms}")
    return reader.wrong("Y14", node.at, f"{quoted(text)} is not possible here; {advice}")


_AT: Final = re.compile(r"([a-z_]+|tool:[A-Za-z0-9_-]+)#([1-9]\d{0,5})")


def _fault(reader: Reader, node: Node) -> Any:
    made, sound = _record(reader, FaultDef, node)
    if not sound:
        return made
    if _AT.fullmatch(made.at) is None:
        return reader.wrong("Y14", node.at, f"{quoted(made.at)} is no place; write BARRIER#n, tool:NAME#n or model#n")
    at_body = made.at.startswith(("tool:", "model#"))
    if at_body is not (made.do.kind in get_args(AtBody)):
        fitting = get_args(AtBody if at_body else AtBarrier)
        return reader.wrong(
            "Y14", node.at, f"{made.do.kind} cannot happen at {made.at}; there it is one of {listed(fitting)}"
        )
    return made


# steps ----------------------------------------------------------------------------------------------------------------


def read_step(reader: Reader, node: Node) -> Any:
    """One step: a mapping of one key."""
    if not isinstance(node, Mapping) or len(node.entries) != 1:
        return reader.wrong(
            "Y13", node.at, f"a step is one key with its value, not a {named(node)}; write `advance: 10s`, say"
        )
    key, value = node.entries[0]
    cls = STEPS.get(key.text)
    if cls is None:
        reader.unknown_key(key, STEPS)
        return INVALID
    more = {"at": place_of(node)}
    if cls is Change:
        return _change(reader, value, more)
    if cls is Expect:
        return _with(reader.read(Expected, value), lambda expected: Expect(expected=expected, **more))
    if cls is Fails:
        return _fails(reader, value, more)
    if cls in SINGLE:
        field = keys_of(cls)[SINGLE[cls]]
        return _with(reader.read(hint_of(cls, field.name), value), lambda found: cls(**{field.name: found}, **more))
    if _is_nothing(value):
        value = Mapping((), value.at)
    made, sound = _record(reader, cls, value, **more)
    if isinstance(made, Start) and not made.name:
        made = attrs.evolve(made, name=f"start-{value.at.line}-{value.at.column}")  # nothing else can speak of it
    return _checked(reader, value, made) if sound else made


def _checked(reader: Reader, node: Node, made: Any) -> Any:
    if isinstance(made, Decide) and (made.approve is None) is not bool(made.items):
        return reader.wrong(
            "Y14", node.at, "`decide` needs `approve` for the whole request, or `items` for some; write one"
        )
    return made


def _change(reader: Reader, node: Node, more: dict[str, Any]) -> Any:
    if not isinstance(node, Mapping):
        return reader.record(Change, node)
    found = {key.text: value for key, value in node.entries}
    if "agent" not in found:
        return reader.wrong("Y13", node.at, "the key 'agent' is missing; add it")
    name = reader.text(found["agent"])
    versions = found.get("compatible_with")
    compatible = reader.read(tuple[int, ...], versions) if versions is not None else ()
    rest = tuple((key, value) for key, value in node.entries if key.text not in ("agent", "compatible_with"))
    to = reader.made(AgentDef, node, rest)
    if INVALID in (name, compatible) or to is INVALID:
        return INVALID
    written = frozenset(found) - {"agent"}
    return Change(agent=name, to=attrs.evolve(to, compatible_with=compatible), written=written, **more)


def _fails(reader: Reader, node: Node, more: dict[str, Any]) -> Any:
    if not isinstance(node, Mapping):
        return reader.record(Fails, node)
    found = {key.text: value for key, value in node.entries}
    for key, _ in node.entries:
        if key.text not in ("step", "with"):
            reader.unknown_key(key, ("step", "with"))
    missing = [key for key in ("step", "with") if key not in found]
    if missing:
        return reader.wrong(
            "Y13", node.at, f"{listed(missing)} is missing; write `fails: {{step: …, with: AgentBusy}}`"
        )
    step, error = read_step(reader, found["step"]), reader.text(found["with"])
    return INVALID if step is INVALID or error is INVALID else Fails(step=step, error=error, **more)


def _verdict(reader: Reader, node: Node) -> Any:
    if not isinstance(node, Mapping):
        return _with(reader.choice(("approve", "reject"), node), Verdict)
    if len(node.entries) != 1:
        return reader.wrong(
            "Y13", node.at, "an item has one answer; write approve, reject, {reject: words} or {edit: {…}}"
        )
    key, value = node.entries[0]
    if key.text == "reject":
        return _with(reader.text(value), lambda text: Verdict("reject", text))
    if key.text == "edit":
        return _with(reader.json(value), lambda edit: Verdict("edit", "", edit))
    reader.unknown_key(key, ("reject", "edit"))
    return INVALID


# expectations ---------------------------------------------------------------------------------------------------------


def _wanted(reader: Reader, node: Node) -> Any:
    includes = isinstance(node, Mapping)
    if isinstance(node, Mapping):
        node = _only(reader, node, "includes")
        if node is INVALID:
            return INVALID
    found = reader.read(tuple[str, ...], node)
    if includes and found == ():
        return reader.wrong(
            "Y14", node.at, "every list includes nothing; write what it must include, or remove the key"
        )
    return _with(found, lambda items: Wanted(items, includes))


def _error(reader: Reader, node: Node) -> Any:
    if isinstance(node, Mapping):
        return reader.record(WantedError, node)
    return _with(reader.text(node, "an error class"), WantedError)


def _expected(reader: Reader, node: Node) -> Any:
    if not isinstance(node, Mapping):
        return reader.record(Expected, node)
    keys = keys_of(Expected).keys() - {"runs"}
    known = tuple(entry for entry in node.entries if entry[0].text in keys)
    runs: dict[str, RunExpected] = {}
    for key, value in node.entries:
        if key.text not in keys:
            before = len(reader.findings)
            found = reader.read(RunExpected, value)
            if len(reader.findings) > before and _is_no_run(reader, key, keys, before):
                continue
            if found is not INVALID:
                runs[key.text] = found
    made = reader.made(Expected, node, known, runs=runs)
    for attempts in made.model_input.values() if isinstance(made, Expected) else ():
        for number in attempts:
            if not re.fullmatch(r"[1-9]\d{0,5}", number):
                reader.wrong("Y14", node.at, f"{quoted(number)} is no attempt; write a number from 1")
    return made


def _is_no_run(reader: Reader, key: Scalar, keys: Collection[str], before: int) -> bool:
    """Whether what cannot be read as what is expected of a run is rather a key at the wrong place, or a misspelt one.
    That is said then, and not what is wrong with the run.
    """
    if key.text in keys_of(RunExpected):
        wrong = f"the key {quoted(key.text)} belongs to a run here; write `RUN: {{{key.text}: …}}`"
    elif (near := nearest(key.text, keys)) is not None:
        wrong = f"unknown key {quoted(key.text)}; did you mean {quoted(near)}?"
    else:
        return False
    del reader.findings[before:]
    reader.wrong("Y12", key.at, wrong)
    return True


HOOKS: Final[dict[type, Hook]] = {
    Approve: _approve,
    Probed: _probed,
    ToolDef: _tool,
    FilterDef: _filter,
    ListenerDef: _listener,
    AgentDef: _agent,
    Answer: _answer,
    Do: _do,
    FaultDef: _fault,
    Verdict: _verdict,
    Wanted: _wanted,
    WantedError: _error,
    Expected: _expected,
}


SPOKEN: Final = (Expected, RunExpected, UsageExpected, InputExpected, WantedError)
"""Where a null that says nothing would pass for an expectation."""


def _record(reader: Reader, cls: type[Any], node: Node, **more: Any) -> tuple[Any, bool]:
    """An object of `cls`, and whether nothing in it was refused, so that it is worth a look as a whole."""
    before = len(reader.findings)
    made = reader.record(cls, node, **more)
    return made, isinstance(made, cls) and len(reader.findings) == before


def _only(reader: Reader, node: Mapping, key: str) -> Any:
    """The value of a mapping's only key."""
    for written, _ in node.entries:
        if written.text != key:
            reader.unknown_key(written, (key,))
            return INVALID
    if not node.entries:
        return reader.wrong("Y13", node.at, f"the key {quoted(key)} is missing; add it")
    return node.entries[0][1]


def _with(found: Any, make: Any) -> Any:
    return INVALID if found is INVALID else make(found)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and not node.text


def _is_one(node: Node) -> bool:
    return not isinstance(node, Sequence)
