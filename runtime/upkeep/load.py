"""`load`: a dump into a store, in one transaction, or nothing of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import attrs

from pawl.runtime.records.agents import AgentRoot
from pawl.runtime.records.approvals import Receipt
from pawl.runtime.records.canonical import canonical, digest
from pawl.runtime.records.codec import decode
from pawl.runtime.records.errors import CodecError, InvalidArguments, PawlError
from pawl.runtime.records.executions import Awaiting, ExecutionRecord, StopIntent
from pawl.runtime.records.frozen import replace
from pawl.runtime.records.journal import Content, JournalEntry, JournalKind
from pawl.runtime.records.strict_json import decode_json
from pawl.runtime.records.tools import ToolRow
from pawl.runtime.store.port import Store, Transaction
from pawl.runtime.upkeep.asking import Asker
from pawl.runtime.upkeep.check_agent import check_agent
from pawl.runtime.upkeep.dump import VERSION, answers
from pawl.runtime.upkeep.reading import Reader

T = TypeVar("T")

_KEYS: Final = {
    "pawl_dump": {"pawl_dump", "execution_id", "redacted", "machine", "spec_hash"},
    "agent": {"agent"},
    "execution": {"execution", "awaiting"},
    "content": {"content", "body"},
    "journal": {"journal", "kind", "at", "content", "meta"},
    "tool": {"tool"},
    "request": {"request"},
    "receipt": {"receipt"},
    "intent": {"intent"},
    "end": {"end"},
}


@attrs.define
class Run:
    """An execution of a dump, with what belongs to it."""

    record: ExecutionRecord
    awaiting: Awaiting | None = None
    tools: list[ToolRow] = attrs.Factory(list)
    requests: list[str] = attrs.Factory(list)
    receipts: list[Receipt] = attrs.Factory(list)
    intent: StopIntent | None = None


@attrs.define
class Dump:
    """A dump, read and decoded. The last of the runs is the one that was asked for."""

    named: str = ""
    agent: AgentRoot | None = None
    runs: list[Run] = attrs.Factory(list)
    contents: dict[str, Content] = attrs.Factory(dict)
    journal: list[tuple[int, JournalEntry]] = attrs.Factory(list)

    @property
    def run(self) -> Run:
        """The one that lines belong to now. Raises InvalidArguments where none was met."""
        if not self.runs:
            raise InvalidArguments("it comes before the execution")
        return self.runs[-1]

    @property
    def earlier(self) -> bool:
        """Whether the agent had earlier messages, which are not in it."""
        return self.agent is not None and self.agent.since + 1 < self.runs[0].record.first_position


def load(store: Store, lines: Iterable[str]) -> ExecutionRecord:
    """Put what `dump` wrote into an open store; the execution as it stands there.

    Everything is checked before it stands: each line, each body against its digest, and all of it as `check_store`
    does. An execution that is open goes on wherever hosts of its agent look into that store.

    Raises InvalidArguments for a file that is not a whole dump, with the line; AgentExists, IdConflict for what is
    there already; StoreUnavailable. Then nothing is written.
    """
    return put(store, read_dump(lines))


def put(store: Store, read: Dump) -> ExecutionRecord:
    """The same for a dump that was read before."""
    Asker(store).ask(lambda tx: _write(tx, read))
    return read.run.record


# --- the lines --------------------------------------------------------------------------------------------------------


def read_dump(lines: Iterable[str]) -> Dump:
    """What `dump` wrote, decoded. Raises InvalidArguments, with the line."""
    read, number, ended = Dump(), 0, False
    for number, line in enumerate(lines, 1):
        try:
            value = decode_json(line, "dump")
            what = _kind(value, number)
            if ended:
                raise InvalidArguments("there is more behind the last line")
            ended = what == "end"
            if ended and value["end"] != number - 1:
                raise InvalidArguments(f"{value['end']} lines were written, {number - 1} are here")
            _take(read, what, value)
        except (PawlError, KeyError, TypeError, ValueError, AttributeError) as error:
            said = str(error) if isinstance(error, PawlError) else repr(error)
            if number == 1 and isinstance(error, CodecError):
                said += "; give a file that `pawl dump` wrote"
            raise InvalidArguments(f"line {number}: {said}") from error
    if not ended:
        raise InvalidArguments(f"the dump is cut off behind line {number}" if number else "the dump is empty")
    if read.agent is None or not read.runs:
        raise InvalidArguments("the dump has no agent, or no execution")
    if read.run.record.execution_id != read.named:
        raise InvalidArguments(f"the dump is of execution {read.named}, and ends with {read.run.record.execution_id}")
    return read


def _kind(value: Any, number: int) -> str:
    if not isinstance(value, dict):
        raise InvalidArguments("not an object")
    if number == 1:
        if "pawl_dump" not in value:
            raise InvalidArguments("no header: this is not what `pawl dump` wrote")
        if value["pawl_dump"] != VERSION:
            raise InvalidArguments(f"the dump is of version {value['pawl_dump']!r}, known is {VERSION}; upgrade Pawl")
    for what, keys in _KEYS.items():
        if keys == value.keys() and (what == "pawl_dump") == (number == 1):
            return what
    raise InvalidArguments(f"no line of a dump has the keys {', '.join(sorted(value))}")


def _take(read: Dump, what: str, value: dict[str, Any]) -> None:
    match what:
        case "pawl_dump":
            read.named = _text(value["execution_id"])
        case "agent":
            read.agent = _once(read.agent, _record(value[what], AgentRoot))
        case "execution":
            read.runs.append(Run(_record(value[what], ExecutionRecord), _awaiting(value["awaiting"])))
        case "content":
            content = Content(str(value["content"]), value["body"])
            if not isinstance(content.body, str) or digest(content.body) != content.digest:
                raise InvalidArguments(f"the body is not the one of {content.digest}")
            read.contents[content.digest] = content
        case "journal":
            read.journal.append(_entry(read, value))
        case "tool":
            read.run.tools.append(_record(value[what], ToolRow))
        case "request":
            read.run.requests.append(_text(value[what]))
        case "receipt":
            read.run.receipts.append(_record(value[what], Receipt))
        case "intent":
            read.run.intent = _once(read.run.intent, _record(value[what], StopIntent))


def _once(before: T | None, value: T) -> T:
    if before is not None:
        raise InvalidArguments("it is there twice")
    return value


def _record(value: Any, record: type[T]) -> T:
    return decode(canonical(value), record)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidArguments(f"{value!r:.60} is not text")
    return value


def _awaiting(value: Any) -> Awaiting | None:
    if value not in (None, "approval", "resolution"):
        raise InvalidArguments(f"nothing waits for {value!r:.60}")
    awaiting: Awaiting | None = value
    return awaiting


def _entry(read: Dump, value: dict[str, Any]) -> tuple[int, JournalEntry]:
    execution_id = read.run.record.execution_id
    position, at, meta = value["journal"], value["at"], value["meta"]
    if position.__class__ is not int or at.__class__ not in (int, float) or not isinstance(meta, dict):
        raise InvalidArguments("a position is an integer, a time a number, meta an object")
    if read.journal and position != read.journal[-1][0] + 1:
        raise InvalidArguments(f"journal record {read.journal[-1][0]} is followed by {position}")
    content = None
    if value["content"] is not None:
        content = read.contents.get(_text(value["content"]))
        if content is None:
            raise InvalidArguments(f"the body {value['content']} is not in the dump")
    kind = JournalKind(value["kind"])
    return position, JournalEntry(kind, execution_id, float(at), content, meta)


# --- the transaction --------------------------------------------------------------------------------------------------


def _write(tx: Transaction, read: Dump) -> None:
    """All of it, looked over at the end. Raises what is there already, InvalidArguments for what does not fit."""
    root, records = read.agent, [run.record for run in read.runs]
    assert root is not None
    root = replace(root, answers=answers(root, records))  # earlier versions wrote that of the agent as it stood
    tx.agents.insert(root)
    for content in read.contents.values():
        tx.contents.put(content)
    for run in read.runs:
        tx.executions.insert(run.record)
        for request in run.requests:
            tx.upkeep.place_request(request, run.record.execution_id)
    if read.journal:
        tx.upkeep.place_journal(root.agent_id, read.journal[0][0], [entry for _, entry in read.journal])
    for run in read.runs:
        for row in run.tools:  # one by one: the order of the file is that of their creation
            tx.tools.put((row,))
        tx.decisions.put(run.receipts)
        if run.intent is not None:
            tx.intents.put(run.intent)
        if run.awaiting is not None:
            tx.executions.rest(run.record.execution_id, run.awaiting)
    reader = Reader(root.agent_id)
    check_agent(tx, reader, root, _nothing)
    if reader.findings:
        raise InvalidArguments(f"the dump does not fit together: {reader.findings[0]}")


def _nothing(rows: int) -> None:
    """Nobody counts."""
