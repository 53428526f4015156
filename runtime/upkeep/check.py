"""`check_store`: every stored invariant of a whole store, table by table and agent by agent; nothing is changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from pawl.runtime.records.agents import AgentRoot, Owner
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.executions import StopIntent
from pawl.runtime.store.port import Operation, Store, Transaction
from pawl.runtime.store.upkeep import Stored, Table
from pawl.runtime.upkeep.check_agent import check_agent
from pawl.runtime.upkeep.findings import Finding
from pawl.runtime.upkeep.reading import Reader

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""(rows looked at, rows there are): called now and then."""

AGENTS: Final = 500
"""How many agents are listed at a time."""

PAGE: Final = 500


def check_store(
    store: Store, progress: Progress | None = None, rows: dict[str, int] | None = None
) -> Iterator[Finding]:
    """Everything that is wrong with an open store, as it is found. Reads only, and may run beside those who write.

    Into `rows` it writes, by table, how many rows there were when it began; nothing where they cannot be counted.
    Each agent, with all that belongs to it, is looked at on one snapshot. Time grows linearly with the store, and what
    is kept in memory with the largest agent's number of executions.
    """
    look = _Look(store, progress, {} if rows is None else rows)
    yield from look.whole()


class _Look:
    """One look over a store."""

    def __init__(self, store: Store, progress: Progress | None, rows: dict[str, int]) -> None:
        self._store, self._progress, self._rows = store, progress or _silent, rows
        self._done = self._total = 0

    def whole(self) -> Iterator[Finding]:
        counts = yield from self._guarded("file", _counts)
        self._rows.update(counts or {})
        self._total = sum(self._rows.values())
        yield from self._report("file", _problems)
        yield from self._agents()
        yield from self._report("file", _strays)
        for table, check in _TABLES.items():
            yield from self._table(table, check)
        self._progress(self._total, self._total)

    def _agents(self) -> Iterator[Finding]:
        after: Any = None
        while True:
            page = yield from self._guarded("agents", partial(_agents, after))
            if not page:
                return
            for stored in page:
                yield from self._report("agents", partial(self._agent, stored.key, after))
            after = page[-1].place

    def _agent(self, agent_id: str, after: Any, tx: Transaction) -> list[Finding]:
        """`after` is the place that the agent was listed behind."""
        reader = Reader(agent_id)
        stored = tx.upkeep.agent(agent_id)
        if stored is None:
            if any(each.key == agent_id for each in _agents(after, tx)):
                reader.find("agent", "it is there, and nobody finds it under its id", "agents", agent_id)
            return reader.findings  # else it was removed since it was listed
        root = reader.decode(stored, AgentRoot, "agents")
        if root is not None:
            reader.same("agents", stored.key, "agent_id", stored.key, root.agent_id)
            reader.columns(stored, "agents", {"owner": root.owner})
        check_agent(tx, reader, root, self._step)
        self._step(1)
        return reader.findings

    def _table(self, table: Table, check: Callable[[Reader, Stored], None]) -> Iterator[Finding]:
        after: Any = None
        while True:
            page = yield from self._guarded(table, partial(_page, table, after, check))
            if page is None or page[1] is None:
                return
            findings, after, rows = page
            yield from findings
            self._step(rows)

    # --- reading what may be damaged ---

    def _guarded(self, table: str, operation: Operation[T]) -> Generator[Finding, None, T | None]:
        """The value of a read; a store that cannot be read is a finding, and the value None."""
        try:
            return self._store.read(operation)
        except PawlError as error:
            yield Finding("unreadable", str(error), table)
            return None

    def _report(self, table: str, operation: Operation[list[Finding]]) -> Iterator[Finding]:
        found = yield from self._guarded(table, operation)
        yield from found or ()

    def _step(self, rows: int) -> None:
        self._done += rows
        self._progress(min(self._done, self._total), self._total)


def _silent(done: int, total: int) -> None:
    """Nobody looks."""


def _agents(after: Any, tx: Transaction) -> Sequence[Stored]:
    return tx.upkeep.rows("agents", after, AGENTS)


def _counts(tx: Transaction) -> dict[str, int]:
    return tx.upkeep.counts()


def _problems(tx: Transaction) -> list[Finding]:
    return [Finding("file", problem, "file") for problem in tx.upkeep.problems()]


def _strays(tx: Transaction) -> list[Finding]:
    return [Finding("stray", f"its {stray.what} is not there", stray.table, stray.key) for stray in tx.upkeep.strays()]


def _page(
    table: Table, after: Any, check: Callable[[Reader, Stored], None], tx: Transaction
) -> tuple[list[Finding], Any, int]:
    rows = tx.upkeep.rows(table, after, PAGE)
    reader = Reader()
    for stored in rows:
        check(reader, stored)
    return reader.findings, rows[-1].place if rows else None, len(rows)


def _content(reader: Reader, stored: Stored) -> None:
    if hashlib.sha256(stored.body).hexdigest() != stored.key.removeprefix("sha256:"):
        reader.find("body", "it is not what was written", "contents", stored.key)


def _owner(reader: Reader, stored: Stored) -> None:
    owner = reader.decode(stored, Owner, "owners")
    if owner is not None:
        reader.same("owners", stored.key, "owner_id", stored.key, owner.owner_id)
        reader.columns(stored, "owners", {"expires_at": owner.expires_at})
        if owner.pid <= 0:
            reader.find("owner", f"no process has the pid {owner.pid}", "owners", stored.key)


def _decision(reader: Reader, stored: Stored) -> None:
    """What belongs to an execution is looked at with it."""
    receipt = reader.decode(stored, Receipt, "decisions")
    if receipt is not None:
        reader.same("decisions", stored.key, "request_id", stored.key, receipt.request_id)
        kept = {"tool_call_id": receipt.decision.tool_call_id, "decided_at": receipt.decided_at}
        reader.columns(stored, "decisions", kept | {"execution_id": receipt.execution_id})


def _intent(reader: Reader, stored: Stored) -> None:
    intent = reader.decode(stored, StopIntent, "intents")
    if intent is not None:
        mine = intent.execution_id == stored.key
        reader.hold(mine, "intent", f"it is about {intent.execution_id}", "intents", stored.key)
        reader.hold(intent.reason == "cancel", "intent", f"{intent.reason!r:.40} is no reason", "intents", stored.key)


_TABLES: Final[dict[Table, Callable[[Reader, Stored], None]]] = {
    "owners": _owner,
    "decisions": _decision,
    "intents": _intent,
    "contents": _content,
}
