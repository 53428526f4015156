"""Scenarios as the text of a scenario file: what a failure is printed as, and what reads back as the same value."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from pawl.runtime.simulation.scenario import (
    UNWRITTEN,
    Approve,
    Do,
    Expected,
    Probed,
    Scenario,
    Spelled,
    ToolDef,
    Wanted,
    WantedError,
)
from pawl.runtime.simulation.steps import SINGLE, STEPS, Change, Expect, Fails, Verdict

_WIDTH: Final = 110
_DURATION: Final = re.compile(r"\d+(?:ms|s|m|h)")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")


def scenario_text(scenario: Scenario) -> str:
    """The scenario as a document of a file, beginning with `scenario: 1`."""
    data = {"scenario": 1, **_fields(scenario)}
    return "\n".join(_block(data, 0)) + "\n"


def step_text(step: Any) -> str:
    """A step as one line of a file says it."""
    return _flow(_step(step))[1:-1]


# values to data -------------------------------------------------------------------------------------------------------


def _data(value: Any, hint: Any = None) -> Any:
    """What a file says of a value."""
    if isinstance(value, float) and _is_duration(hint):
        return duration(value)
    special = _SPECIAL.get(type(value))
    if special is not None:
        return special(value)
    if type(value) in _WORDS:
        return _step(value)
    if attrs.has(type(value)):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _data(item) for key, item in value.items()}
    return [_data(item) for item in value] if isinstance(value, tuple | list) else value


def _fields(value: Any) -> dict[str, Any]:
    hints = _hints(type(value))
    said: dict[str, Any] = {}
    for field in attrs.fields(type(value)):
        key, found = field.metadata.get("key", field.name), getattr(value, field.name)
        if key is not None and found is not UNWRITTEN and found != _default(field, value):
            said[key] = _data(found, hints[field.name])
    return said


def _default(field: attrs.Attribute[Any], value: Any) -> Any:
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class, whatever its stub says
        return default.factory(value) if default.takes_self else default.factory()
    return default


_KNOWN: Final[dict[type, dict[str, Any]]] = {}


def _hints(cls: type[Any]) -> dict[str, Any]:
    if cls not in _KNOWN:
        _KNOWN[cls] = typing.get_type_hints(cls, include_extras=True)
    return _KNOWN[cls]


def _is_duration(hint: Any) -> bool:
    return Spelled.DURATION in getattr(hint, "__metadata__", ()) or any(map(_is_duration, typing.get_args(hint)))


def duration(seconds: float) -> str:
    """`5s`, or `200ms` where it is no whole number of seconds."""
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{round(seconds * 1000, 6):g}ms"


def _tool(tool: ToolDef) -> dict[str, Any]:
    said = _fields(tool)
    if tool.returns is not None and len(tool.returns) == 1 and not isinstance(tool.returns[0], list):
        said["returns"] = tool.returns[0]
    return said


def _do(do: Do) -> Any:
    if do.refusal is not None:
        return {"refuse": do.refusal}
    return {do.kind: do.times} if do.times else do.kind


def _verdict(verdict: Verdict) -> Any:
    if verdict.kind == "edit":
        return {"edit": verdict.edit}
    return {verdict.kind: verdict.message} if verdict.message else verdict.kind


def _expected(expected: Expected) -> dict[str, Any]:
    said = _fields(expected)
    return {**said.pop("runs", {}), **said}


def _step(step: Any) -> dict[str, Any]:
    if isinstance(step, Change):
        to = {name: getattr(step.to, name) for name in sorted(step.written)}
        hints = _hints(type(step.to))
        return {step.word: {"agent": step.agent, **{name: _data(value, hints[name]) for name, value in to.items()}}}
    if isinstance(step, Expect):
        return {step.word: _expected(step.expected)}
    if isinstance(step, Fails):
        return {step.word: {"step": _step(step.step), "with": step.error}}
    if type(step) in SINGLE:
        name = SINGLE[type(step)]
        return {step.word: _data(getattr(step, name), _hints(type(step))[name])}
    return {step.word: _fields(step)}


_WORDS: Final = frozenset(STEPS.values())
_SPECIAL: Final[dict[type, Callable[[Any], Any]]] = {
    Approve: lambda made: made.rule if made.raises is None else {"raises": made.raises},
    Probed: lambda made: {"found": made.found} if made.kind == "found" else made.kind,
    ToolDef: _tool,
    Do: _do,
    Verdict: _verdict,
    Wanted: lambda made: {"includes": list(made.items)} if made.includes else list(made.items),
    WantedError: lambda made: made.name if made.contains is None else {"class": made.name, "contains": made.contains},
    Expected: _expected,
}


# data to text ---------------------------------------------------------------------------------------------------------


def _block(value: Any, indent: int) -> list[str]:
    """Lines of a mapping or a list; what fits into a line stands in one."""
    pad, lines = " " * indent, list[str]()
    pairs = [(f"{_scalar(key)}:", item) for key, item in value.items()] if isinstance(value, dict) else []
    for head, item in pairs or [("-", item) for item in value]:
        inline = f"{pad}{head} {_flow(item)}"
        if head == "-" and isinstance(item, dict) and len(item) == 1:
            inline = f"{pad}- {_flow(item)[1:-1]}"
        if not isinstance(item, dict | list) or not item or (indent > 0 and len(inline) <= _WIDTH):
            lines.append(inline)
        elif head == "-":
            inner = _block(item, indent + 2)
            lines += [f"{pad}- {inner[0].lstrip()}", *inner[1:]]
        else:
            lines += [f"{pad}{head}", *_block(item, indent + 2)]
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_scalar(key)}: {_flow(item)}' for key, item in value.items())}}}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, list) else _scalar(value)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if (_PLAIN.fullmatch(value) and value not in ("true", "false", "null")) or _DURATION.fullmatch(value):
        return value
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
