"""Tools: a function with its types, and what may be done with it."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Literal, ParamSpec, TypeVar, cast, get_args, overload

import attrs

from pawl.runtime.agent.approval import Approval, ApprovalRule, approval_of
from pawl.runtime.agent.arguments import Parameters
from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.agent.bounds import bounds_of
from pawl.runtime.agent.callback import Callback, callback_of
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.filters import Filter
from pawl.runtime.agent.rate import Limit, RateRule, limit_of
from pawl.runtime.agent.redaction import secret_places
from pawl.runtime.agent.results import MAX_RESULT_BYTES, result_text
from pawl.runtime.agent.schema import schema_of
from pawl.runtime.agent.settings import is_seconds, shown
from pawl.runtime.agent.signature import parameters_of
from pawl.runtime.llm.port import ToolSpec
from pawl.runtime.records.errors import InvalidArguments
from pawl.runtime.records.tools import RecoveryPolicy

P = ParamSpec("P")
R = TypeVar("R")

OnError = Literal["tell_model", "fail"]
NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@attrs.frozen(slots=False, eq=False, repr=False)
class Tool(Generic[P, R]):
    """A function that a model may call. Called directly it is the function itself.

    `timeout` is in seconds, None for none. `on_error` says what an exception does: it answers the model, or it fails
    the run. `recovery` says what becomes of a call that was started and has no recorded outcome.
    """

    function: Callable[P, R]
    name: str
    description: str
    parameters: Parameters
    approval: Approval
    recovery: RecoveryPolicy
    probe: Callable[..., Any] | None
    on_error: OnError
    timeout: float | None
    max_result_bytes: int
    limits_results: bool
    is_async: bool
    limit: Limit | None = None
    probe_wants: int = 1
    approval_timeout: float | None = None
    result_filters: tuple[Callback, ...] = ()
    spec: ToolSpec = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "spec", ToolSpec(self.name, self.description, schema_of(self.parameters.shape)))
        object.__setattr__(self, "__wrapped__", self.function)
        object.__setattr__(self, "__doc__", self.function.__doc__)

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; no approval is asked and nothing is recorded."""
        return self.function(*args, **kwargs)

    def validate(self, raw_json: str) -> dict[str, Any]:
        """Canonical JSON arguments from what a model wrote, with defaults filled in; no text is no arguments.

        Raises InvalidArguments, never anything else, and its message tells the model what to give.
        """
        return self.parameters.validate(raw_json)

    def validate_value(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The same for arguments given as Python data, such as edited ones. Raises InvalidArguments."""
        return self.parameters.validate_value(arguments)

    @property
    def redacts(self) -> bool:
        """Whether people must not see some of its arguments."""
        return self.parameters.redacts

    def redacted(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        """The places in validated arguments whose values people must not see, as JSON pointers."""
        return secret_places(self.parameters.shape, arguments) if self.redacts else ()

    def bind(self, arguments: dict[str, Any], context: ToolContext[Any]) -> dict[str, Any]:
        """Keyword arguments for `function`: values of the annotated types, and `context` where it is wanted.

        Raises InvalidArguments when the arguments, validated by an older version perhaps, do not fit.
        """
        return self.parameters.bind(arguments, context)

    def result_text(self, value: object) -> str:
        """What the model reads of a returned `value`. Raises ToolError whose text is the call's error."""
        return result_text(self.name, value, self.max_result_bytes)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = ...,
    description: str | None = ...,
    approval: ApprovalRule = ...,
    recovery: RecoveryPolicy = ...,
    probe: Callable[..., Any] | None = ...,
    on_error: OnError = ...,
    timeout: float | None = ...,
    approval_timeout: float | None = ...,
    max_result_bytes: int | None = ...,
    max_argument_bytes: int | None = ...,
    max_argument_values: int | None = ...,
    redact: Iterable[str] = ...,
    result_filter: Filter | None = ...,
    max_concurrent: int | None = ...,
    rate: RateRule | None = ...,
) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    approval: ApprovalRule = ...,
    recovery: RecoveryPolicy = ...,
    probe: Callable[..., Any] | None = ...,
    on_error: OnError = ...,
    timeout: float | None = ...,
    approval_timeout: float | None = ...,
    max_result_bytes: int | None = ...,
    max_argument_bytes: int | None = ...,
    max_argument_values: int | None = ...,
    redact: Iterable[str] = ...,
    result_filter: Filter | None = ...,
    max_concurrent: int | None = ...,
    rate: RateRule | None = ...,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: ApprovalRule = False,
    recovery: RecoveryPolicy = "ask",
    probe: Callable[..., Any] | None = None,
    on_error: OnError = "tell_model",
    timeout: float | None = None,
    approval_timeout: float | None = None,
    max_result_bytes: int | None = None,
    max_argument_bytes: int | None = None,
    max_argument_values: int | None = None,
    redact: Iterable[str] = (),
    result_filter: Filter | None = None,
    max_concurrent: int | None = None,
    rate: RateRule | None = None,
) -> Any:
    """Make a tool of a function, `async` or not; of a bound method, a closure or an object with `__call__`.

    Use it bare, `@tool`, or with options, all optional:

    * `name`, `description`: by default the function's name and the text of its docstring before the first section.
      Its section of arguments describes the parameters; so does `Annotated[int, "in cents"]`, which wins.
    * `approval`: False or "allow", True or "ask", "reject", or a policy, a function of an ApprovalQuery.
    * `recovery`: "ask" a person (default), "replay" with the same idempotency key, or "probe" with `probe`, a
      function (`async` or not) of the idempotency key that returns Found(result), "absent" or "unknown". A policy and a
      probe may take a ToolContext as their second argument: there they find `deps`.
    * `on_error`: "tell_model" (default) or "fail" the run.
    * `timeout`: seconds until the body is asked to stop. `approval_timeout`: seconds that a request which asks for a
      call may wait; by default the agent's. A request for several calls expires with the first of them.
    * `max_result_bytes`: limit of the result's text, in UTF-8 bytes; by default the agent's, which is 1 MiB.
    * `max_argument_bytes`, `max_argument_values`: what one call may be given, in UTF-8 bytes and in JSON values (each
      scalar, list and object is one); by default 1 MiB and 10,000. More answers the model, and nothing is run.
    * `redact`: paths of arguments whose values people must not see, such as `["card", "address.zip"]`; so does
      `Annotated[str, Secret]`. The body, the policy and the model get the real ones.
    * `result_filter`: a function (`async` or not) of the result's text, or of the text and a ResultQuery, that returns
      the text that goes on, or Block(reason). Nobody is shown the result before, nor at all if the filter fails.
    * `max_concurrent`, `rate`: bodies at a time, and starts in a while (`"10/s"`, `"100/min"`, `Rate(10, per=60.0)`),
      in this process, over all its executions, in turn. A call's timeout begins when it runs.

    A parameter annotated with ToolContext is given the context and is hidden from the model. Raises InvalidArguments
    for a signature that a model cannot fill or an option that makes no sense.
    """

    def decorate(function: Callable[..., Any]) -> Tool[..., Any]:
        chosen = _name(function) if name is None else _good_name(name)
        _check_callable(function, chosen)
        parameters, summary = parameters_of(function, chosen, redact)
        return make_tool(
            function,
            parameters,
            description=summary if description is None else description,
            approval=approval,
            recovery=recovery,
            probe=probe,
            on_error=on_error,
            timeout=timeout,
            approval_timeout=approval_timeout,
            max_result_bytes=max_result_bytes,
            max_argument_bytes=max_argument_bytes,
            max_argument_values=max_argument_values,
            result_filter=result_filter,
            max_concurrent=max_concurrent,
            rate=rate,
        )

    return decorate if function is None else decorate(function)


