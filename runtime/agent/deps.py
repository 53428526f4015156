"""What a definition's code says of the `deps` it wants, so that a runtime without any is refused before it runs."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.definition import Agent
from pawl.runtime.agent.hints import annotated, resolve
from pawl.runtime.records.errors import InvalidArguments

_WRITTEN: Final = re.compile(r"(?:\w+\.)*ToolContext\[(.+)\](?: *\| *None)?")


def check_deps(agents: Iterable[Agent[Any]], deps: object) -> None:
    """Raises InvalidArguments when a tool, a policy or a probe asks for `ToolContext[X]` and `deps` is None.

    Bare `ToolContext`, and an X that is Any, object or may be None, ask for nothing.
    """
    if deps is not None:
        return
    for agent in agents:
        for what, name in _wanted(agent):
            raise InvalidArguments(
                f"agent {agent.name}: {what} wants deps (ToolContext[{name}]) and this runtime has none: "
                f"give them, Runtime(deps=…), or take a bare ToolContext"
            )


def _wanted(agent: Agent[Any]) -> Iterator[tuple[str, str]]:
    for tool in agent.tools:
        code = (
            (f"tool {tool.name}", tool.function),
            (f"the approval policy of tool {tool.name}", tool.approval.policy),
            (f"the probe of tool {tool.name}", tool.probe),
        )
        for what, function in code:
            name = deps_of(function) if function is not None else None
            if name is not None:
                yield what, name


def deps_of(function: Callable[..., Any]) -> str | None:
    """The name of the type that `function` wants its deps to be, None when it does not say or wants none."""
    try:
        inner = annotated(function)
        given = [one.annotation for one in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return None
    found = (_deps(annotation, getattr(inner, "__globals__", {})) for annotation in given)
    return next((name for name in found if name is not None), None)


def _deps(annotation: Any, module: dict[str, Any]) -> str | None:
    if annotation is inspect.Parameter.empty:
        return None
    try:
        return _of_type(resolve(annotation, {}, module, ""))
    except InvalidArguments:  # what it names is known inside another function, or to type checkers only
        written = _WRITTEN.fullmatch(annotation.strip()) if isinstance(annotation, str) else None
        return None if written is None or re.search(r"\bNone\b", written[1]) else written[1]


def _of_type(hint: Any) -> str | None:
    origin = get_origin(hint)
    if origin is ToolContext:
        (deps,) = get_args(hint)
        if _asks_nothing(deps):
            return None
        return deps.__name__ if isinstance(deps, type) and get_origin(deps) is None else str(deps)
    if origin in (Annotated, Union, types.UnionType):
        return next(filter(None, map(_of_type, get_args(hint))), None)
    return None


def _asks_nothing(deps: Any) -> bool:
    if get_origin(deps) in (Union, types.UnionType):
        return any(map(_asks_nothing, get_args(deps)))
    return deps in (Any, None, type(None), object) or isinstance(deps, TypeVar)
