"""The port's back door, for who looks a store over, clears it out or puts a copy in: rows as they are kept, undecoded.

Nothing that runs agents uses it. Every row says by public ids what it belongs to, and None where that is not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from pawl.runtime.records.journal import JournalEntry

Table: TypeAlias = Literal["agents", "owners", "contents", "requests", "decisions", "intents"]
"""What is looked through from end to end; executions, journal and tools are looked through by agent."""


@attrs.frozen
class Stored:
    """One row. `body` is its record (a content's body, a journal record's meta; empty without one), as UTF-8 where it
    is what was written. `columns` repeat what the adapter keeps beside it. `place` is where the next page goes on.
    """

    key: str
    body: bytes
    columns: dict[str, Any] = attrs.field(factory=dict)
    place: Any = None


@attrs.frozen
class Stray:
    """A row that belongs to nothing: `what` is missing for the row `key` of `table`."""

    table: str
    key: str
    what: str


@attrs.frozen
class Cleared:
    """What was removed, in rows, and the bytes of their records and bodies."""

    agents: int = 0
    executions: int = 0
    journal: int = 0
    tools: int = 0
    decisions: int = 0
    owners: int = 0
    contents: int = 0
    bytes: int = 0

    def __add__(self, other: Cleared) -> Cleared:
        return Cleared(*(a + b for a, b in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))


class Upkeep(Protocol):
    """Looking over, clearing out, putting in."""

    # looking over -------------------------------------------------------------------------------------------

    def problems(self) -> Sequence[str]:
        """What is wrong with the file or the indexes as such, in words; nothing when all is well."""

    def counts(self) -> dict[str, int]:
        """Rows by table."""

    def rows(self, table: Table, after: Any = None, limit: int = 500) -> Sequence[Stored]:
        """Rows behind the place `after`, in order of place."""

    def agent(self, agent_id: str) -> Stored | None:
        """One row of the agents, None when it is not there."""

    def executions(self, agent_id: str, after: Any = None, limit: int = 500) -> Sequence[Stored]:
        """The executions of an agent."""

    def journal(self, agent_id: str, after: int = 0, limit: int = 500) -> Sequence[Stored]:
        """The journal of an agent: keys are positions, columns `execution_id`, `kind`, `at` and `digest` (None without
        a body, "missing" where it is gone).
        """

    def tools(self, execution_id: str) -> Sequence[Stored]:
        """The tool rows of an execution."""

    def strays(self, limit: int = 100) -> Sequence[Stray]:
        """Rows whose agent, execution or request is not there."""

    def has_content(self, digest: str) -> bool:
        """Whether there is a body under that digest, right or wrong."""

    def has_execution(self, execution_id: str) -> bool:
        """Whether there is such an execution, readable or not."""

    def request_of(self, request_id: str) -> str | None:
        """The execution that a request is known to be of, pending or not."""

    # clearing out -------------------------------------------------------------------------------------------

    def forget(self, agent_id: str, upto: int, executions: Sequence[str], requests: Sequence[str]) -> Cleared:
        """Remove executions with their tools and intents, the journal up to a position, requests with their decisions.
        That they are the oldest and wanted by nobody, the caller has seen to.
        """

    def forget_agent(self, agent_id: str) -> Cleared:
        """Remove a root that has no execution any more."""

    def begin_sweep(self, sweep: str) -> None:
        """From now on the store notes which bodies are stored again. A sweep before this one has ended."""

    def unused(
        self, forgotten: Mapping[str, int] | None = None, executions: Collection[str] = frozenset()
    ) -> Sequence[Any]:
        """The places of bodies that nothing refers to. Asked behind `begin_sweep`, on any later snapshot. As if the
        journals of agents were forgotten up to a position, and those executions.
        """

    def weigh(
        self, agent_id: str, upto: int, executions: Sequence[str], requests: Sequence[str], whole: bool
    ) -> Cleared:
        """What `forget`, and `forget_agent` where it goes whole, would remove."""

    def weigh_contents(self, places: Sequence[Any]) -> Cleared:
        """What `sweep` would remove."""

    def sweep(self, sweep: str, places: Sequence[Any]) -> Cleared:
        """Remove those of the bodies that were not stored again. Nothing when another sweep has begun."""

    def end_sweep(self, sweep: str) -> None:
        """Note nothing any more."""

    # putting in ---------------------------------------------------------------------------------------------

    def place_request(self, request_id: str, execution_id: str) -> None:
        """Know an earlier request as one of an execution."""

    def place_journal(self, agent_id: str, first: int, entries: Sequence[JournalEntry]) -> None:
        """The journal of an agent that has none, from position `first` on. Raises StoreCorrupt when it has one."""
