"""What is known of the calls of one model answer, and the questions that decide what to do with them."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Literal, assert_never

import attrs

from pawl.runtime.records.frozen import replace
from pawl.runtime.records.tools import ToolRow, ToolStatus


class Rank(IntEnum):
    """How far a child has come, as its parent knows it from the child's news. It never goes back."""

    NEW = 0
    AWAITING = 1
    DECIDING = 2
    AUTHORIZED = 3
    DISPATCHED = 4
    TERMINAL = 5


def rank_of(status: ToolStatus) -> Rank:
    """How far a call has come whose row says this."""
    match status:
        case ToolStatus.NEW:
            return Rank.NEW
        case ToolStatus.AWAITING_APPROVAL:
            return Rank.AWAITING
        case ToolStatus.AUTHORIZED:
            return Rank.AUTHORIZED
        case ToolStatus.PENDING:
            return Rank.NEW  # whoever ran it is gone
        case ToolStatus.COMPLETED | ToolStatus.FAILED | ToolStatus.REJECTED | ToolStatus.CANCELLED | ToolStatus.UNKNOWN:
            return Rank.TERMINAL
        case _:
            assert_never(status)


_SETTLED = frozenset({Rank.AWAITING, Rank.AUTHORIZED, Rank.TERMINAL})
_OVER = frozenset({Rank.TERMINAL})


def spoken(row: ToolRow, body: str | None) -> str:
    """The text that a model gets for a call; `body` is its result, where there is one."""
    match row.status:
        case ToolStatus.FAILED:
            return f"error: {row.error.message}" if row.error is not None else "error"
        case ToolStatus.REJECTED:
            return f"rejected: {row.message}" if row.message else "rejected"
        case ToolStatus.CANCELLED:
            return "not run"
        case _:
            return body or ""


@attrs.frozen(slots=False)
class ChildFact:
    """One call. `lost`: its row is pending, and whoever ran it is gone; `mark` is what recovery found out about it.

    `tells_model`: a failure of it is told to the model and does not end the run.
    """

    row: ToolRow
    rank: Rank
    text: str = ""
    tells_model: bool = True
    lost: bool = False
    mark: Literal["run", "ask"] | None = None

    @classmethod
    def stored(cls, row: ToolRow, body: str | None, tells_model: bool) -> ChildFact:
        """The fact that a stored row is to a later process."""
        rank = rank_of(row.status)
        return cls(row, rank, spoken(row, body), tells_model, lost=row.status is ToolStatus.PENDING)

    @property
    def runnable(self) -> bool:
        """Lost, and may be run again without asking."""
        if not self.lost or self.mark == "ask":
            return False
        return self.mark == "run" or self.row.repeatable

    @property
    def to_probe(self) -> bool:
        """Lost, and its tool can say whether it ran."""
        return self.lost and self.mark is None and self.row.policy == "probe"

    @property
    def to_ask(self) -> bool:
        """Lost, and only a person or the application knows."""
        return self.lost and not self.runnable and not self.to_probe


@attrs.frozen(slots=False)
class Batch:
    """The children of one answer, in call order, under the agent's `on_rejection`.

    `ranks` and `statuses` are those that some child has: what a batch is asked, several times a step, is mostly about
    them.
    """

    llm_call_id: str
    children: tuple[ChildFact, ...]
    rejection_ends: bool = True
    ranks: frozenset[Rank] = attrs.field(init=False, repr=False, eq=False)
    statuses: frozenset[ToolStatus] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "ranks", frozenset([child.rank for child in self.children]))
        object.__setattr__(self, "statuses", frozenset([child.row.status for child in self.children]))

    def find(self, tool_invocation_id: str) -> ChildFact | None:
        """The fact of one child, or None."""
        return next((child for child in self.children if child.row.tool_invocation_id == tool_invocation_id), None)

    def of_call(self, tool_call_id: str) -> ChildFact | None:
        """The fact of one tool call, or None."""
        return next((child for child in self.children if child.row.tool_call_id == tool_call_id), None)

    def told(self, row: ToolRow, text: str) -> Batch:
        """With a child's news; news that would lower its rank changes nothing."""
        rank = rank_of(row.status)
        return self._each(
            lambda child: (
                replace(child, row=row, text=text, rank=rank, lost=False)
                if child.row.tool_invocation_id == row.tool_invocation_id and rank > child.rank
                else child
            )
        )

    def ranked(self, rank: Rank, *tool_invocation_ids: str) -> Batch:
        """With the parent's own mark on some children: `deciding` or `dispatched`."""
        return self._each(
            lambda child: (
                replace(child, rank=rank, lost=False) if child.row.tool_invocation_id in tool_invocation_ids else child
            )
        )

    def marked(self, tool_invocation_id: str, mark: Literal["run", "ask"]) -> Batch:
        """With what recovery found out about a lost child."""
        return self._each(
            lambda child: replace(child, mark=mark) if child.row.tool_invocation_id == tool_invocation_id else child
        )

    def with_row(self, row: ToolRow, body: str | None) -> Batch:
        """With a row that a barrier has written for a child."""
        return self._each(
            lambda child: (
                ChildFact.stored(row, body, child.tells_model)
                if child.row.tool_invocation_id == row.tool_invocation_id
                else child
            )
        )

    def _each(self, change: Callable[[ChildFact], ChildFact]) -> Batch:
        return Batch(self.llm_call_id, tuple([change(child) for child in self.children]), self.rejection_ends)

    def counts(self, child: ChildFact) -> bool:
        """Whether the child's rejection ends the run."""
        return child.row.status is ToolStatus.REJECTED and self.rejection_ends

    def answered(self, child: ChildFact) -> bool:
        """Whether the model gets an answer for it and the run goes on."""
        match child.row.status:
            case ToolStatus.COMPLETED:
                return True
            case ToolStatus.FAILED:
                return child.tells_model
            case ToolStatus.REJECTED:
                return not self.rejection_ends
            case _:
                return False

    @property
    def settled(self) -> bool:
        """Every child settled in preflight."""
        return self.ranks <= _SETTLED

    @property
    def said_no(self) -> bool:
        """Somebody, or a policy, rejected a call, and that ends the run."""
        return self.rejection_ends and ToolStatus.REJECTED in self.statuses

    @property
    def failed(self) -> bool:
        """Some child failed or was cancelled for good, and nobody said no."""
        return (
            Rank.TERMINAL in self.ranks
            and any(
                (child.row.status is ToolStatus.FAILED and not child.tells_model)
                or child.row.status is ToolStatus.CANCELLED
                for child in self.children
                if child.rank is Rank.TERMINAL
            )
            and self.settled
            and not self.said_no
        )

    @property
    def rejected(self) -> bool:
        """Somebody, or a policy, said no, and every sibling is done with what it was doing."""
        return self.said_no and self.settled

    @property
    def completed(self) -> bool:
        """Every call has its answer."""
        return self.ranks <= _OVER and all(map(self.answered, self.children))

    @property
    def approval_required(self) -> bool:
        """Somebody has to decide, and nothing stands in the way of asking."""
        return Rank.AWAITING in self.ranks and self.settled and not self.said_no

    @property
    def ready(self) -> bool:
        """Some child may run, and every other has its answer."""
        return (
            Rank.AUTHORIZED in self.ranks
            and self.settled
            and all(child.rank is Rank.AUTHORIZED or self.answered(child) for child in self.children)
        )
