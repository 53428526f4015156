"""One execution: its status, its journal, its end, its bodies and its manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Final, assert_never

import attrs

from pawl.generated.agent_invocation import MACHINE
from pawl.runtime.agent.assembly import restored
from pawl.runtime.records.errors import PawlError
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.journal import JournalKind
from pawl.runtime.records.statuses import STATUSES, TERMINAL, Phase, status_of
from pawl.runtime.store.port import Transaction
from pawl.runtime.store.rules import VISIBLE
from pawl.runtime.upkeep.check_approvals import check_approvals
from pawl.runtime.upkeep.check_tools import check_tools
from pawl.runtime.upkeep.reading import Reader
from pawl.runtime.upkeep.stretch import Stretch

_PHASES: Final = {status: {str(phase) for phase in Phase if status_of(phase) == status} for status in STATUSES}
_AWAITED: Final = {"suspended": ("approval",), "active": ("resolution",)}
_HASH: Final = re.compile("[0-9a-f]{64}")
_WITH_ERROR: Final = frozenset({"failed", "blocked", "rejected"})


def check_execution(tx: Transaction, reader: Reader, record: ExecutionRecord, awaiting: Any, stretch: Stretch) -> None:
    """Look over an execution and what belongs to it. `stretch` is its journal."""
    rows = check_tools(tx, reader, record, stretch)
    _machine(reader, record)
    _status(reader, record, awaiting)
    _journal(reader, record, stretch)
    _end(reader, record, stretch)
    _bodies(tx, reader, record)
    _manifest(tx, reader, record, stretch)
    check_approvals(tx, reader, record, stretch, rows)
    if awaiting == "resolution" and record.llm_call_id is None:
        lost = any(row.status == "pending" for row in rows)
        reader.hold(lost, "status", "it waits for a resolution, and nothing of it is lost", *_row(record))


def _row(record: ExecutionRecord) -> tuple[str, str]:
    return "executions", record.execution_id


def _status(reader: Reader, record: ExecutionRecord, awaiting: Any) -> None:
    status, phase = record.status, record.phase
    if status not in STATUSES:
        reader.find("status", f"{status!r} is no status of the execution machine", *_row(record))
        return
    reader.hold(phase in _PHASES[status], "status", f"it is {status}, and its phase {phase!r}", *_row(record))
    awaited = awaiting is None or awaiting in _AWAITED.get(status, ())
    reader.hold(awaited, "status", f"it is {status}, and waits for {awaiting!r}", *_row(record))
    if status == "preparing":
        reader.hold(record.revision == 0, "status", f"it is preparing at revision {record.revision}", *_row(record))
    if status not in TERMINAL:
        _work(reader, record)
        _time(reader, record, awaiting)


def _work(reader: Reader, record: ExecutionRecord) -> None:
    """What an open execution has on record for its phase, and nothing else."""
    phase = record.phase
    reader.hold(
        record.request is not None or phase != Phase.APPROVAL,
        "status",
        "it is suspended without a request",
        *_row(record),
    )
    known = record.llm_call_id and record.manifest is not None
    reader.hold(
        bool(known) or phase != Phase.CALLING_LLM, "status", "it calls a model under no id, or with no manifest",
        *_row(record),
    )  # fmt: skip
    kept = {
        "a model call": record.llm_call_id,
        "a model call to repeat": record.run_model or None,
        "a stored answer": record.answer,
        "a request": record.request,
        "decisions": record.decisions or None,
        "a batch": record.batch or None,
        "a result": record.result,
        "an error": record.error,
    }
    may = _may_have(Phase(phase)) if phase in set(Phase) else kept
    for name, value in kept.items():
        if value is not None and name not in may:
            reader.find("status", f"it has {name}, and is {phase!r}", *_row(record))
    if record.run_model and record.llm_call_id is None:
        reader.find("status", "it is to repeat a model call, and has none", *_row(record))


def _may_have(phase: Phase) -> Collection[str]:
    match phase:
        case Phase.CALLING_LLM:
            return ("a model call",)
        case Phase.APPROVAL | Phase.RESUMING:
            return ("a request", "decisions", "a batch")
        case Phase.DISPATCHING_TOOLS:
            return ("a batch",)
        case Phase.RECOVERING:
            return ("a model call", "a model call to repeat", "a stored answer", "a batch")
        case Phase.PREPARING | Phase.COMPLETED | Phase.REJECTED | Phase.FAILED | Phase.CANCELLED | Phase.BLOCKED:
            return ()
        case _:
            assert_never(phase)


def _time(reader: Reader, record: ExecutionRecord, awaiting: Any) -> None:
    status = record.status
    stopped = status == "suspended" or awaiting is not None
    reader.hold(record.deadline is None or not stopped, "status", "its time runs while it rests", *_row(record))
    left = record.time_left
    reader.hold(left is None or left >= 0, "status", f"it has {left} seconds left", *_row(record))
    reader.hold(left is None or status != "preparing", "status", "its time stands still", *_row(record))
    both = record.deadline is not None and left is not None
    reader.hold(not both, "status", "it has a deadline, and time left of a rest", *_row(record))


def _machine(reader: Reader, record: ExecutionRecord) -> None:
    reader.hold(record.machine == MACHINE.name, "machine", f"no machine is {record.machine!r:.60}", *_row(record))
    what = f"{record.spec_hash!r:.80} is the hash of no spec"
    reader.hold(_HASH.fullmatch(record.spec_hash) is not None, "machine", what, *_row(record))
    version = record.definition_version
    reader.hold(version >= 0, "agent", f"its definition has the version {version}", *_row(record))


def _journal(reader: Reader, record: ExecutionRecord, stretch: Stretch) -> None:
    if not stretch.whole:
        return
    for place, why in stretch.odd:
        reader.find("journal-record", why, "journal", str(place))
    begins = (stretch.begins_with, stretch.input, stretch.start_id, stretch.begun_at)
    if begins != (JournalKind.INPUT_RECEIVED, record.input, record.start_id, record.created_at):
        what = "its journal does not begin with its input, its start id and its time"
        reader.find("first-position", what, *_row(record))
    what = f"it used {attrs.asdict(record.usage)}, its recorded calls {attrs.asdict(stretch.usage)}"
    reader.hold(record.usage == stretch.usage, "usage", what, *_row(record))
    counts = {
        "model answers": (record.iterations, stretch.answers),
        "calls of tools": (record.tool_calls, stretch.asked),
        "model calls": (record.model_calls, stretch.let_go + (record.llm_call_id is not None)),
        "model calls lost in a row": (record.lost_calls, stretch.lost),
    }
    for name, (counted, there) in counts.items():
        reader.hold(counted == there, "answers", f"it counts {counted} {name}, its journal {there}", *_row(record))
    if record.llm_call_id in stretch.recorded:
        reader.find("answers", f"the model call {record.llm_call_id} is let go, and on record", *_row(record))
    batch = record.batch_call_id
    if batch is not None and (batch not in stretch.recorded or (record.batch and batch != stretch.answered)):
        reader.find("batch", f"its batch is of {batch}, the last answer of {stretch.answered}", *_row(record))


def _end(reader: Reader, record: ExecutionRecord, stretch: Stretch) -> None:
    ends = [kind for _, kind, _, _ in stretch.ends]
    if record.status not in TERMINAL:
        reader.hold(not ends, "terminal", f"it is {record.status}, and its journal has {_names(ends)}", *_row(record))
        return
    if not stretch.whole and not ends:
        return
    place, kind, meta, at = stretch.ends[-1] if ends else (0, None, {}, 0.0)
    if len(ends) != 1 or kind != f"execution_{record.status}" or place != stretch.last:
        what = f"it is {record.status}, and its journal has {_names(ends)}, and ends with {stretch.last_kind}"
        reader.find("terminal", what, *_row(record))
    elif meta.get("usage") != attrs.asdict(record.usage) or meta.get("error") != _plain(record.error):
        reader.find("terminal", "its terminal record has another usage or error", "journal", str(place))
    elif at != record.updated_at:
        reader.find("terminal", f"it ended at {record.updated_at}, by its journal at {at}", *_row(record))
    if stretch.whole and stretch.owed and record.status in VISIBLE:
        reader.find("terminal", f"later runs see the call {stretch.owed[0]} without its message", *_row(record))
    if record.status == "completed":
        agree = (
            record.result is not None
            and record.error is None
            and (not stretch.whole or stretch.output == record.result)
        )
        reader.hold(agree, "terminal", "its result is not its final output", *_row(record))
    elif record.status in _WITH_ERROR:
        reader.hold(record.error is not None, "terminal", f"it is {record.status} without an error", *_row(record))
    left = (record.llm_call_id, record.answer, record.request)
    reader.hold(left == (None, None, None), "terminal", "it has ended with work on record", *_row(record))


def _names(ends: list[JournalKind]) -> str:
    return ", ".join(ends) or "no terminal record"


def _plain(error: Any) -> dict[str, Any] | None:
    return None if error is None else attrs.asdict(error)


def _bodies(tx: Transaction, reader: Reader, record: ExecutionRecord) -> None:
    extra = record.manifest.extra if record.manifest is not None else ()
    named = (("input", record.input), ("context", record.context), ("result", record.result))
    for name, digest in (*named, *(("manifest", digest) for digest in extra)):
        if digest is not None and not tx.upkeep.has_content(digest):
            reader.find("missing-body", f"its {name} {digest} is not there", *_row(record))
    if record.context is not None and tx.upkeep.has_content(record.context):
        try:
            context = json.loads(tx.contents.get(record.context))
        except (PawlError, ValueError, RecursionError):
            context = None
        reader.hold(isinstance(context, dict), "body", "its context is no JSON object", *_row(record))


def _manifest(tx: Transaction, reader: Reader, record: ExecutionRecord, stretch: Stretch) -> None:
    manifest = record.manifest
    if manifest is None:
        reader.hold(record.model_calls == 0, "manifest", "it called a model, and has no manifest", *_row(record))
        return
    last = 0
    for first, end in manifest.excluded:
        if not last < first <= end <= manifest.position:
            reader.find("manifest", f"it leaves out {first} to {end}, behind {last}", *_row(record))
        last = end
    what = f"it is of position {manifest.position}, the journal of the run is {stretch.first} to {stretch.last}"
    now = record.phase == Phase.CALLING_LLM  # nothing was written since
    within = stretch.last if now else stretch.first, stretch.last
    reader.hold(within[0] <= manifest.position <= within[1], "manifest", what, *_row(record))
    if all(tx.upkeep.has_content(digest) for digest in manifest.extra):
        try:
            restored(manifest, (), tx.contents.get)
        except PawlError as error:
            reader.find("manifest", str(error), *_row(record))
