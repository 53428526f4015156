"""What the meta of each kind of journal record looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pawl.runtime.records.approvals import Verdict
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.tools import ToolStatus

Check = Callable[[Any], str | None]
"""What is wrong with a value, with the way to it; None when it is as it should be."""


def wrong(kind: JournalKind, meta: Mapping[str, Any]) -> str | None:
    """What is wrong with the meta of a record of that kind; None when it is one."""
    return _META[kind](meta)


# --- values -----------------------------------------------------------------------------------------------------------


def _is(what: str, holds: Callable[[Any], bool]) -> Check:
    return lambda value: None if holds(value) else f" is {value!r:.40}, and no {what}"


def _words(*words: str) -> Check:
    return _is(f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words)


def _nullable(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _list(check: Check) -> Check:
    def of(value: Any) -> str | None:
        if not isinstance(value, list):
            return f" is {value!r:.40}, and no list"
        found = ((place, check(item)) for place, item in enumerate(value))
        return next((f"[{place}]{said}" for place, said in found if said is not None), None)

    return of


def _object(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    known = {**required, **(optional or {})}

    def of(value: Any) -> str | None:
        if not isinstance(value, dict):
            return f" is {value!r:.40}, and no object"
        for name in required:
            if name not in value:
                return f" has no {name!r}"
        for name, item in value.items():
            said = known[name](item) if name in known else " is not known"
            if said is not None:
                return f".{name}{said}"
        return None

    return of


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


_TEXT: Final = _is("text", lambda value: isinstance(value, str))
_NAME: Final = _is("name", lambda value: isinstance(value, str) and value != "")
_COUNT: Final = _is("count", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0)
_SECONDS: Final = _is("time in seconds", _number)
_TRUE: Final = _is("true", lambda value: value is True)
_ARGUMENTS: Final = _is("object", lambda value: isinstance(value, dict))

_USAGE: Final = _object({"input": _COUNT, "output": _COUNT})
_ERROR: Final = _object({"type": _TEXT, "message": _TEXT})
_CALL: Final = _object({"id": _NAME, "name": _TEXT, "arguments": _TEXT}, {"shown": _TEXT})
_DECISION: Final = _object({
    "tool_call_id": _NAME, "verdict": _words(*Verdict), "message": _TEXT, "edit": _nullable(_ARGUMENTS),
})  # fmt: skip

# --- kinds ------------------------------------------------------------------------------------------------------------

_LOST: Final = _object({"llm_call_id": _NAME, "status": _words("lost", "unknown")})
_CALLED: Final[dict[Any, Check]] = {
    "completed": _object(
        {"llm_call_id": _NAME, "status": _TEXT, "usage": _USAGE}, {"model": _nullable(_TEXT), "late": _TRUE}
    ),
    "failed": _object({"llm_call_id": _NAME, "status": _TEXT}, {"error": _ERROR}),
}


def _called(meta: Any) -> str | None:
    status = meta.get("status")
    return _CALLED.get(status if isinstance(status, str) else None, _LOST)(meta)


_NOTHING: Final = _object({})
_ENDED: Final = _object({"usage": _USAGE}, {"error": _ERROR})

_META: Final[dict[JournalKind, Check]] = {
    JournalKind.INPUT_RECEIVED: _object({"start_id": _NAME}),
    JournalKind.EXTERNAL_MESSAGE: _NOTHING,
    JournalKind.LLM_CALL_RECORDED: _called,
    JournalKind.ASSISTANT_MESSAGE: _object({"llm_call_id": _NAME, "calls": _list(_CALL)}),
    JournalKind.CORRECTION: _NOTHING,
    JournalKind.TOOL_RESULT: _object(
        {"tool_call_id": _NAME, "tool": _TEXT, "status": _words(*ToolStatus), "attempt": _COUNT, "seconds": _SECONDS},
        {"error": _ERROR},
    ),
    JournalKind.TOOL_MESSAGE: _object({"tool_call_id": _NAME}),
    JournalKind.APPROVAL_REQUIRED: _object({"request_id": _NAME, "calls": _list(_NAME)}),
    JournalKind.APPROVAL_DECIDED: _object({"request_id": _NAME, "decisions": _list(_DECISION)}),
    JournalKind.RECOVERY_RESOLVED: _object({
        "subject": _NAME, "outcome": _words("succeeded", "failed", "not_performed"),
    }),
    JournalKind.FINAL_OUTPUT: _NOTHING,
    **{kind: _ENDED for kind in JournalKind if kind.startswith("execution_")},
}  # fmt: skip
