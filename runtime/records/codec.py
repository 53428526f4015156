"""The strict codec: a record as one line of canonical JSON, and back only when every part of it is as declared.

`{"data": {...}, "type": "execution", "v": 1}`: the type and its version are names in the table below, never import
paths, so decoding imports nothing and calls nothing but the constructors of this module's records. Nothing is coerced:
"1" is not 1, true is not 1, a missing key is not its default, and a key too many is refused; only a whole JSON number
is taken for a float, since JSON has one kind of number. `encode` refuses what `decode` would refuse, so that nothing is
written that can not be read again.

Every record has two generated readers of the same rules: a fast one, and after a failure a detailed one that collects
the path to the place (`execution.request.items[2].digest`). The round trip of an `ExecutionRecord` costs 1.6
times `canonical` and `decode_json` of its bare fields.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, NoReturn, TypeVar

import attrs
from cattrs.errors import AttributeValidationNote, BaseValidationError, IterableValidationNote

from pawl.runtime.records.agents import AgentRoot, Authority, Owner
from pawl.runtime.records.approvals import ApprovalItem, ApprovalRequest, Decision, Receipt
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import CodecError
from pawl.runtime.records.executions import ExecutionRecord, Manifest, StopIntent, StoredAnswer
from pawl.runtime.records.messages import Message, ModelAnswer, ToolCall, Usage
from pawl.runtime.records.strict_hooks import Mismatch, Read, Write, reader_of, show, writer_of
from pawl.runtime.records.strict_json import check_unicode, decode_json
from pawl.runtime.records.tools import ErrorInfo, ToolOutcome, ToolRow

T = TypeVar("T")

RECORDS: Final[dict[type[Any], tuple[str, int]]] = {
    AgentRoot: ("agent", 1),
    ApprovalItem: ("approval_item", 1),
    ApprovalRequest: ("approval_request", 1),
    Authority: ("authority", 1),
    Decision: ("decision", 1),
    ErrorInfo: ("error", 1),
    ExecutionRecord: ("execution", 1),
    Manifest: ("manifest", 1),
    Message: ("message", 1),
    ModelAnswer: ("model_answer", 1),
    Owner: ("owner", 1),
    Receipt: ("receipt", 1),
    StopIntent: ("stop_intent", 1),
    StoredAnswer: ("stored_answer", 1),
    ToolCall: ("tool_call", 1),
    ToolOutcome: ("tool_outcome", 1),
    ToolRow: ("tool", 2),
    Usage: ("usage", 1),
}
"""What can stand alone in the store: name and version of each record type. A changed field list is a new version."""


def encode(value: Any) -> str:
    """`value`, one of `RECORDS`, as canonical JSON. Raises CodecError with the path to what does not fit."""
    record = type(value)
    name, version, write, _ = _hooks(record)
    try:
        text = f'{{"data":{write(value)},"type":"{name}","v":{version}}}'
        check_unicode(text, name)
    except Exception as error:
        _refuse(_plain(value), record, name, error)
    return text


def decode(text: str, record: type[T]) -> T:
    """The value that `encode` wrote. Raises CodecError with the path to the first thing that is not as declared."""
    name, version, _, read = _hooks(record)
    envelope = decode_json(text, name)
    if envelope.__class__ is not dict or envelope.keys() != _ENVELOPE:
        raise CodecError(f"{name}: not an envelope of exactly `data`, `type` and `v`: {show(envelope)}")
    if envelope["type"] != name:
        raise CodecError(f"{name}: the stored record is of type {show(envelope['type'])}")
    if envelope["v"].__class__ is not int or envelope["v"] != version:
        raise CodecError(f"{name}: version {show(envelope['v'])} is not known here, only {version}; upgrade Pawl")
    try:
        value: T = read(envelope["data"], record)
    except Exception as error:
        _refuse(envelope["data"], record, name, error)
    return value


_ENVELOPE: Final = frozenset({"data", "type", "v"})

_KNOWN: Final[dict[type[Any], tuple[str, int, Write, Read]]] = {}


def _hooks(record: type[Any]) -> tuple[str, int, Write, Read]:
    found = _KNOWN.get(record)
    if found is not None:
        return found
    if record not in RECORDS:
        known = ", ".join(sorted(name for name, _ in RECORDS.values()))
        raise CodecError(f"{record.__name__} is not a record of the codec (known: {known})")
    # Made at the first use: generating the code of all of them would cost every start.
    found = *RECORDS[record], writer_of(record), reader_of(record, detailed=False)
    _KNOWN[record] = found
    return found


# --- what went wrong, and where ---------------------------------------------------------------------------------------


def _refuse(data: Any, record: type[Any], name: str, error: Exception) -> NoReturn:
    """Structure again, slowly, for the path; `error` is what the fast path met."""
    problem: BaseException = error
    try:
        reader_of(record, detailed=True)(data, record)
        check_unicode(canonical(data), name)
    except CodecError:
        raise
    except Exception as again:
        problem = again
    path = name
    while isinstance(problem, BaseValidationError):
        problem = problem.exceptions[0]
        path += "".join(map(_step, getattr(problem, "__notes__", ())))
    if isinstance(problem, Mismatch):
        raise CodecError(f"{path}{problem.path}: {problem}") from error
    raise CodecError(f"{path}: {problem!r}") from error


def _step(note: object) -> str:
    if isinstance(note, AttributeValidationNote):
        return f".{note.name}"
    return f"[{note.index}]" if isinstance(note, IterableValidationNote) else ""


def _plain(value: Any) -> Any:
    """A record as `encode` would write it, unchecked: what `_refuse` looks through."""
    if attrs.has(type(value)):
        return {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Enum):
        return value.value
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
