"""Comparing what a scenario expects with what is there: the first difference, expected against actual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pawl.runtime.execution.load import messages
from pawl.runtime.execution.output import current_rest
from pawl.runtime.records.errors import OutcomeUnknown, Superseded
from pawl.runtime.records.executions import ExecutionRecord
from pawl.runtime.records.rests import Completed, NeedsResolution, Rest, Suspended
from pawl.runtime.records.tools import ErrorInfo
from pawl.runtime.simulation.scenario import (
    UNWRITTEN,
    Expected,
    InputExpected,
    Place,
    RunExpected,
    Wanted,
    WantedError,
)
from pawl.runtime.simulation.stage import Run, Stage


class Mismatched(AssertionError):
    """Something is not as expected. `what` names it, `at` is where the expectation stands."""

    def __init__(self, what: str, expected: object, actual: object, at: Place | None) -> None:
        self.what, self.expected, self.actual, self.at = what, expected, actual, at
        super().__init__(f"{what}: expected {shown(expected)}, actual {shown(actual)}")


def check(stage: Stage, expected: Expected) -> None:
    """Compare everything that is written. Raises Mismatched."""
    for what, wanted, actual, at in _differences(stage, expected):
        if wanted != actual:
            raise Mismatched(what, wanted, actual, at)


def _differences(stage: Stage, expected: Expected) -> Iterable[tuple[str, object, object, Place | None]]:
    """What is compared, in the order of a file: its name, what is expected, what is there, where that stands."""
    for name, wanted in expected.runs.items():
        for what, one, other in _run(stage, stage.runs[name], wanted):
            yield f"{name}.{what}", one, other, wanted.at or expected.at
    for what, one, other in _world(stage, expected):
        yield what, one, other, expected.at


def _world(stage: Stage, expected: Expected) -> Iterable[tuple[str, object, object]]:
    world = stage.world
    if expected.effects is not None:
        yield "effects", _counted(expected.effects), _counted(world.witness.effects)
    if expected.model_calls is not None:
        yield "model_calls", _counted(expected.model_calls), _counted(model_calls(stage, expected.model_calls))
    for agent, state in expected.admission.items():
        yield f"admission.{agent}", state, admission(stage, agent)
    for agent, owner in expected.owner.items():
        yield f"owner.{agent}", owner, stage.name_of(owner_of(stage, agent))
    for event, count in expected.stale.items():
        yield f"stale.{event}", count, stale(stage)[event]
    for agent, roles in expected.transcript.items():
        yield from _listed(f"transcript.{agent}", roles, transcript(stage, agent))
    for key, attempts in expected.model_input.items():
        for number, wanted_input in attempts.items():
            yield from _input(stage, key, int(number), wanted_input)


# runs -----------------------------------------------------------------------------------------------------------------


def _run(stage: Stage, run: Run, wanted: RunExpected) -> Iterable[tuple[str, object, object]]:
    seen = Sight(stage, run)
    if wanted.outcome is not None:
        yield "outcome", wanted.outcome, wanted.outcome if wanted.outcome in seen.outcomes else seen.told
    if wanted.output is not UNWRITTEN:
        output = getattr(seen.rest, "output", None)
        nothing = not isinstance(seen.rest, Completed) and not output and not wanted.output  # said so far: nothing
        yield "output", wanted.output, wanted.output if nothing else output
    if wanted.error is not UNWRITTEN:
        yield from _error(wanted.error, seen.error)
    record = seen.record
    for name in ("status", "phase", "revision"):
        if getattr(wanted, name) is not UNWRITTEN:
            yield name, getattr(wanted, name), getattr(record, name, None)
    if wanted.pending is not None:
        yield from _listed("pending", wanted.pending, getattr(seen.rest, "undecided", ()))
    if wanted.unresolved is not None:
        subjects = [one.subject for one in getattr(seen.rest, "unresolved", ())]
        yield from _listed("unresolved", wanted.unresolved, subjects)
    if wanted.journal is not None:
        yield from _listed("journal", wanted.journal, seen.journal)
    for name in ("input", "output") if wanted.usage is not None else ():
        if getattr(wanted.usage, name) is not None:
            used = getattr(record.usage, name) if record is not None else None
            yield f"usage.{name}", getattr(wanted.usage, name), used
    if wanted.events is not None:
        yield from _listed("events", wanted.events, seen.events)
    for call in wanted.keys:
        keys = seen.keys(call)
        yield f"keys.{call}", "one key" if keys else "an attempt", "one key" if len(keys) == 1 else sorted(keys)
    if wanted.state is not UNWRITTEN:
        yield "state", wanted.state, seen.state


def _error(wanted: WantedError | None, actual: ErrorInfo | None) -> Iterable[tuple[str, object, object]]:
    if wanted is None:
        yield "error", None, f"{actual.type}: {actual.message}" if actual is not None else None
        return
    yield "error", wanted.name, actual.type if actual is not None else None
    if wanted.contains is not None and actual is not None and wanted.contains not in actual.message:
        yield "error", f"… {wanted.contains} …", actual.message


def _listed(what: str, wanted: Wanted, actual: Iterable[str]) -> Iterable[tuple[str, object, object]]:
    there = [str(item) for item in actual]
    if not wanted.includes:
        yield what, list(wanted.items), there
        return
    rest = iter(there)
    if not all(item in rest for item in wanted.items):
        yield f"{what} (includes, in order)", list(wanted.items), there


class Sight:
    """What can be seen of a run: on record, in the process that runs it, and in what its caller heard."""

    def __init__(self, stage: Stage, run: Run) -> None:
        self._stage, self._run = stage, run
        self.record: ExecutionRecord | None = None
        self.rest: Rest[Any] | None = None
        execution_id = stage.execution_of(run)
        self.execution_id = execution_id
        if execution_id is not None:
            store = stage.world.store
            self.record = store.read(lambda tx: tx.executions.get(execution_id))
            if self.record is not None:
                self.rest = store.read(current_rest(execution_id, {}))

    @property
    def outcomes(self) -> list[str]:
        """What the run has come to, on record first; then what its caller was told instead."""
        heard = {Superseded: "superseded", OutcomeUnknown: "recovery_required"}
        told = [outcome for kind, outcome in heard.items() if isinstance(self._run.trouble, kind)]
        if self.record is None:
            return [*told, "refused" if self._run.refused is not None else "running"]
        if isinstance(self.rest, Suspended | NeedsResolution):
            return ["suspended" if isinstance(self.rest, Suspended) else "needs_resolution", *told]
        if self.rest is not None:
            return [str(self.record.status), *told]
        running = [process for process in self._stage.processes.values() if process.alive and self._runs(process)]
        closed = [process for process in running if process.keeper.closed(self.record.execution_id)]
        if running:
            return ["recovery_required" if closed else "running"]
        return [*told, "running"]

    @property
    def told(self) -> str:
        """What the run has come to, with the error where there is one."""
        outcome, error = self.outcomes[0], self.error
        return f"{outcome} ({error.type}: {error.message})" if error is not None else outcome

    def _runs(self, process: Any) -> bool:
        return self.execution_id is not None and process.keeper.live(self.execution_id) is not None

    @property
    def error(self) -> ErrorInfo | None:
        """The error of the outcome; of a run that has none, what its caller was told."""
        said: ErrorInfo | None = getattr(self.rest, "error", None)
        told = self._run.refused if self.record is None else self._run.trouble if self.rest is None else None
        return said if said is not None or told is None else ErrorInfo(type(told).__name__, str(told))

    @property
    def journal(self) -> list[str]:
        """The kinds of the run's records, in order."""
        if self.record is None:
            return []
        entries = self._stage.world.journal(self.record.agent_id)
        return [str(entry.kind) for entry in entries if entry.execution_id == self.execution_id]

    @property
    def events(self) -> list[str]:
        """The events of the run that any process was told, in order."""
        return [str(event.kind) for event in self._stage.told if event.execution_id == self.execution_id]

    def keys(self, tool_call_id: str) -> set[str]:
        """The idempotency keys that attempts of a call saw."""
        entries = self._stage.world.witness.entries
        mine = [entry for entry in entries if entry.execution_id == self.execution_id]
        return {entry.idempotency_key for entry in mine if entry.tool_call_id == tool_call_id}

    @property
    def state(self) -> str | None:
        """The state of the agent's machine that the run came to last."""
        moves = [
            move.target
            for _, execution_id, move in self._stage.world.moves
            if execution_id == self.execution_id and move.child is None and move.target is not None
        ]
        return str(moves[-1]) if moves else None