def as_tool(value: object) -> Tool[..., Any]:
    """`value` if it is a tool, else the tool made of it with no options. Raises InvalidArguments."""
    if isinstance(value, Tool):
        return cast(Tool[..., Any], value)
    if not callable(value):
        raise _no_tool(value)
    return tool(value)


def make_tool(
    function: Callable[..., Any],
    parameters: Parameters,
    *,
    description: str = "",
    approval: ApprovalRule = False,
    recovery: RecoveryPolicy = "ask",
    probe: Callable[..., Any] | None = None,
    on_error: OnError = "tell_model",
    timeout: float | None = None,
    approval_timeout: float | None = None,
    max_result_bytes: int | None = None,
    max_argument_bytes: int | None = None,
    max_argument_values: int | None = None,
    result_filter: Filter | None = None,
    max_concurrent: int | None = None,
    rate: RateRule | None = None,
) -> Tool[..., Any]:
    """Make a tool whose parameters are known already, instead of read from a signature.

    `function` is called with what `parameters.shape` builds, as keyword arguments. Raises InvalidArguments.
    """
    where = f"tool {_good_name(parameters.tool)}"
    if not isinstance(description, str):
        raise InvalidArguments(f"{where}: description={description!r} must be text")
    _one_of(where, "recovery", recovery, get_args(RecoveryPolicy))
    _one_of(where, "on_error", on_error, get_args(OnError))
    if recovery == "probe" and not callable(probe):
        raise InvalidArguments(f"{where}: recovery='probe' needs probe=, a function of the idempotency key")
    asked = callback_of(probe, "probe", f"{where}: probe", 1, 2) if recovery == "probe" else None
    if recovery != "probe" and probe is not None:
        raise InvalidArguments(f"{where}: probe= is used with recovery='probe' only, and recovery is {recovery!r}")
    return Tool(
        function=function,
        name=parameters.tool,
        description=description,
        parameters=attrs.evolve(parameters, most=bounds_of(where, max_argument_bytes, max_argument_values)),
        approval=approval_of(approval, where),
        recovery=recovery,
        probe=probe,
        on_error=on_error,
        timeout=None if timeout is None else _positive(where, "timeout", timeout),
        approval_timeout=_seconds(where, approval_timeout),
        max_result_bytes=MAX_RESULT_BYTES if max_result_bytes is None else result_limit(where, max_result_bytes),
        limits_results=max_result_bytes is not None,
        is_async=is_async(function),
        limit=limit_of(max_concurrent, rate, where),
        result_filters=_result_filters(result_filter, where),
        probe_wants=asked.wants if asked is not None else 1,
    )


