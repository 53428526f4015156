"""The port: operations are functions over a `Transaction`; a store runs them and gives one of five answers.

An operation is all or nothing. It raises a `PawlError` to be refused, `Fenced` when its authority has ended; what
the database itself raises is the adapter's to classify. Operations may run again (after `Unavailable`), so they
have no effect but through the transaction, and never call application code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

import attrs

from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.executions import Awaiting, ExecutionRecord, StopIntent
from pawl.runtime.records.journal import Content, JournalEntry, JournalRecord
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.answers import Answer
from pawl.runtime.store.unreadable import Surveyed
from pawl.runtime.store.upkeep import Upkeep

T = TypeVar("T")

LARGEST: Final = 2**63 - 1
"""The largest number that every store takes for a position or a limit."""


class Contents(Protocol):
    """Bodies by digest, stored once."""

    def put(self, content: Content) -> None:
        """Store a body; storing it again is nothing. Raises InvalidArguments for what is no digest."""

    def get(self, digest: str) -> str:
        """The body. Raises StoreCorrupt when it is missing or does not match its digest."""


class Agents(Protocol):
    """Agent roots."""

    def insert(self, root: AgentRoot) -> None:
        """Add a root. Raises AgentExists."""

    def get(self, agent_id: str) -> AgentRoot | None:
        """The root, or None."""

    def save(self, root: AgentRoot) -> None:
        """Replace the root of that id. Raises AgentNotFound."""

    def list(self, after: str = "", limit: int = 100) -> Sequence[AgentRoot]:
        """Roots in id order, after an id."""

    def delete(self, agent_id: str) -> None:
        """Remove the root with all its executions, journal, tools, intents and decisions; contents may stay.
        Nothing when there is none."""


class Journal(Protocol):
    """Appended records, by agent, in contiguous positions from 1."""

    def position(self, agent_id: str) -> int:
        """The last position of an agent; 0 before the first record, and for an agent that is not there."""

    def append(self, agent_id: str, position: int, entries: Sequence[JournalEntry]) -> None:
        """Append after `position`, with their contents. Raises StoreCorrupt when `position` is not the last one,
        AgentNotFound, ExecutionNotFound (insert the execution first), WrongAgent (it is another's)."""

    def read(self, agent_id: str, after: int = 0, limit: int = 1000) -> Sequence[JournalRecord]:
        """Records after a position, in order, bodies included."""

    def transcript(self, agent_id: str, execution_id: str | None = None, after: int = 0) -> Sequence[JournalRecord]:
        """Message records visible to a run: of executions that ended completed, rejected or handed off, and of
        `execution_id`."""


class Executions(Protocol):
    """Execution records."""

    def insert(self, record: ExecutionRecord) -> None:
        """Add a record. Raises AgentBusy when the agent has another nonterminal one, IdConflict for a used id."""

    def get(self, execution_id: str) -> ExecutionRecord | None:
        """The record, or None."""

    def of_start(self, agent_id: str, start_id: str) -> ExecutionRecord | None:
        """The record that a caller's start id made, or None."""

    def of_request(self, request_id: str) -> ExecutionRecord | None:
        """The execution whose current approval request has that id, or None."""

    def save(self, record: ExecutionRecord, expected_revision: int, awaiting: Awaiting | None = None) -> bool:
        """Replace the record if its stored revision is `expected_revision`; False when it is not. Raises AgentBusy
        when it would be the agent's second nonterminal one, IdConflict when its agent, start id or creation time is
        another one."""

    def rest(self, execution_id: str, awaiting: Awaiting | None) -> None:
        """Note what an execution at rest waits for; own column, no revision. Raises ExecutionNotFound."""

    def find(self, prefix: str, limit: int = 20) -> Sequence[str]:
        """Execution ids that start with `prefix`."""

    def list(
        self, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[tuple[ExecutionRecord, Awaiting | None]]:
        """Records in order of creation (created_at, id); `after` is the last id seen. Raises ExecutionNotFound when
        that one is gone, CodecError when one of them cannot be decoded."""

    def survey(
        self, agent_id: str | None = None, open_only: bool = False, after: str = "", limit: int = 100
    ) -> Sequence[tuple[Surveyed, Awaiting | None]]:
        """As `list`, but what cannot be decoded is told in its place, and hides none of the others."""

    def adoptable(self, owner_id: str, now: float, limit: int = 100, after: str = "") -> Sequence[Surveyed]:
        """Nonterminal records that wait for nothing and whose agent has no owner, or one whose lease ran out, or a
        deadline of which has passed while they wait; those of `owner_id` itself not. In order of creation, behind the
        execution `after`. What cannot be decoded is told in its place: it is nobody's to adopt. Raises
        ExecutionNotFound for that id."""


class Tools(Protocol):
    """Rows of tool calls."""

    def put(self, rows: Sequence[ToolRow]) -> None:
        """Insert or replace rows by tool_invocation_id. Raises ExecutionNotFound, IdConflict when the row belongs to
        another execution or model call."""

    def get(self, tool_invocation_id: str) -> ToolRow | None:
        """One row, or None."""

    def of_execution(self, execution_id: str, llm_call_id: str | None = None) -> Sequence[ToolRow]:
        """The rows of an execution (of one model answer), in order of (creation, index)."""


class Decisions(Protocol):
    """Receipts of decided items; single use."""

    def put(self, receipts: Sequence[Receipt]) -> None:
        """Insert; the same receipt again is nothing. Raises AlreadyDecided when an item has another one."""

    def of_request(self, request_id: str) -> Sequence[Receipt]:
        """All receipts of a request, in order of decision."""


class Intents(Protocol):
    """Stop intents, one an execution; the first one stays."""

    def put(self, intent: StopIntent) -> StopIntent:
        """Write it unless there is one; the one that stands is returned."""

    def get(self, execution_id: str) -> StopIntent | None:
        """The intent, or None."""


class Owners(Protocol):
    """Leases of processes."""

    def put(self, owner: Owner) -> None:
        """Insert or renew."""

    def get(self, owner_id: str) -> Owner | None:
        """The lease, or None."""

    def list(self) -> Sequence[Owner]:
        """All leases, in order of owner id."""

    def delete(self, owner_id: str) -> None:
        """Remove the lease."""


class Transaction(Protocol):
    """One atomic unit over all repositories."""

    @property
    def contents(self) -> Contents:
        """The contents repository."""

    @property
    def agents(self) -> Agents:
        """The agents repository."""

    @property
    def journal(self) -> Journal:
        """The journal repository."""

    @property
    def executions(self) -> Executions:
        """The executions repository."""

    @property
    def tools(self) -> Tools:
        """The tools repository."""

    @property
    def decisions(self) -> Decisions:
        """The decisions repository."""

    @property
    def intents(self) -> Intents:
        """The intents repository."""

    @property
    def owners(self) -> Owners:
        """The owners repository."""

    @property
    def upkeep(self) -> Upkeep:
        """The back door, for looking over, clearing out and putting in."""


Operation = Callable[[Transaction], T]


@attrs.frozen
class StoreInfo:
    """What a store says of itself: adapter name, place without secrets, schema version."""

    adapter: str
    place: str
    schema: int


class Store(Protocol):
    """A durable store. One writer: operations run one after another, in the order of submission."""

    @property
    def info(self) -> StoreInfo:
        """What the store says of itself."""

    def open(self) -> None:
        """Open and migrate. Raises StoreUnavailable, StoreReadOnly, StoreCorrupt, SchemaTooNew."""

    def submit(self, operation: Operation[T], answer: Callable[[Answer[T]], None]) -> None:
        """Run `operation` in a write transaction; `answer` is called exactly once, from the store's own thread (from
        the caller's, inside this call, when the store is not open).

        After `Uncertain` the next operation that runs sees what is on disk, and what it does not see can no longer
        land: so read-backs are submitted, not read.

        Never raises for the operation's sake: everything becomes an answer, also after `close` (Unavailable).
        """

    def read(self, operation: Operation[T]) -> T:
        """Run a read-only operation now, on the caller's thread and a connection of its own; it never takes the
        write lock. Raises PawlError, StoreError. Blocking: not for the loop."""

    def close(self) -> None:
        """Answer what was submitted, then close. Idempotent."""
