"""Deps that a definition wants and a runtime has not."""

from __future__ import annotations

import functools
from typing import Annotated, Any, TypeVar

import pytest

from pawl import Agent, ApprovalQuery, InvalidArguments, ToolContext, scripted, sync, tool
from pawl.runtime.agent.deps import check_deps, deps_of


class Books:
    """What an application hands to its tools."""


Alias = ToolContext[Books]
T = TypeVar("T")


def wants(ctx: ToolContext[Books]) -> str:
    return "ok"


def optional(a: int, ctx: ToolContext[Books] | None = None) -> str:
    return "ok"


def noted(ctx: Annotated[ToolContext[dict[str, int]], "the context"]) -> str:
    return "ok"


def aliased(ctx: Alias) -> str:
    return "ok"


async def later(ctx: ToolContext[Books]) -> str:
    return "ok"


def bare(ctx: ToolContext) -> str:
    return "ok"


def anything(ctx: ToolContext[Any]) -> str:
    return "ok"


def nothing(ctx: ToolContext[None]) -> str:
    return "ok"


def perhaps(ctx: ToolContext[Books | None]) -> str:
    return "ok"


def generic(ctx: ToolContext[T]) -> str:
    return "ok"


class Desk:
    def method(self, ctx: ToolContext[Books]) -> str:
        return "ok"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (wants, "Books"),
        (optional, "Books"),
        (noted, "dict[str, int]"),
        (aliased, "Books"),
        (later, "Books"),
        (Desk().method, "Books"),
        (functools.partial(optional, a=1), "Books"),
    ],
)
def test_a_function_says_which_deps_it_wants(function: Any, name: str) -> None:
    assert deps_of(function) == name


@pytest.mark.parametrize("function", [bare, anything, nothing, perhaps, generic, len, print, Books])
def test_a_function_that_names_no_deps_wants_none(function: Any) -> None:
    assert deps_of(function) is None


@pytest.mark.parametrize(("written", "name"), [("ToolContext[Shop]", "Shop"), ("ToolContext[Shop | None]", None)])
def test_deps_that_only_type_checkers_know_are_read_as_written(written: str, name: str | None) -> None:
    def look(ctx):  # type: ignore[no-untyped-def]
        return ""

    look.__annotations__ = {"ctx": written}
    assert deps_of(look) == name


def policy(query: ApprovalQuery, ctx: ToolContext[Books]) -> str:
    return "allow"


def probe(key: str, ctx: ToolContext[Books]) -> str:
    return "absent"


def plain() -> str:
    return "ok"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (tool(wants, name="refund"), "tool refund wants deps (ToolContext[Books]) and this runtime has none"),
        (tool(plain, approval=policy), "the approval policy of tool plain wants deps (ToolContext[Books])"),
        (tool(plain, recovery="probe", probe=probe), "the probe of tool plain wants deps (ToolContext[Books])"),
    ],
)
def test_a_runtime_without_deps_is_not_opened_for_who_wants_some(made: Any, said: str) -> None:
    agent = Agent(name="clerk", model=scripted(["ok"]), tools=[made])

    with pytest.raises(InvalidArguments) as caught:
        sync.Runtime("memory://", [agent]).__enter__()

    assert f"agent clerk: {said}" in str(caught.value)
    assert "Runtime(deps=…)" in str(caught.value)
    check_deps([agent], Books())
    check_deps([Agent(name="clerk", model=scripted(["ok"]), tools=[bare])], None)


def test_deps_that_are_false_are_deps() -> None:
    with sync.Runtime("memory://", [Agent(name="a", model=scripted(["ok"]), tools=[wants])], deps={}) as runtime:
        assert runtime.stats() is not None
