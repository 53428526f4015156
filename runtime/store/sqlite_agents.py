"""Agent roots and process leases in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.codec import decode, encode
from pawl.runtime.records.errors import AgentExists
from pawl.runtime.store.rules import no_agent
from pawl.runtime.store.sqlite_rows import Rows, decoded

_OF_AGENT = "(SELECT id FROM executions WHERE agent = ?)"
_DELETES = (
    f"DELETE FROM decisions WHERE request_id IN (SELECT request_id FROM requests WHERE execution IN {_OF_AGENT})",
    f"DELETE FROM requests WHERE execution IN {_OF_AGENT}",
    f"DELETE FROM tools WHERE execution IN {_OF_AGENT}",
    "DELETE FROM intents WHERE execution_id IN (SELECT execution_id FROM executions WHERE agent = ?)",
    "DELETE FROM journal WHERE agent = ?",
    "DELETE FROM executions WHERE agent = ?",
    "DELETE FROM agents WHERE id = ?",
)


class SqliteAgents:
    """Roots, each replaced in place."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, root: AgentRoot) -> None:
        """Add a root. Raises AgentExists."""
        try:
            made = self._rows.execute(
                "INSERT INTO agents (agent_id, owner, record) VALUES (?, ?, ?)",
                (root.agent_id, root.owner, encode(root)),
            )
        except sqlite3.IntegrityError as error:
            raise AgentExists(f"agent {root.agent_id!r} exists already; `load` or `open` it") from error
        assert made.lastrowid is not None
        self._rows.agents[root.agent_id] = made.lastrowid
        self._rows.roots[root.agent_id] = root

    def get(self, agent_id: str) -> AgentRoot | None:
        """The root, or None."""
        root = self._rows.roots.get(agent_id)
        if root is not None:
            return root
        found = self._rows.execute("SELECT id, record FROM agents WHERE agent_id = ?", (agent_id,)).fetchone()
        if found is None:
            return None
        self._rows.agents[agent_id] = found[0]
        root = self._rows.roots[agent_id] = decoded(found[1], AgentRoot, agent_id, "agent_id")
        return root

    def save(self, root: AgentRoot) -> None:
        """Replace the root of that id. Raises AgentNotFound."""
        done = self._rows.execute(
            "UPDATE agents SET owner = ?, record = ? WHERE agent_id = ?", (root.owner, encode(root), root.agent_id)
        )
        if done.rowcount == 0:
            raise no_agent(root.agent_id)
        self._rows.roots[root.agent_id] = root

    def list(self, after: str = "", limit: int = 100) -> Sequence[AgentRoot]:
        """Roots in id order, after an id."""
        found = self._rows.all("SELECT record FROM agents WHERE agent_id > ? ORDER BY agent_id LIMIT ?", (after, limit))
        return [decode(record, AgentRoot) for (record,) in found]

    def delete(self, agent_id: str) -> None:
        """Remove the root with all that belongs to it; contents stay."""
        row = self._rows.known_agent(agent_id)
        if row is None:
            return
        for statement in _DELETES:
            self._rows.execute(statement, (row,))
        self._rows.forget()


class SqliteOwners:
    """Leases, one row a process."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, owner: Owner) -> None:
        """Insert or renew."""
        self._rows.execute(
            "INSERT INTO owners VALUES (?, ?, ?) ON CONFLICT (owner_id) DO UPDATE SET "
            "expires_at = excluded.expires_at, record = excluded.record",
            (owner.owner_id, owner.expires_at, encode(owner)),
        )

    def get(self, owner_id: str) -> Owner | None:
        """The lease, or None."""
        found = self._rows.execute("SELECT record FROM owners WHERE owner_id = ?", (owner_id,)).fetchone()
        return None if found is None else decoded(found[0], Owner, owner_id, "owner_id")

    def list(self) -> Sequence[Owner]:
        """All leases, in order of id."""
        return [decode(record, Owner) for (record,) in self._rows.all("SELECT record FROM owners ORDER BY owner_id")]

    def delete(self, owner_id: str) -> None:
        """Remove the lease."""
        self._rows.execute("DELETE FROM owners WHERE owner_id = ?", (owner_id,))
