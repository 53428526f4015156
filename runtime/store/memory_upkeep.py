"""Looking over, clearing out and putting in, in memory: nothing else writes meanwhile, so a sweep needs no notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pawl.runtime.records.errors import StoreCorrupt
from pawl.runtime.records.journal import JournalEntry
from pawl.runtime.store.upkeep import Cleared, Stored, Stray, Table

if TYPE_CHECKING:
    from pawl.runtime.store.memory_tables import MemoryTransaction, Tables

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


class MemoryUpkeep:
    """The back door of a store in memory."""

    def __init__(self, tables: Tables, transaction: MemoryTransaction) -> None:
        self._tables, self._transaction = tables, transaction

    # --- looking over ---

    def problems(self) -> Sequence[str]:
        """Dicts have no file to be damaged."""
        return ()

    def counts(self) -> dict[str, int]:
        """Rows by table."""
        return {table: len(getattr(self._tables, table)) for table in (*_SIMPLE, "executions", "journal", "tools")}

    def rows(self, table: Table, after: Any = None, limit: int = 500) -> Sequence[Stored]:
        """Rows behind a place."""
        kept: dict[Any, str] = getattr(self._tables, table)
        keys = (key for key in sorted(kept) if after is None or key > after)
        return [self._row(table, key, kept[key]) for key in islice(keys, limit)]

    def _row(self, table: Table, key: Any, text: str) -> Stored:
        tables = self._tables
        columns: dict[str, Any] = {}
        if table == "requests":
            return Stored(key, b"", {"execution_id": text if text in tables.executions else None}, key)
        if table == "decisions":
            request, call = key
            columns = {"tool_call_id": call, "execution_id": tables.requests.get(request)}
            return Stored(request, _bytes(text), columns, key)
        return Stored(key, _bytes(text), columns, key)

    def agent(self, agent_id: str) -> Stored | None:
        """One row of the agents."""
        text = self._tables.agents.get(agent_id)
        return None if text is None else self._row("agents", agent_id, text)

    def executions(self, agent_id: str, after: Any = None, limit: int = 500) -> Sequence[Stored]:
        """The executions of an agent."""
        mine = ((self._tables.made[name][1], name) for _, name in self._tables.starts_of(agent_id))
        places = sorted(place for place in mine if after is None or place > after)[:limit]
        return [
            Stored(name, _bytes(text), {"awaiting": awaiting}, (at, name))
            for at, name in places
            for text, awaiting in [self._tables.executions[name]]
        ]

    def journal(self, agent_id: str, after: int = 0, limit: int = 500) -> Sequence[Stored]:
        """The journal of an agent."""
        tables, found = self._tables, []
        last = tables.heads.get(agent_id, 0)
        for place in range(max(after, 0) + 1, last + 1):
            row = tables.journal.get((agent_id, place))
            if row is None:
                continue
            kind, execution, at, digest, meta = row
            gone = digest is not None and digest not in tables.contents
            columns = {
                "execution_id": execution if execution in tables.executions else None,
                "kind": kind,
                "at": at,
                "digest": "missing" if gone else digest,
            }
            found.append(Stored(str(place), _bytes(meta), columns, place))
            if len(found) == limit:
                break
        return found

    def tools(self, execution_id: str) -> Sequence[Stored]:
        """The tool rows of an execution."""
        names = self._tables.tools_of.get(execution_id, ())
        return [Stored(name, _bytes(self._tables.tools[name])) for name in names if name in self._tables.tools]

    def strays(self, limit: int = 100) -> Sequence[Stray]:
        """Rows that belong to nothing."""
        return list(islice(self._strays(), limit))

    def _strays(self) -> Iterable[Stray]:
        tables = self._tables
        for agent_id, start_id in tables.starts:
            if agent_id not in tables.agents:
                yield Stray("executions", tables.starts[agent_id, start_id], "agent")
        for agent_id, place in tables.journal:
            if agent_id not in tables.agents:
                yield Stray("journal", f"{agent_id}:{place}", "agent")
        for execution, names in tables.tools_of.items():
            if execution not in tables.executions:
                yield from (Stray("tools", name, "execution") for name in names)
        for request, execution in tables.requests.items():
            if execution not in tables.executions:
                yield Stray("requests", request, "execution")
        for request, call in tables.decisions:
            if request not in tables.requests:
                yield Stray("decisions", f"{request} {call}", "request")
        for execution in tables.intents:
            if execution not in tables.executions:
                yield Stray("intents", execution, "execution")

    def has_content(self, digest: str) -> bool:
        """Whether there is a body under that digest."""
        return digest in self._tables.contents

    def has_execution(self, execution_id: str) -> bool:
        """Whether there is such an execution."""
        return execution_id in self._tables.executions

    def request_of(self, request_id: str) -> str | None:
        """The execution that a request is known to be of."""
        return self._tables.requests.get(request_id)

    # --- clearing out ---

    def weigh(
        self, agent_id: str, upto: int, executions: Sequence[str], requests: Sequence[str], whole: bool
    ) -> Cleared:
        """What would be removed."""
        tables = self._tables
        journal = [tables.journal[place][4] for place in self._places(agent_id, upto)]
        decisions = [tables.decisions[key] for key in self._decided(requests)]
        tools = [tables.tools[name] for name in self._called(executions)]
        texts = [*journal, *decisions, *tools, *(tables.executions[name][0] for name in executions)]
        texts += [tables.agents[agent_id]] if whole else []
        freed = sum(len(_bytes(text)) for text in texts)
        return Cleared(int(whole), len(executions), len(journal), len(tools), len(decisions), bytes=freed)

    def _places(self, agent_id: str, upto: int) -> list[tuple[str, int]]:
        return [(agent_id, place) for place in range(1, upto + 1) if (agent_id, place) in self._tables.journal]

    def _decided(self, requests: Sequence[str]) -> list[tuple[str, str]]:
        return [key for request in requests for key in self._tables.decisions_of.get(request, ())]

    def _called(self, executions: Sequence[str]) -> list[str]:
        return [name for execution in executions for name in self._tables.tools_of.get(execution, ())]

    def forget(self, agent_id: str, upto: int, executions: Sequence[str], requests: Sequence[str]) -> Cleared:
        """Remove executions with all that is theirs."""
        cleared = self.weigh(agent_id, upto, executions, requests, False)
        tables, gone = self._tables, set(executions)
        removed: list[tuple[dict[Any, Any], Sequence[Any]]] = [
            (tables.journal, self._places(agent_id, upto)),
            (tables.decisions, self._decided(requests)),
            (tables.decisions_of, requests),
            (tables.requests, requests),
            (tables.tools, self._called(executions)),
            (tables.tools_of, executions),
            (tables.intents, executions),
            (tables.starts, [key for key, name in tables.starts_of(agent_id) if name in gone]),
            (tables.executions, executions),
            (tables.made, executions),
        ]
        for table, keys in removed:
            tables.drop(table, keys)
        return cleared

    def forget_agent(self, agent_id: str) -> Cleared:
        """Remove a root that has no execution any more."""
        text = self._tables.agents.get(agent_id)
        if text is None or self._tables.starts_of(agent_id):
            return Cleared()
        self._tables.drop(self._tables.agents, (agent_id,))
        self._tables.drop(self._tables.heads, (agent_id,))
        return Cleared(agents=1, bytes=len(_bytes(text)))

    def begin_sweep(self, sweep: str) -> None:
        """From now on the store notes which bodies are stored again."""
        tables = self._tables
        tables.drop(tables.stored_again, tuple(tables.stored_again))
        tables.put(tables.sweeps, "sweep", sweep)

    def unused(
        self, forgotten: Mapping[str, int] | None = None, executions: Collection[str] = frozenset()
    ) -> Sequence[str]:
        """The digests of bodies that nothing refers to."""
        tables, upto = self._tables, forgotten or {}
        used = {row[3] for (agent, place), row in tables.journal.items() if place > upto.get(agent, 0)}
        for name, (text, _) in tables.executions.items():
            if name not in executions:
                called = [tables.tools[tool] for tool in tables.tools_of.get(name, ())]
                used.update(digest for record in (text, *called) for digest in _DIGEST.findall(record))
        return [digest for digest in tables.contents if digest not in used]

    def weigh_contents(self, places: Sequence[Any]) -> Cleared:
        """What a sweep would remove."""
        return Cleared(contents=len(places), bytes=sum(len(_bytes(self._tables.contents[name])) for name in places))

    def sweep(self, sweep: str, places: Sequence[Any]) -> Cleared:
        """Remove those of the bodies that were not stored again."""
        tables = self._tables
        if tables.sweeps.get("sweep") != sweep:
            return Cleared()
        gone = [digest for digest in places if digest in tables.contents and digest not in tables.stored_again]
        freed = sum(len(_bytes(tables.contents[digest])) for digest in gone)
        tables.drop(tables.contents, gone)
        return Cleared(contents=len(gone), bytes=freed)

    def end_sweep(self, sweep: str) -> None:
        """Note nothing any more."""
        if self._tables.sweeps.get("sweep") == sweep:
            self._tables.drop(self._tables.sweeps, ("sweep",))
            self._tables.drop(self._tables.stored_again, tuple(self._tables.stored_again))

    # --- putting in ---

    def place_request(self, request_id: str, execution_id: str) -> None:
        """Know an earlier request as one of an execution."""
        if request_id not in self._tables.requests:
            self._tables.put(self._tables.requests, request_id, execution_id)

    def place_journal(self, agent_id: str, first: int, entries: Sequence[JournalEntry]) -> None:
        """The journal of an agent that has none."""
        if self._tables.heads.get(agent_id, 0):
            raise StoreCorrupt(f"agent {agent_id!r} has a journal already")
        self._tables.put(self._tables.heads, agent_id, first - 1)
        self._transaction.journal.append(agent_id, first - 1, entries)


_SIMPLE: Final = ("agents", "owners", "contents", "requests", "decisions", "intents")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
