"""A function of the application's that takes part in a run: looked at once, when the definition is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.records.errors import InvalidArguments

_TAKES: Final = {
    "input filter": "the text, or the text and a FilterQuery",
    "output filter": "the text, or the text and a FilterQuery",
    "result filter": "the text, or the text and a ResultQuery",
    "tool result filter": "the text, or the text and a ResultQuery",
    "instruction function": "nothing, or an InstructionQuery",
    "knowledge function": "nothing, or an InstructionQuery",
    "before_llm hook": "a HookQuery",
    "context policy": "a ContextQuery",
    "approval policy": "an ApprovalQuery, or that and a ToolContext",
    "probe": "the idempotency key, or that and a ToolContext",
}


@attrs.frozen(eq=False)
class Callback:
    """`function` with the number of arguments it wants; `where` names it for errors (`input filter 'no_secrets'`)."""

    function: Callable[..., Any]
    where: str
    is_async: bool
    wants: int

    def call(self, *offered: object) -> Any:
        """Call it with as many of the offered arguments as it wants: a value, or an awaitable."""
        return self.function(*offered[: self.wants])


class Raised(Exception):
    """What a callback raised, on its way to the run that it fails: any exception, also one that no future can carry."""

    def __init__(self, where: str, error: BaseException) -> None:
        self.where, self.error = where, error
        super().__init__(where)


def callback_of(function: object, what: str, place: str, least: int, most: int) -> Callback:
    """Look at a function that is offered `least` to `most` arguments: it gets one for each positional parameter
    without a default, and at least the first `least`.

    `what` is what it is ("input filter"), `place` where it was given ("agent a: input_filters[0]"). Raises
    InvalidArguments for what is no function, or cannot be called so.
    """
    if not callable(function) or isinstance(function, type):
        shown = f"the class {function.__name__}" if isinstance(function, type) else f"{function!r:.60}"
        raise InvalidArguments(f"{place}: {shown} is no {what}; give a function, async or not")
    wants = _wants(function, what, place, least, most)
    return Callback(function, f"{what} '{name_of(function)}'", is_async(function), wants)


def callbacks_of(functions: object, what: str, place: str, least: int, most: int) -> tuple[Callback, ...]:
    """The same for each of a list. Raises InvalidArguments, naming the one."""
    return tuple(
        callback_of(one, what, f"{place}[{number}]", least, most) for number, one in enumerate(listed(functions, place))
    )


def listed(values: object, place: str) -> tuple[Any, ...]:
    """A list as a tuple. Raises InvalidArguments for what is none, such as one function without its list."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InvalidArguments(f"{place}={values!r:.60} must be a list; put it in brackets: [{_short(values)}]")
    return tuple(values)


def name_of(function: Callable[..., Any]) -> str:
    """How a person calls it: its own name, or that of its class."""
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__name__", None)
    return name if isinstance(name, str) else type(inner).__name__


def _short(value: object) -> str:
    return name_of(value) if callable(value) else f"{value!r:.40}"


def _wants(function: Callable[..., Any], what: str, place: str, least: int, most: int) -> int:
    try:
        parameters = tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return max(1, least)  # a builtin that does not say
    kinds = inspect.Parameter
    named = [one.name for one in parameters if one.kind is kinds.KEYWORD_ONLY and one.default is kinds.empty]
    if named:
        raise InvalidArguments(f"{place}: '{name_of(function)}' wants the keyword {named[0]!r}, which it is not given")
    positional = [one for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    required = sum(one.default is kinds.empty for one in positional)
    takes = most if any(one.kind is kinds.VAR_POSITIONAL for one in parameters) else len(positional)
    if required > most or takes < least:
        wanted = f"{required} arguments" if required > most else "none"
        offered = str(most) if least == most else f"{least} or {most}"
        words = f"; {_a(what)} takes {_TAKES[what]}" if what in _TAKES else ""
        raise InvalidArguments(f"{place}: '{name_of(function)}' takes {wanted}, and is given {offered}{words}")
    return max(required, least)


def _a(what: str) -> str:
    return f"{'an' if what[0] in 'aeio' else 'a'} {what}"