def limited(tools: tuple[Tool[..., Any], ...], where: str, most: object) -> tuple[Tool[..., Any], ...]:
    """The tools with `most` bytes as the limit of their results, where they have none of their own; None leaves them.

    Raises InvalidArguments.
    """
    if most is None:
        return tools
    limit = result_limit(where, most)
    return tuple(one if one.limits_results else attrs.evolve(one, max_result_bytes=limit) for one in tools)


def result_limit(where: str, value: object) -> int:
    """A limit of results, in bytes. Raises InvalidArguments."""
    if type(value) is not int or not 0 < value <= sys.maxsize:
        raise InvalidArguments(f"{where}: max_result_bytes={shown(value)} must be a whole number of bytes above 0")
    return value


def _seconds(where: str, value: float | None) -> float | None:
    return None if value is None else _positive(where, "approval_timeout", value)


def _result_filters(function: object, where: str) -> tuple[Callback, ...]:
    return () if function is None else (callback_of(function, "result filter", f"{where}: result_filter", 1, 2),)


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return _good_name(getattr(function, "__name__", None) or type(function).__name__)


def _good_name(name: object) -> str:
    """`name`. Raises InvalidArguments when providers would refuse it."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        hint = "name it: tool(lambda …, name='…')" if name == "<lambda>" else "give another with name="
        raise InvalidArguments(
            f"{name!r} cannot be the name of a tool, which is 1 to 64 of the characters a-z A-Z 0-9 _ -; {hint}"
        )
    return name


def _check_callable(function: Any, name: str) -> None:
    if isinstance(function, type) or not callable(function):
        raise _no_tool(function)
    if isinstance(function, Tool):
        raise InvalidArguments(f"{name} is a tool already; give its function, tool({name}.function, …)")
    called = function
    while isinstance(called, functools.partial):
        called = called.func
    called = called if inspect.isroutine(called) else type(called).__call__
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise InvalidArguments(
            f"tool {name}: a generator gives its results bit by bit; return one value, a list perhaps"
        )


def _no_tool(value: object) -> InvalidArguments:
    kind = "a class" if isinstance(value, type) else f"a {type(value).__name__}"
    return InvalidArguments(f"{kind} cannot be a tool ({value!r:.60}); give a function, a method or a callable object")


def _one_of(where: str, option: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArguments(f"{where}: {option}={value!r} is unknown; it is {' or '.join(map(repr, known))}")


def _positive(where: str, option: str, value: float) -> float:
    if not is_seconds(value):
        raise InvalidArguments(f"{where}: {option}={shown(value)} must be a number of seconds above 0")
    return value
