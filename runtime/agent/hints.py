"""Type hints made real: annotations written as text, and types that only exist inside a function."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pawl.runtime.agent.context import ToolContext
from pawl.runtime.records.errors import InvalidArguments


def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plain function that carries the annotations of `function`: inside partials, wrappers, methods, objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isroutine(function):
            return function
        else:
            function = type(function).__call__


def local_names(function: Callable[..., Any]) -> dict[str, Any]:
    """Names that `function` can see besides its module's: of the functions and classes around it that are still
    being executed (that is where a local class is known when the decorator runs), and of its closure.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    around = function.__qualname__.replace(".<locals>", "").split(".")[:-1]
    outer = {".".join(around[:depth]) for depth in range(1, len(around) + 1)}
    scopes: list[Mapping[str, Any]] = []
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - as inspect.currentframe, and never None
    while frame is not None:
        name = frame.f_code.co_qualname.replace(".<locals>", "")
        if name in outer and frame.f_code.co_filename == code.co_filename:
            scopes.append(frame.f_locals)
        frame = frame.f_back
    names: dict[str, Any] = {}
    for scope in reversed(scopes):  # the innermost last: it wins
        names.update(scope)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names


def resolve(annotation: Any, names: Mapping[str, Any], module: Mapping[str, Any], where: str) -> Any:
    """`annotation` as a type, with its `Annotated` parts. Raises InvalidArguments for text that names no type."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    # ToolContext may be imported for type checkers only, which leaves nothing to find here.
    scope = {"ToolContext": ToolContext, **module}
    try:
        return typing.get_type_hints(holder, scope, dict(names), include_extras=True)["it"]
    except NameError as error:
        raise InvalidArguments(
            f"{where}: the type {annotation!r} cannot be found ({error}); define it before the "
            "tool, and import it not only under TYPE_CHECKING"
        ) from None
    except (SyntaxError, TypeError, AttributeError) as error:
        raise InvalidArguments(f"{where}: {annotation!r} is not a type: {error}") from None


def resolve_alias(alias: Any, names: Mapping[str, Any], where: str) -> Any:
    """What `type X = …` stands for. Raises InvalidArguments."""
    module = sys.modules.get(alias.__module__)
    known = {**names, alias.__name__: alias}
    return resolve(alias.__value__, known, vars(module) if module is not None else {}, where)


def resolve_fields(cls: type, wanted: Iterable[str], names: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The types of the `wanted` fields of `cls`, inherited ones included; without those that have no annotation.

    Raises InvalidArguments.
    """
    hints: dict[str, Any] = {}
    own = {base: inspect.get_annotations(base) for base in cls.__mro__}
    for name in wanted:
        for base in cls.__mro__:
            if name in own[base]:
                module = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
                hints[name] = resolve(own[base][name], {**names, cls.__name__: cls}, module, f"{where}.{name}")
                break
    return hints