# the whole world ------------------------------------------------------------------------------------------------------


def _counted(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


def stale(stage: Stage) -> Counter[str]:
    """Events that came too late to mean anything, over all processes."""
    total = Counter(stage.dead_letters)
    for process in stage.world.processes:
        total.update(process.dropped)
    return total


def model_calls(stage: Stage, names: Iterable[str]) -> dict[str, int]:
    """Attempts by definition; by logical agent where that is named and is no definition."""
    named = {name for name in names if name not in stage.scenario.agents}
    requests = stage.world.witness.requests
    return dict(
        Counter(
            request.agent_id if request.agent_id in named else stage.logical.get(request.agent_id, request.agent_id)
            for request in requests
        )
    )


def owner_of(stage: Stage, agent_id: str) -> str | None:
    """The owner id that is on record for an agent; None where there is no such agent yet."""
    root = stage.world.store.read(lambda tx: tx.agents.get(agent_id))
    return root.owner if root is not None else None


def admission(stage: Stage, agent_id: str) -> str:
    """The state of an agent's slot: in the process that owns it, else by what is stored."""
    owner = owner_of(stage, agent_id)
    for process in stage.world.processes:
        if process.alive and process.owner == owner:
            state = str(process.keeper.registry.state(agent_id))
            if state != "vacant":
                return state
    rows = stage.world.store.read(lambda tx: list(tx.executions.list(agent_id, open_only=True, limit=1)))
    if not rows:
        return "vacant"
    return "suspended" if rows[0][1] == "approval" else "recovery_required"


def transcript(stage: Stage, agent_id: str) -> list[str]:
    """The roles of the messages that a next run would see."""
    return [message.role for message in messages(stage.world.store.read(lambda tx: tx.journal.transcript(agent_id)))]


def _input(stage: Stage, key: str, number: int, wanted: InputExpected) -> Iterable[tuple[str, object, object]]:
    requests = [
        request
        for request in stage.world.witness.requests
        if request.agent_id == key or stage.logical.get(request.agent_id, request.agent_id) == key
    ]
    what = f"model_input.{key}.{number}"
    if len(requests) < number:
        yield what, f"attempt {number}", f"{len(requests)} attempts"
        return
    said = [message.text for message in requests[number - 1].messages]
    for words in wanted.contains:
        if not any(words in text for text in said):
            yield what, f"… {words} …", said
    for words in wanted.lacks:
        if any(words in text for text in said):
            yield what, f"nothing with {words}", said


def shown(value: object) -> str:
    """A value as a line shows it."""
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {shown(item)}' for name, item in value.items())}}}"
    return str(value)
