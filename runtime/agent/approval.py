"""Who may let a tool call run: nobody is asked, a person is, or a policy decides."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from pawl.runtime.agent.asynchronous import is_async
from pawl.runtime.agent.callback import callback_of
from pawl.runtime.agent.context import ToolContext
from pawl.runtime.agent.filters import in_short
from pawl.runtime.agent.freeze import freeze_mapping
from pawl.runtime.agent.spoken import said
from pawl.runtime.records.errors import InvalidArguments

Permission = Literal["allow", "ask", "reject"]


@attrs.frozen
class ApprovalQuery:
    """What a policy is asked about. Values only: the JSON parts are deep-frozen, nothing in here is alive.

    `arguments` are the real ones, redacted fields included: what a policy says of its reason is shown to people.
    """

    agent_id: str
    definition: str
    version: int
    execution_id: str
    tool: str
    tool_call_id: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping, repr=False)
    durable_context: Mapping[str, Any] = attrs.field(factory=dict, converter=freeze_mapping)


@attrs.frozen
class Authorization:
    """What is permitted, and why: the reason is shown to the person who is asked, or to the model."""

    permission: Permission
    reason: str = ""


PolicyAnswer: TypeAlias = Permission | tuple[Permission, str] | Authorization
"""What a policy returns; a tuple adds a reason. No bool: True could mean "ask" as well as "allow"."""

_Said: TypeAlias = str | tuple[str, str] | Authorization

Policy: TypeAlias = (
    Callable[[ApprovalQuery], _Said | Awaitable[_Said]]
    | Callable[[ApprovalQuery, ToolContext[Any]], _Said | Awaitable[_Said]]
)
"""A function of the query, or of the query and a ToolContext, where it finds `deps`. It returns a PolicyAnswer; one
that is annotated with a plain `str` is a policy too, and what is no answer leaves it to a person."""

ApprovalRule: TypeAlias = bool | Permission | Policy

_PERMISSIONS: Final = ("allow", "ask", "reject")

_RETURN: Final = "return 'allow', 'ask' or 'reject', a pair of one of these and a reason, or an Authorization"


class NoAnswer(TypeError):
    """A policy returned what is no PolicyAnswer."""


@attrs.frozen
class Approval:
    """The rule of one tool: `fixed`, or else a `policy`. A policy that fails in any way leaves it to a person.

    So does one that returns anything but a PolicyAnswer, bools included.
    """

    fixed: Authorization | None = None
    policy: Policy | None = None
    wants: int = 1

    @property
    def is_async(self) -> bool:
        """Whether the policy is `async def`: then it is asked with `ask_async`."""
        return self.policy is not None and is_async(self.policy)

    def ask(
        self, query: ApprovalQuery, context: ToolContext[Any] | None = None, *, quiet: bool = False
    ) -> Authorization:
        """Ask a synchronous policy. Never raises: what goes wrong is asked of a person, with the reason.

        `quiet`: what it raised is named without its words, which may quote arguments that are redacted.
        """
        if self.fixed is not None:
            return self.fixed
        try:
            answer = self._call(query, context)
            if inspect.isawaitable(answer):
                close = getattr(answer, "close", None)
                if close:
                    close()
                raise TypeError("it returned an awaitable; make the policy `async def`")
            return read_answer(answer)
        except Exception as error:
            return _closed(error, quiet)

    async def ask_async(
        self, query: ApprovalQuery, context: ToolContext[Any] | None = None, *, quiet: bool = False
    ) -> Authorization:
        """Ask any policy on the event loop. Raises CancelledError only."""
        if self.fixed is not None:
            return self.fixed
        try:
            answer = self._call(query, context)
            return read_answer(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:
            return _closed(error, quiet)

    def _call(self, query: ApprovalQuery, context: ToolContext[Any] | None) -> Any:
        policy: Any = self.policy
        offered = (query, context if context is not None else ToolContext())
        return policy(*offered[: self.wants])


def approval_of(rule: object, where: str) -> Approval:
    """The `approval=` of a tool. Raises InvalidArguments."""
    if isinstance(rule, Approval):
        return rule
    if callable(rule) and not isinstance(rule, type):
        return Approval(policy=cast(Policy, rule), wants=callback_of(rule, "approval policy", where, 1, 2).wants)
    try:
        return Approval(fixed=read_answer(_word(rule)))
    except TypeError:
        raise InvalidArguments(
            f"{where}: approval={rule!r:.60} is unknown; give False or 'allow', True or 'ask', 'reject', "
            "or a function of an ApprovalQuery that returns 'allow', 'ask' or 'reject'"
        ) from None


def _word(rule: object) -> object:
    """A rule in words: whether approval is needed is a question for yes and no, what a policy permits is none."""
    if isinstance(rule, bool):
        return "ask" if rule else "allow"
    return rule


def read_answer(answer: object) -> Authorization:
    """What a policy answered. Raises TypeError for anything but a PolicyAnswer."""
    if isinstance(answer, Authorization):
        permission, reason = answer.permission, answer.reason
    elif isinstance(answer, tuple) and len(answer) == 2:
        permission, reason = answer
    else:
        permission, reason = cast(Permission, answer), ""
    if not isinstance(permission, str) or permission not in _PERMISSIONS or not isinstance(reason, str):
        raise NoAnswer(f"the answer {answer!r:.80} permits nothing; {_RETURN}")
    try:
        reason.encode()
    except UnicodeEncodeError:
        raise TypeError(f"the reason {reason!r:.80} is not Unicode text (a lone surrogate)") from None
    # A StrEnum member is one of them too; the stored word is plain text.
    return Authorization(cast(Permission, str.__str__(permission)), in_short(reason))


def _closed(error: Exception, quiet: bool) -> Authorization:
    if isinstance(error, NoAnswer):
        words = f"TypeError: {f'the answer permits nothing; {_RETURN}' if quiet else said(error)}"
    else:
        words = type(error).__name__ + ("" if quiet else f": {said(error)}")
    return Authorization("ask", f"the approval policy failed: {words}"[:500])
