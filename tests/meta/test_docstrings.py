"""What users read of the public API: every name says what it is, and names the errors that it raises."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import pawl
import pawl.testing
from pawl import sync

EXPORTS = {name: getattr(pawl, name) for name in pawl.__all__}
ERRORS = {name for name, value in EXPORTS.items() if isinstance(value, type) and issubclass(value, Exception)}


def _objects() -> Iterator[tuple[str, Any]]:
    for module, names in ((pawl, pawl.__all__), (sync, sync.__all__), (pawl.testing, pawl.testing.__all__)):
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield f"{module.__name__}.{name}", value


def _methods() -> Iterator[tuple[str, Any, Any]]:
    """Public functions and methods of our own, each with the class that it is found on."""
    for full, value in _objects():
        if inspect.isroutine(value):
            yield full, None, value
            continue
        for kind in value.__mro__:
            if not kind.__module__.startswith("pawl."):
                continue
            for name, member in vars(kind).items():
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if not name.startswith("_") and inspect.isfunction(function):
                    yield f"{full}.{name}", value, function


def _said(owner: Any, function: Any) -> str:
    """Its own docstring, that of the method that it points to, and that of its class."""
    text = inspect.getdoc(function) or ""
    for full in re.findall(r"\bSee pawl\.(\w+\.\w+)", text):
        kind, _, name = full.partition(".")
        text += inspect.getdoc(getattr(getattr(pawl, kind), name)) or ""
    return text + ((inspect.getdoc(owner) or "") if owner is not None else "")


@pytest.mark.parametrize(("full", "value"), list(_objects()))
def test_every_public_name_says_what_it_is(full: str, value: Any) -> None:
    said = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    assert said, full
    assert said.strip(), full


def test_every_public_method_says_what_it_does() -> None:
    assert [full for full, _, function in _methods() if not (inspect.getdoc(function) or "").strip()] == []


def _raised(function: Any) -> set[str]:
    """The errors of ours that its own body raises."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return set()
    raised = {
        ast.unparse(node.exc).partition("(")[0] for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc
    }
    return raised & (ERRORS | {"TypeError", "ValueError", "RuntimeError", "LookupError", "KeyError"})


def test_what_a_public_function_raises_itself_is_named() -> None:
    unnamed = {
        full: left
        for full, owner, function in _methods()
        if (left := {error for error in _raised(function) if error not in _said(owner, function)})
    }
    assert unnamed == {}


WAITING = {"Runtime": pawl.Runtime, "AgentHandle": pawl.AgentHandle, "Execution": pawl.Execution}
CANNOT_FAIL = {"Runtime.close"}


def test_whatever_waits_for_the_store_says_what_it_raises() -> None:
    silent = [
        f"{name}.{method}"
        for name, kind in WAITING.items()
        for method, function in vars(kind).items()
        if not method.startswith("_")
        and (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function))
        and f"{name}.{method}" not in CANNOT_FAIL
        and "Raises" not in (inspect.getdoc(function) or "")
    ]
    assert silent == []


def test_every_error_says_what_to_do_or_that_it_is_a_kind() -> None:
    silent = [name for name in ERRORS if len((inspect.getdoc(getattr(pawl, name)) or "").split()) < 4]
    assert silent == []


@pytest.mark.parametrize("name", ["Runtime", "AgentHandle", "Execution"])
def test_the_blocking_twin_points_to_the_method_that_it_is_the_twin_of(name: str) -> None:
    asynchronous, blocking = getattr(pawl, name), getattr(sync, name)
    for method, function in vars(blocking).items():
        if method.startswith("_") or not inspect.isfunction(function) or not hasattr(asynchronous, method):
            continue
        said = inspect.getdoc(function) or ""
        assert f"See pawl.{name}.{method}" in said or "Raises" in said, f"pawl.sync.{name}.{method}"
