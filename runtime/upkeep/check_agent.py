"""One agent: its root, its executions one open at most, its journal in one contiguous run of stretches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import MESSAGE_KINDS, JournalKind
from pawl.runtime.records.statuses import STATUSES, TERMINAL
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.rules import due_at, is_open
from pawl.runtime.store.upkeep import Stored
from pawl.runtime.upkeep.check_execution import check_execution
from pawl.runtime.upkeep.meta import wrong
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Stretch

PAGE: Final = 500

KEPT: Final = 2000
"""How many records of an agent are kept between its two looks, instead of being read again."""

_BELOW: Final = -(2**63)
"""Below every position, also below those that are none."""

_WITH_BODY: Final = frozenset(
    {*MESSAGE_KINDS, JournalKind.TOOL_RESULT, JournalKind.INPUT_RECEIVED, JournalKind.FINAL_OUTPUT}
)
_KINDS: Final = {kind.value: kind for kind in JournalKind}


@attrs.define
class _Agent:
    """What is known of the agent so far."""

    unmet: dict[str, int | None] = attrs.Factory(dict)
    """Executions whose journal was not met yet, with their first position, None where it cannot be read."""
    met: set[str] = attrs.Factory(set)
    kept: dict[str, ExecutionRecord] = attrs.Factory(dict)
    awaiting: dict[str, Any] = attrs.Factory(dict)
    open: list[str] = attrs.Factory(list)
    whole: bool = True
    answers: int = 0
    claims: int = 0
    """How often it was claimed at least: by each start."""
    saves: int = 0
    """How often its revision was raised at least: by each start and each end."""
    first: int = 0
    head: int = 0
    ends: set[int] = attrs.Factory(lambda: {0})
    """Where the journal of an execution ends."""


def check_agent(tx: Transaction, reader: Reader, root: AgentRoot | None, step: Callable[[int], None]) -> None:
    """Look over all that belongs to the reader's agent; `root` is None where it does not decode."""
    agent = _Agent()
    for stored in _paged(lambda after: tx.upkeep.executions(reader.agent_id, after, PAGE)):
        _execution_row(reader, agent, root, stored)
        step(1)
    _journal(tx, reader, agent, step)
    for name in agent.unmet:
        reader.execution_id = name
        reader.find("first-position", "it has no journal records", "executions", name)
    reader.execution_id = ""
    reader.hold(len(agent.open) <= 1, "open", f"{len(agent.open)} are open: {', '.join(agent.open)}", "executions")
    if root is not None:
        _root(reader, agent, root)


def _paged(read: Callable[[Any], Any]) -> Iterator[Stored]:
    after: Any = None
    while page := read(after):
        yield from page
        after = page[-1].place


def _execution_row(reader: Reader, agent: _Agent, root: AgentRoot | None, stored: Stored) -> None:
    reader.execution_id = stored.key
    record = reader.decode(stored, ExecutionRecord, "executions")
    agent.unmet[stored.key] = None
    if record is None:
        agent.whole = False
        return
    said = {
        "start_id": record.start_id,
        "created_at": record.created_at,
        "status": record.status,
        "open": int(is_open(record)),
        "due": due_at(record, stored.columns.get("awaiting")),
        "revision": record.revision,
    }
    reader.same("executions", stored.key, "execution_id", stored.key, record.execution_id)
    reader.same("executions", stored.key, "agent_id", reader.agent_id, record.agent_id)
    reader.columns(stored, "executions", said)
    if root is not None and record.definition != root.definition:
        what = f"it is of the definition {record.definition}, its agent of {root.definition}"
        reader.find("agent", what, "executions", stored.key)
    agent.whole &= record.status in STATUSES
    if is_open(record):
        agent.open.append(stored.key)
    agent.claims += 1
    agent.saves += 1 + (record.status in TERMINAL)
    if record.status in TERMINAL:
        agent.answers += record.iterations
    agent.unmet[stored.key] = record.first_position
    agent.awaiting[stored.key] = stored.columns.get("awaiting")
    if len(agent.kept) < KEPT:
        agent.kept[stored.key] = record


