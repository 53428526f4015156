"""Approval rules and policies."""

from __future__ import annotations

import asyncio
import enum
import functools
from typing import Any

import pytest

from pawl.runtime.agent.approval import Approval, ApprovalQuery, Authorization, PolicyAnswer, approval_of
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.probe import Found, read_probe
from pawl.runtime.records.errors import InvalidArguments

QUERY = ApprovalQuery("a", "clerk", 1, "run", "refund", "c1", {"cents": 500, "tags": ["x"]}, {"user": {"id": 7}})


class Word(enum.StrEnum):
    ASK = "ask"


@pytest.mark.parametrize(
    ("rule", "fixed"),
    [
        (False, Authorization("allow")),
        ("allow", Authorization("allow")),
        (True, Authorization("ask")),
        ("ask", Authorization("ask")),
        ("reject", Authorization("reject")),
        (Word.ASK, Authorization("ask")),
        (("reject", "never"), Authorization("reject", "never")),
        (Authorization("ask", "big"), Authorization("ask", "big")),
    ],
)
def test_a_fixed_rule_needs_no_policy(rule: Any, fixed: Authorization) -> None:
    made = approval_of(rule, "tool x")
    assert made == Approval(fixed)
    assert not made.is_async
    assert made.ask(QUERY) == asyncio.run(made.ask_async(QUERY)) == fixed


@pytest.mark.parametrize("rule", [None, 0, 1, "yes", "ALLOW", [], ("ask",), ("ask", 5), ("maybe", ""), Authorization])
def test_an_unknown_rule_is_refused(rule: Any) -> None:
    with pytest.raises(InvalidArguments, match="tool x: approval="):
        approval_of(rule, "tool x")


ANSWERS: list[tuple[Any, Authorization]] = [
    ("allow", Authorization("allow")),
    (Word.ASK, Authorization("ask")),
    (("reject", "too expensive"), Authorization("reject", "too expensive")),
    (Authorization("reject", "no"), Authorization("reject", "no")),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_a_policy_decides_from_the_query(answer: Any, expected: Authorization) -> None:
    asked: list[ApprovalQuery] = []

    def policy(query: ApprovalQuery) -> Any:
        asked.append(query)
        return answer

    async def later(query: ApprovalQuery) -> Any:
        return policy(query)

    assert approval_of(policy, "tool x").ask(QUERY) == expected
    assert asyncio.run(approval_of(later, "tool x").ask_async(QUERY)) == expected
    assert asyncio.run(approval_of(policy, "tool x").ask_async(QUERY)) == expected
    assert asked == [QUERY] * 3


@pytest.mark.parametrize(
    "answer",
    [None, 1, True, False, (True, "big"), (False, ""), "yes", "", (), ("allow", None), ("allow", "a", "b"), {}],
)
def test_an_answer_of_another_kind_leaves_it_to_a_person(answer: Any) -> None:
    for verdict in (
        approval_of(lambda _: answer, "x").ask(QUERY),
        asyncio.run(approval_of(lambda _: answer, "x").ask_async(QUERY)),
    ):
        assert verdict.permission == "ask"
        assert verdict.reason.startswith("the approval policy failed: TypeError: the answer ")
        assert "return 'allow', 'ask' or 'reject'" in verdict.reason


@pytest.mark.parametrize("answer", [True, False])
def test_a_policy_that_answers_yes_or_no_allows_nothing(answer: Any) -> None:
    assert approval_of(lambda query: answer, "x").ask(QUERY).permission == "ask"
    with pytest.raises(InvalidArguments, match="is unknown"):
        approval_of((answer, "big"), "x")
    quiet = approval_of(lambda query: answer, "x").ask(QUERY, quiet=True).reason
    assert "return 'allow', 'ask' or 'reject'" in quiet
    assert str(answer) not in quiet
    assert approval_of(answer, "x").fixed == Authorization("ask" if answer else "allow")


def test_a_policy_that_raises_leaves_it_to_a_person_with_the_reason() -> None:
    def policy(query: ApprovalQuery) -> Any:
        raise LookupError(f"no budget for {query.arguments['cents']} \ud800")

    async def later(query: ApprovalQuery) -> Any:
        return policy(query)

    expected = Authorization("ask", "the approval policy failed: LookupError: no budget for 500 \\ud800")
    assert approval_of(policy, "x").ask(QUERY) == expected
    assert asyncio.run(approval_of(later, "x").ask_async(QUERY)) == expected


def test_a_reason_that_cannot_be_written_leaves_it_to_a_person() -> None:
    verdict = approval_of(lambda query: ("allow", "\ud800"), "tool t").ask(QUERY)
    assert verdict.permission == "ask"
    assert "is not Unicode text" in verdict.reason
    verdict.reason.encode()


def test_a_hidden_coroutine_is_not_an_answer() -> None:
    async def later(query: ApprovalQuery) -> Any:
        return "allow"

    verdict = approval_of(lambda query: later(query), "x").ask(QUERY)  # noqa: PLW0108 - the lambda hides it
    assert verdict.permission == "ask"
    assert "make the policy `async def`" in verdict.reason


def test_cancelling_a_policy_is_no_answer() -> None:
    async def policy(query: ApprovalQuery) -> Any:
        raise asyncio.CancelledError

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await approval_of(policy, "x").ask_async(QUERY)

    asyncio.run(run())


def test_asynchronous_policies_are_recognised_in_every_form() -> None:
    class Policy:
        async def __call__(self, query: ApprovalQuery) -> str:
            return "allow"

        async def method(self, query: ApprovalQuery) -> str:
            return "allow"

    for policy in (Policy(), Policy().method, functools.partial(Policy().method)):
        assert approval_of(policy, "x").is_async
    assert not approval_of(len, "x").is_async


def test_a_query_holds_values_that_a_policy_cannot_change() -> None:
    def policy(query: ApprovalQuery) -> Any:
        query.arguments["tags"].append("y")

    verdict = approval_of(policy, "x").ask(QUERY)
    assert verdict.permission == "ask"
    assert "frozen" in verdict.reason
    assert QUERY.arguments == {"cents": 500, "tags": ["x"]}


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        (Found("x"), Found("x")),
        (Found(), Found(None)),
        ("absent", "absent"),
        ("unknown", "unknown"),
        (None, "unknown"),
        (False, "unknown"),
        ("found", "unknown"),
        (Found, "unknown"),
    ],
)
def test_a_probe_that_says_anything_else_knows_nothing(answer: object, read: object) -> None:
    assert read_probe(answer) == read


