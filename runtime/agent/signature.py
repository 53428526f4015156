"""From a function's signature to a tool's parameters."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pawl.runtime.agent.arguments import Parameters
from pawl.runtime.agent.containers import REQUIRED, Field, RecordShape
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.docstring import describe
from pawl.runtime.agent.hints import annotated, local_names, resolve
from pawl.runtime.agent.redaction import with_secrets
from pawl.runtime.agent.schema import Scope, default_of, shape_of
from pawl.runtime.agent.shapes import Reference
from pawl.runtime.records.errors import InvalidArguments

_CONTEXT: Final = re.compile(r"(\w+\.)*ToolContext(\[.*\])?( *\| *None)?")
_REFUSED: Final[dict[Any, str]] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, and a model names its arguments; remove the `/`",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values, which a model cannot see; take a list",
    inspect.Parameter.VAR_KEYWORD: "takes any names, which a model cannot see; take a dict[str, …]",
}


def parameters_of(function: Callable[..., Any], tool: str, redact: object = ()) -> tuple[Parameters, str]:
    """What `function` takes from a model, without showing what `redact` names, and what its docstring says.

    Raises InvalidArguments for a signature that a model cannot fill.
    """
    inner = annotated(function)
    names = local_names(inner)
    module = getattr(inner, "__globals__", {})
    summary, about = describe(_doc(function, inner))
    fields: list[Field] = []
    contexts: list[str] = []
    references: dict[Any, Reference] = {}
    bound = function.keywords if isinstance(function, functools.partial) else {}
    for parameter in _signature(function, tool).parameters.values():
        if parameter.name in bound:
            continue  # a partial's value is its maker's, not the model's
        where = f"tool {tool}: parameter '{parameter.name}'"
        _check(parameter, inner, where)
        hint = _hint(parameter.annotation, names, module, where)
        if _is_context(hint):
            contexts.append(parameter.name)
        else:
            fields.append(_field(parameter, hint, about, Scope(where, names, references=references)))
    if len(contexts) > 1:
        raise InvalidArguments(f"tool {tool}: both {' and '.join(contexts)} are a ToolContext; take it once")
    shape = with_secrets(RecordShape(tuple(fields), noun="argument"), redact, f"tool {tool}")
    return Parameters(tool, shape, contexts[0] if contexts else None), summary


def _doc(function: Callable[..., Any], inner: Callable[..., Any]) -> str | None:
    """The docstring: a partial and an object have one about their class, which comes last."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__doc__ if inspect.isroutine(function) else inner.__doc__ or type(function).__doc__


def _signature(function: Callable[..., Any], tool: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise InvalidArguments(f"tool {tool}: its signature cannot be read ({error}); wrap it in a function") from None


def _check(parameter: inspect.Parameter, function: Callable[..., Any], where: str) -> None:
    refused = _REFUSED.get(parameter.kind)
    if refused:
        raise InvalidArguments(f"{where} {refused}")
    if parameter.annotation is not inspect.Parameter.empty:
        return
    parent = getattr(function, "__qualname__", "").rpartition(".")[0]
    if parameter.name in ("self", "cls") and parent and not parent.endswith("<locals>"):
        kind = parent.rpartition(".")[2]
        raise InvalidArguments(
            f"{where} has no value yet: a method becomes a tool when it is bound, tool({kind}(…).{function.__name__})"
        )
    raise InvalidArguments(f"{where} has no type; annotate it, so that the model is told what to give")


def _field(parameter: inspect.Parameter, hint: Any, about: dict[str, str], scope: Scope) -> Field:
    shape = shape_of(hint, scope)
    empty = parameter.default is inspect.Parameter.empty
    default = REQUIRED if empty else default_of(parameter.default, shape)
    return Field(parameter.name, shape, default, about.get(parameter.name, ""))


def _hint(annotation: Any, names: Mapping[str, Any], module: Mapping[str, Any], where: str) -> Any:
    try:
        return resolve(annotation, names, module, where)
    except InvalidArguments:
        if isinstance(annotation, str) and _CONTEXT.fullmatch(annotation.strip()):
            return ToolContext  # the type of its deps may be known to type checkers only
        raise


def _is_context(hint: Any) -> bool:
    """ToolContext, also optional, annotated or with the type of its deps."""
    origin = get_origin(hint)
    if origin is ToolContext:
        return True
    if origin is Annotated:
        return _is_context(get_args(hint)[0])
    if origin is Union or origin is types.UnionType:
        rest = [member for member in get_args(hint) if member is not type(None)]
        return len(rest) == 1 and _is_context(rest[0])
    return isinstance(hint, type) and issubclass(hint, ToolContext)
