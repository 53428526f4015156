"""`collect`: ended executions that nobody needs any more are removed, and then the bodies that nothing refers to.

What goes, and only that:

* An agent's journal has contiguous positions, so executions go from its beginning, the oldest first, as long as each of
  them has ended before the given time and no later run of the agent sees a message of it: because it failed, was
  cancelled or blocked, or because the agent was reset behind it. The first one that has to stay keeps those behind it.
* The newest execution of an agent stays, so that the journal goes on where it stood.
* An agent that is closed sees nothing any more: when all of its executions have ended before that time and nobody owns
  it, it goes whole. `idle` does the same to agents that are open, which forgets their conversation.
* Leases that ran out before that time.
* Bodies that nothing refers to (see `store.sqlite_sweep`).

A start id is forgotten with its execution: the same start again would be a new run. Whatever cannot be read stays, with
everything behind it.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import attrs

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.errors import CodecError, PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.records.strict_json import decode_json
from pawl.runtime.store.port import Store, Transaction
from pawl.runtime.store.rules import VISIBLE
from pawl.runtime.store.upkeep import Cleared, Stored
from pawl.runtime.upkeep.asking import Asker

Progress = Callable[[int, int], None]
"""(agents looked at, agents there are)."""

ROWS: Final = 1000
"""Journal records that one transaction removes, unless a single execution has more."""

AGENTS: Final = 50
"""Agents of which one transaction removes something, at most."""

BODIES: Final = 500
"""Bodies that one transaction removes."""

PAGE: Final = 500


@attrs.frozen
class Collected:
    """What went, or would go in a dry run; and how many executions stayed for which reason, of those that stopped the
    removal of an agent's oldest ones: open, recent, seen (by later runs), last (of its agent), unreadable.
    """

    cleared: Cleared = attrs.Factory(Cleared)
    stayed: dict[str, int] = attrs.Factory(dict)


@attrs.define
class _Oldest:
    """The oldest executions of an agent that can go now, and why no more of them do."""

    executions: list[str] = attrs.Factory(list)
    requests: list[str] = attrs.Factory(list)
    upto: int = 0
    more: bool = False
    stays: str | None = None


def collect(
    store: Store,
    before: float,
    *,
    idle: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Collected:
    """Remove what ended before `before` (unix seconds) and nobody needs, in small transactions, beside those who write.

    A dry run reads only. Interrupted anywhere, nothing is half removed, and the next call goes on. Raises StoreError.
    """
    if dry_run:
        return _Dry(store, before, idle, progress).run()
    return _Collection(store, before, idle, progress, pause).run()


class _Collection:
    def __init__(
        self, store: Store, before: float, idle: bool, progress: Progress | None, pause: Callable[[float], None]
    ) -> None:
        self._store, self._before, self._idle, self._progress = store, before, idle, progress
        self._asker = Asker(store, pause)
        self._cleared, self._stayed = Cleared(), dict[str, int]()

    def run(self) -> Collected:
        for batch in _batches(_agents(self._store, self._progress)):
            going = batch
            while going:
                going = self._clear(going)
        self._cleared += self._asker.ask(partial(_clear_leases, self._before))
        self._sweep()
        return Collected(self._cleared, self._stayed)

    def _clear(self, batch: Sequence[str]) -> list[str]:
        """Remove what can go of some agents in one transaction; those of which more may go."""
        # Looking first takes no lock: most agents have nothing to give.
        looked = self._store.read(partial(_anything, batch, self._before, self._idle))
        going = [agent_id for agent_id, (goes, _) in looked.items() if goes]
        stays = [why for goes, why in looked.values() if not goes]
        if going:
            cleared = self._asker.ask(partial(_clear, going, self._before, self._idle))
            self._cleared = sum(cleared.values(), self._cleared)
            stays += ["unreadable" for agent_id in going if cleared.get(agent_id) == Cleared()]
            going = [agent_id for agent_id in going if cleared.get(agent_id) != Cleared()]
        for why in stays:
            if why is not None:
                self._stayed[why] = self._stayed.get(why, 0) + 1
        return going

    def _sweep(self) -> None:
        sweep = uuid.uuid4().hex
        self._asker.ask(lambda tx: tx.upkeep.begin_sweep(sweep))
        try:
            unused = self._store.read(lambda tx: tx.upkeep.unused())
            for at in range(0, len(unused), BODIES):
                self._cleared += self._asker.ask(partial(_swept, sweep, unused[at : at + BODIES]))
        finally:
            self._asker.ask(lambda tx: tx.upkeep.end_sweep(sweep))


class _Dry:
    def __init__(self, store: Store, before: float, idle: bool, progress: Progress | None) -> None:
        self._store, self._before, self._idle, self._progress = store, before, idle, progress

    def run(self) -> Collected:
        cleared, stayed = Cleared(), dict[str, int]()
        forgotten: dict[str, int] = {}
        gone: set[str] = set()
        for agent_id in _agents(self._store, self._progress):
            oldest, weight = self._store.read(partial(_weighed, agent_id, self._before, self._idle))
            cleared += weight
            forgotten[agent_id] = oldest.upto
            gone.update(oldest.executions)
            if oldest.stays is not None:
                stayed[oldest.stays] = stayed.get(oldest.stays, 0) + 1
        cleared += self._store.read(partial(_count_leases, self._before))
        bodies = self._store.read(lambda tx: tx.upkeep.weigh_contents(tx.upkeep.unused(forgotten, gone)))
        return Collected(cleared + bodies, stayed)


def _agents(store: Store, progress: Progress | None) -> Iterator[str]:
    total = store.read(lambda tx: tx.upkeep.counts()["agents"])
    after: Any = None
    done = 0
    while page := store.read(partial(_page_of_agents, after)):
        after = page[-1].place
        for stored in page:
            yield stored.key
            done += 1
            if progress is not None:
                progress(min(done, total), total)


def _batches(agents: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(agents, AGENTS)):
        yield batch


def _page_of_agents(after: Any, tx: Transaction) -> Sequence[Stored]:
    return tx.upkeep.rows("agents", after, PAGE)


def _swept(sweep: str, places: Sequence[Any], tx: Transaction) -> Cleared:
    return tx.upkeep.sweep(sweep, places)


# --- one agent --------------------------------------------------------------------------------------------------------


def _clear(agents: Sequence[str], before: float, idle: bool, tx: Transaction) -> dict[str, Cleared]:
    """Remove the oldest executions of agents, as many as one transaction may take; what went of each that it came to.
    Everything is looked at again here.
    """
    done: dict[str, Cleared] = {}
    for agent_id in agents:
        room = ROWS - sum(cleared.journal for cleared in done.values())
        if done and room <= 0:
            break
        done[agent_id] = _clear_one(tx, agent_id, before, idle, room)
    return done


def _clear_one(tx: Transaction, agent_id: str, before: float, idle: bool, rows: int) -> Cleared:
    root = _root(tx, agent_id)
    if root is None:
        return Cleared()
    whole = _whole(tx, root, before, idle)
    oldest = _oldest(tx, root, before, whole, rows)
    if oldest.more and whole and root.since < tx.journal.position(agent_id):
        # It takes several transactions: a run that starts between them must not see half of the conversation.
        tx.agents.save(replace(root, since=tx.journal.position(agent_id)))
    cleared = Cleared()
    if oldest.executions:
        cleared = tx.upkeep.forget(agent_id, oldest.upto, oldest.executions, oldest.requests)
    if whole and not oldest.more and oldest.stays is None:
        cleared += tx.upkeep.forget_agent(agent_id)
    return cleared


def _anything(agents: Sequence[str], before: float, idle: bool, tx: Transaction) -> dict[str, tuple[bool, str | None]]:
    """Whether anything of each agent can go; why no more of it does, when nothing can."""
    return {agent_id: _anything_of(tx, agent_id, before, idle) for agent_id in agents}


def _anything_of(tx: Transaction, agent_id: str, before: float, idle: bool) -> tuple[bool, str | None]:
    try:
        root = tx.agents.get(agent_id)
    except CodecError:
        return False, "unreadable"
    if root is None:
        return False, None
    whole = _whole(tx, root, before, idle)
    oldest = _oldest(tx, root, before, whole, 1)
    return bool(oldest.executions) or (whole and oldest.stays is None), oldest.stays


def _weighed(agent_id: str, before: float, idle: bool, tx: Transaction) -> tuple[_Oldest, Cleared]:
    root = _root(tx, agent_id)
    if root is None:
        return _Oldest(stays="unreadable"), Cleared()
    whole = _whole(tx, root, before, idle)
    oldest = _oldest(tx, root, before, whole, None)
    goes = whole and oldest.stays is None
    return oldest, tx.upkeep.weigh(agent_id, oldest.upto, oldest.executions, oldest.requests, goes)


def _root(tx: Transaction, agent_id: str) -> AgentRoot | None:
    try:
        return tx.agents.get(agent_id)
    except CodecError:
        return None


def _whole(tx: Transaction, root: AgentRoot, before: float, idle: bool) -> bool:
    """Whether an agent goes with everything that it has: nobody owns it, nothing of it is open, or newer."""
    if not (root.status == "closed" or idle) or root.owner is not None or root.created_at >= before:
        return False
    try:
        if tx.executions.list(root.agent_id, open_only=True, limit=1):
            return False
        head = tx.journal.position(root.agent_id)
        last = tx.upkeep.journal(root.agent_id, head - 1, 1) if head else ()
        record = _record(tx, last[0].columns["execution_id"]) if last else None
    except PawlError:
        return False
    return not last or (record is not None and _over(record, before))


def _over(record: ExecutionRecord, before: float) -> bool:
    return record.status in TERMINAL and record.updated_at < before


def _record(tx: Transaction, execution_id: str | None) -> ExecutionRecord | None:
    try:
        return None if execution_id is None else tx.executions.get(execution_id)
    except PawlError:
        return None


def _oldest(tx: Transaction, root: AgentRoot, before: float, whole: bool, rows: int | None) -> _Oldest:
    """The executions at the beginning of an agent's journal that can go; no more than `rows` records of them, but one
    execution at least.
    """
    found, journal = _Oldest(), _Journal(tx, root.agent_id)
    start: int | None = None
    while (first := journal.next) is not None:
        start = first.place - 1 if start is None else start
        name = first.columns["execution_id"]
        record = _record(tx, name)
        if record is None or not _over(record, before):
            found.stays = "unreadable" if record is None else "recent" if record.status in TERMINAL else "open"
            return found
        seen = not whole and record.status in VISIBLE
        if seen and first.place > root.since:
            found.stays = "seen"
            return found
        run = _run(journal, name)
        if run is None:
            found.stays = "unreadable"
        elif not whole and run.newest:
            found.stays = "last"
        elif seen and run.last > root.since:
            found.stays = "seen"
        else:
            found.more = rows is not None and bool(found.executions) and run.last - start > rows
        if run is None or found.stays is not None or found.more:
            return found
        found.executions.append(name)
        found.requests += run.requests
        found.upto = run.last
    return found


@attrs.frozen
class _Run:
    """Where the records of an execution end, which requests it made, and whether none is behind it."""

    last: int
    requests: list[str]
    newest: bool


def _run(journal: _Journal, execution_id: str) -> _Run | None:
    """The stretch that begins with the next record; None where it cannot be read."""
    requests: list[str] = []
    last = 0
    while (stored := journal.next) is not None and stored.columns["execution_id"] == execution_id:
        if stored.columns["kind"] == JournalKind.APPROVAL_REQUIRED:
            try:
                requests.append(str(decode_json(stored.body.decode(), "meta")["request_id"]))
            except (PawlError, UnicodeDecodeError, KeyError, TypeError):
                return None
        last = stored.place
        journal.pop()
    return _Run(last, requests, journal.next is None)


class _Journal:
    """An agent's journal from its beginning, read ahead in pages that grow: most agents have little to give."""

    def __init__(self, tx: Transaction, agent_id: str) -> None:
        self._tx, self._agent_id = tx, agent_id
        self._page: deque[Stored] = deque()
        self._size, self._after = 8, 0

    @property
    def next(self) -> Stored | None:
        """The next record, None behind the last one."""
        if not self._page:
            self._page.extend(self._tx.upkeep.journal(self._agent_id, self._after, self._size))
            self._size = min(2 * self._size, PAGE)
        return self._page[0] if self._page else None

    def pop(self) -> None:
        """Go on behind it."""
        self._after = self._page.popleft().place


# --- leases -----------------------------------------------------------------------------------------------------------


def _clear_leases(before: float, tx: Transaction) -> Cleared:
    late = [owner.owner_id for owner in tx.owners.list() if owner.expires_at < before]
    for owner_id in late:
        tx.owners.delete(owner_id)
    return Cleared(owners=len(late))


def _count_leases(before: float, tx: Transaction) -> Cleared:
    return Cleared(owners=sum(owner.expires_at < before for owner in tx.owners.list()))