def _root(reader: Reader, agent: _Agent, root: AgentRoot) -> None:
    row = ("agents", root.agent_id)
    what = f"runs see what is behind {root.since}, the journal ends at {agent.head}"
    reader.hold(root.since <= agent.head, "agent", what, *row)
    inside = agent.first <= root.since <= agent.head and root.since not in agent.ends
    what = f"runs see what is behind {root.since}, in the middle of a run"
    reader.hold(root.since >= 0 and not inside, "agent", what, *row)
    what = f"it counts {root.answers} answers of ended executions, those on record have {agent.answers}"
    whole = agent.whole and agent.first <= 1  # nothing was collected
    exact = root.answers == agent.answers if whole else root.answers >= agent.answers
    reader.hold(exact, "answers", what, *row)
    what = f"its revision is {root.revision}, its executions have raised it {agent.saves} times"
    reader.hold(root.revision >= agent.saves, "agent", what, *row)
    claims = max(agent.claims, root.owner is not None)
    what = f"it was claimed {claims} times at least, and its fence is {root.fence}"
    reader.hold(root.fence >= claims, "owner", what, *row)
    reader.hold(root.version >= 0, "agent", f"its version is {root.version}", *row)


# --- the journal ------------------------------------------------------------------------------------------------------


def _journal(tx: Transaction, reader: Reader, agent: _Agent, step: Callable[[int], None]) -> None:
    stretch: Stretch | None = None
    for stored in _paged(lambda after: tx.upkeep.journal(reader.agent_id, _BELOW if after is None else after, PAGE)):
        position = stored.place
        if position.__class__ is not int or position < 1:
            reader.execution_id = ""
            reader.find("journal-gap", f"{position!r:.40} is no position", "journal", stored.key)
            step(1)
            continue
        if agent.head and position != agent.head + 1:
            reader.execution_id = ""
            reader.find("journal-gap", f"{agent.head} is followed by {position}", "journal", stored.key)
            if stretch is not None:
                stretch.whole = False
        agent.first = agent.first or position
        agent.head = position
        name = stored.columns["execution_id"]
        reader.execution_id = name or ""
        if name is None:
            reader.find("journal-record", "it is of no execution of this agent", "journal", stored.key)
        elif stretch is None or stretch.execution_id != name:
            _close(tx, reader, agent, stretch)
            stretch = _begun(reader, agent, name, position)
        if name is not None and stretch is not None:
            reader.execution_id = name
            _entry(reader, stretch, stored)
        step(1)
    _close(tx, reader, agent, stretch)


def _begun(reader: Reader, agent: _Agent, name: str, position: int) -> Stretch:
    reader.execution_id = name
    if name in agent.met:
        reader.find("journal-stretch", "it goes on behind those of another execution", "journal", str(position))
        return Stretch(name, position, again=True)
    agent.met.add(name)
    first = agent.unmet.pop(name, None)
    if first not in (None, position):
        what = f"it says that it begins at {first}, its journal begins at {position}"
        reader.find("first-position", what, "executions", name)
    return Stretch(name, position)


def _entry(reader: Reader, stretch: Stretch, stored: Stored) -> None:
    kind = _KINDS.get(stored.columns["kind"])
    digest = stored.columns["digest"]
    meta = reader.meta(stored)
    if kind is None:
        reader.find("journal-record", f"{stored.columns['kind']!r} is no kind of record", "journal", stored.key)
    if digest == "missing" or (digest is None and kind in _WITH_BODY):
        reader.find("missing-body", "its body is not there", "journal", stored.key)
    elif digest is not None and kind is not None and kind not in _WITH_BODY:
        reader.find("journal-record", f"a record of {kind} has no body", "journal", stored.key)
    stretch.last = stored.place
    at = stored.columns["at"]
    if not isinstance(at, int | float) or not math.isfinite(at):
        reader.find("journal-record", f"its time is {at!r:.40}", "journal", stored.key)
        at = 0.0
    said = wrong(kind, meta) if kind is not None and meta is not None else None
    if said is not None:
        reader.find("journal-record", f"its meta{said}, which is not that of {kind}", "journal", stored.key)
    if kind is None or meta is None or said is not None:
        stretch.whole = False
    else:
        stretch.take(kind, digest, meta, at)


def _close(tx: Transaction, reader: Reader, agent: _Agent, stretch: Stretch | None) -> None:
    if stretch is None:
        return
    agent.ends.add(stretch.last)
    if stretch.again:
        return
    name = stretch.execution_id
    reader.execution_id = name
    record = agent.kept.pop(name, None)
    if record is None:
        try:
            record = tx.executions.get(name)
        except PawlError:
            return  # it was told of before
    if record is not None:
        check_execution(tx, reader, record, agent.awaiting.get(name), stretch)
