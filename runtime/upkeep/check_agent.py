"""One agent: its root, its executions one open at most, its journal in one contiguous run of stretches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import MESSAGE_KINDS, JournalKind
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.rules import due_at, is_open
from pawl.runtime.store.upkeep import Stored
from pawl.runtime.upkeep.check_execution import check_execution
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Stretch

PAGE: Final = 500

KEPT: Final = 2000
"""How many records of an agent are kept between its two looks, instead of being read again."""

_WITH_BODY: Final = frozenset({*MESSAGE_KINDS, JournalKind.INPUT_RECEIVED, JournalKind.FINAL_OUTPUT})
_KINDS: Final = {kind.value: kind for kind in JournalKind}


@attrs.define
class _Agent:
    """What is known of the agent so far."""

    unmet: dict[str, int] = attrs.Factory(dict)
    """Executions whose journal was not met yet, with their first position."""
    met: set[str] = attrs.Factory(set)
    kept: dict[str, ExecutionRecord] = attrs.Factory(dict)
    awaiting: dict[str, Any] = attrs.Factory(dict)
    open: list[str] = attrs.Factory(list)
    answers: int = 0
    head: int = 0


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
    agent.unmet[stored.key] = 0
    if record is None:
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
    if is_open(record):
        agent.open.append(stored.key)
    if record.status in TERMINAL:
        agent.answers += record.iterations
    agent.unmet[stored.key] = record.first_position
    agent.awaiting[stored.key] = stored.columns.get("awaiting")
    if len(agent.kept) < KEPT:
        agent.kept[stored.key] = record


def _root(reader: Reader, agent: _Agent, root: AgentRoot) -> None:
    row = root.agent_id
    reader.hold(root.since <= agent.head, "agent", f"runs see what is behind {root.since}, the journal ends at "
                f"{agent.head}", "agents", row)  # fmt: skip
    reader.hold(
        root.answers >= agent.answers,
        "answers",
        f"it counts {root.answers} answers of ended executions, those on record have {agent.answers}",
        "agents",
        row,
    )
    claimed = root.owner is not None or bool(agent.met)
    reader.hold(root.fence >= 0 and (root.fence > 0 or not claimed), "owner", f"it was claimed, and its fence is "
                f"{root.fence}", "agents", row)  # fmt: skip


# --- the journal ------------------------------------------------------------------------------------------------------


def _journal(tx: Transaction, reader: Reader, agent: _Agent, step: Callable[[int], None]) -> None:
    stretch: Stretch | None = None
    for stored in _paged(lambda after: tx.upkeep.journal(reader.agent_id, after or 0, PAGE)):
        position = stored.place
        if agent.head and position != agent.head + 1:
            reader.execution_id = ""
            reader.find("journal-gap", f"{agent.head} is followed by {position}", "journal", stored.key)
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
    if first not in (None, 0, position):
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
    stretch.last = stored.place
    if kind is None or meta is None:
        stretch.whole = False
        return
    try:
        stretch.take(kind, digest, meta)
    except (KeyError, TypeError, AttributeError) as error:
        stretch.whole = False
        reader.find("journal-record", f"its meta is not that of {kind}: {error!r}", "journal", stored.key)


def _close(tx: Transaction, reader: Reader, agent: _Agent, stretch: Stretch | None) -> None:
    if stretch is None or stretch.again:
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