# what a policy is offered -----------------------------------------------------------------------------------------


def with_context(query: ApprovalQuery, ctx: ToolContext[str]) -> str:
    return "reject" if ctx.deps == "read only" else "allow"


def with_default(query: ApprovalQuery, limit: int = 5) -> str:
    return "allow" if limit == 5 else "ask"


def test_a_policy_with_a_second_parameter_is_given_the_context() -> None:
    made = approval_of(with_context, "tool x")
    assert made.ask(QUERY, ToolContext(deps="read only")) == Authorization("reject")
    assert made.ask(QUERY, ToolContext()) == Authorization("allow")
    assert made.ask(QUERY) == Authorization("allow")
    assert asyncio.run(made.ask_async(QUERY, ToolContext(deps="read only"))) == Authorization("reject")


def test_a_parameter_with_a_default_is_the_policy_s_own() -> None:
    assert approval_of(with_default, "tool x").ask(QUERY, ToolContext(deps="read only")) == Authorization("allow")


@pytest.mark.parametrize(
    ("policy", "says"), [(lambda: True, "takes none"), (lambda a, b, c: True, "takes 3 arguments")]
)
def test_a_policy_that_cannot_be_called_so_is_refused(policy: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        approval_of(policy, "tool x")
    assert says in str(caught.value)
    assert "an approval policy takes an ApprovalQuery, or that and a ToolContext" in str(caught.value)
    assert "tool x" in str(caught.value)


def test_a_policy_whose_error_cannot_be_shown_leaves_it_to_a_person() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no str")

    def policy(query: ApprovalQuery) -> PolicyAnswer:
        raise Hostile

    said = approval_of(policy, "tool x").ask(QUERY)
    assert said.permission == "ask"
    assert "the approval policy failed: Hostile: its text cannot be shown" in said.reason


def test_arguments_are_not_in_the_query_s_own_text() -> None:
    assert "500" not in repr(QUERY)
