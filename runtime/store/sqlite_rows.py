"""What a connection knows of the rows it has met, so that it asks for nothing twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.codec import decode
from pawl.runtime.records.errors import ExecutionNotFound, StoreCorrupt
from pawl.runtime.store.rules import no_agent

T = TypeVar("T")


KNOWN: Final = 10_000
"""How many rows are remembered before all of them are forgotten."""


class Rows:
    """A connection's `execute`, with what it has read or written and nobody can have changed since.

    A reader forgets before every snapshot. The writer keeps what it knows from one transaction to the next for as long
    as no other connection has committed, and forgets whenever something is undone. Whoever deletes forgets as well.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.execute = connection.execute
        self.execute_many = connection.executemany
        self.roots: dict[str, AgentRoot] = {}
        """By id: the agent's root as it stands."""
        self.agents: dict[str, int] = {}
        self.executions: dict[str, tuple[int, int]] = {}
        """By id: the row numbers of the execution and of its agent."""
        self.contents: dict[bytes, int] = {}
        """By digest."""
        self.heads: dict[int, int] = {}
        """By the row number of an agent: where its journal stands."""

    def all(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Every row at once. A cursor that is left open, in the traceback of a record that does not decode, would hold
        its snapshot for as long as somebody holds the error.
        """
        return self.execute(query, values).fetchall()

    @property
    def known(self) -> int:
        """How much is remembered; about everything that is written brings a body."""
        return len(self.contents) + len(self.executions)

    def forget(self) -> None:
        """Start anew."""
        self.roots.clear()
        self.agents.clear()
        self.executions.clear()
        self.contents.clear()
        self.heads.clear()

    def agent(self, agent_id: str) -> int:
        """The row number of an agent. Raises AgentNotFound."""
        row = self.known_agent(agent_id)
        if row is None:
            raise no_agent(agent_id)
        return row

    def known_agent(self, agent_id: str) -> int | None:
        """The row number of an agent, or None."""
        row = self.agents.get(agent_id)
        if row is None:
            found = self.execute("SELECT id FROM agents WHERE agent_id = ?", (agent_id,)).fetchone()
            if found is not None:
                (row,) = found
                self.agents[agent_id] = row
        return row

    def execution(self, execution_id: str) -> tuple[int, int]:
        """The row numbers of an execution and of its agent. Raises ExecutionNotFound."""
        found = self.executions.get(execution_id)
        if found is None:
            found = self.execute("SELECT id, agent FROM executions WHERE execution_id = ?", (execution_id,)).fetchone()
            if found is None:
                raise ExecutionNotFound(f"there is no execution {execution_id!r}; insert it before what belongs to it")
            self.executions[execution_id] = found
        return found


def decoded(text: str, record: type[T], key: str, attribute: str) -> T:
    """A stored record, which must say of itself what it was stored as. Raises StoreCorrupt, CodecError."""
    value = decode(text, record)
    if getattr(value, attribute) != key:
        raise StoreCorrupt(f"the record stored as {key!r} says it is {getattr(value, attribute)!r}")
    return value
