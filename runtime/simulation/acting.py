"""Acting out one step of a scenario: the call it is, and what became of it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import attrs

from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.records.approvals import Decision
from pawl.runtime.records.approvals import Verdict as Decided
from pawl.runtime.records.canonical import canonical
from pawl.runtime.records.errors import (
    AlreadyDecided,
    NotSuspended,
    OutcomeUnknown,
    RuntimeClosed,
    StaleRequest,
    StaleRevision,
    Superseded,
    UnknownSubject,
)
from pawl.runtime.simulation.expecting import Sight, check
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.process import CallLost, Process
from pawl.runtime.simulation.scenario import AgentDef, Place
from pawl.runtime.simulation.spelling import step_text
from pawl.runtime.simulation.stage import Run, Stage, start_id
from pawl.runtime.simulation.steps import (
    CALLS,
    FIRST,
    Advance,
    Beside,
    Cancel,
    Change,
    Close,
    Crash,
    Decide,
    End,
    Expect,
    Fails,
    Hold,
    Open,
    Pause,
    Redeliver,
    Release,
    Reopen,
    Resolve,
    Start,
    Step,
    Team,
    Unpause,
    Verdict,
)

NEVER_ISSUED: Final = "a-request-that-was-never-issued"

_LATE: Final = 30.0
"""Virtual seconds that a step inside `fails` is given to fail."""

_FOLLOWED: Final = (OutcomeUnknown, Superseded)
"""What a call raises because of what its run comes to later: that is the run's outcome."""

_LANDED: Final = (AlreadyDecided, NotSuspended, StaleRequest, StaleRevision, UnknownSubject)
"""What a client that repeats a call may hear when the call before had landed after all."""


class StepFailed(AssertionError):
    """A step did not do what a step does: it raised, or it was to raise and did not. `at` is its place."""

    def __init__(self, message: str, at: Place | None) -> None:
        self.at = at
        super().__init__(message)


class Unsupported(StepFailed):
    """The scenario needs what this version cannot play."""


@attrs.define(eq=False)
class Call:
    """A call that a step has made, as long as it goes on."""

    step: Step
    task: asyncio.Task[Any]
    process: str
    run: Run
    repeated: bool = False


class Actor:
    """Acts on a stage. `calls` are those that go on while later steps are acted."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.calls: list[Call] = []
        self._held: dict[str, list[str]] = {}
        self._asked: dict[int, tuple[str, int]] = {}

    def act(self, step: Step, *, repeated: bool = False) -> None:
        """Act one step, and let the world come to rest.

        Raises StepFailed, Mismatched, Unsupported; what a process is lost for ends the step, see `Stage.lost`.
        """
        self._stage.narrate(f"{step_text(step)}{' (again)' if repeated else ''}")
        try:
            if isinstance(step, CALLS):
                self.calls.append(self._call(step, repeated=repeated))
            else:
                self._act(step)
            self._stage.settle()
        except CallLost as lost:
            self._stage.settle()
            if not self._stage.lost:
                raise StepFailed(str(lost), step.at) from None
        except Exception as error:
            self._raised(step, error, None, fresh=True, repeated=repeated)
        self.hear(step)

    def hear(self, step: Step) -> None:
        """Notice which calls have ended, and how; `step` is the one that was acted last. Raises StepFailed."""
        for call in tuple(self.calls):
            if call.task.done():
                self.calls.remove(call)
                error = call.task.exception() if not call.task.cancelled() else None
                if isinstance(error, Exception):
                    self._raised(call.step, error, call.run, fresh=call.step is step, repeated=call.repeated)

    def interrupted(self) -> list[Step]:
        """Take the steps whose calls went down with their process, for a client to repeat them."""
        down = [call for call in self.calls if not self._stage.processes[call.process].alive]
        self.calls = [call for call in self.calls if call not in down]
        return [call.step for call in down]

    @staticmethod
    def was_interrupted(step: Step) -> bool:
        """Whether a client repeats that step, where its process was lost while it was acted."""
        return isinstance(step.step if isinstance(step, Fails) else step, CALLS)

    def _raised(self, step: Step, error: Exception, run: Run | None, *, fresh: bool, repeated: bool) -> None:
        if isinstance(error, CallLost | AssertionError):
            raise error
        if run is not None and isinstance(step, Start):
            run.refused = error
        if run is not None and isinstance(error, _FOLLOWED):
            run.trouble = error
            return
        if isinstance(error, RuntimeClosed) and not fresh:
            return  # it was closed while the call went on
        if repeated and isinstance(error, _LANDED):
            return
        raise StepFailed(f"`{step.word}` raised {self._told(step, error)}", step.at) from error

    def _told(self, step: Step, error: Exception) -> str:
        """An error in the scenario's words: a request that the file does not name is not named by its id."""
        said: object = error
        if isinstance(step, Decide) and isinstance(error, StaleRequest) and step.request is None:
            run = self._stage.runs[step.run]
            said = f"run {step.run!r} waits for no decision; it is {Sight(self._stage, run).told}"
        return f"{type(error).__name__}: {said}"

    # steps --------------------------------------------------------------------------------------------------

    def _act(self, step: Step) -> None:
        stage = self._stage
        match step:
            case Open():
                name = step.name or step.agent
                process = stage.process(step.process)
                process.do(process.runtime.open(stage.agents[step.agent], name))
                stage.logical[name] = step.agent
            case Hold():
                self._hold(step)
            case Release():
                self._release(step)
            case Advance():
                stage.advance(step.seconds)
            case Crash():
                stage.end(step.process, host=step.host)
                if step.process in (None, FIRST):
                    self._forget_held()
            case Close():
                stage.close(step.process)
            case End():
                stage.close(step.name)
            case Reopen():
                self._reopen(step)
            case Beside():
                stage.open(step.name)
            case Pause():
                stage.world.pause(stage.process(step.process))
            case Unpause():
                stage.world.unpause(stage.process(step.process))
            case Redeliver():
                self._redeliver(step)
            case Change():
                stage.definitions[step.agent] = changed(stage.definitions[step.agent], step)
            case Expect():
                check(stage, step.expected)
            case Fails():
                self._fails(step)
            case Team():
                raise Unsupported("`team` steps are not supported yet", step.at)

    def _reopen(self, step: Reopen) -> None:
        stage = self._stage
        before = stage.processes.get(step.process or FIRST)
        if before is not None and before.alive:
            raise StepFailed("`reopen` while the process lives; `crash` or `close` it first", step.at)
        stage.open(step.process or FIRST)

    def _call(self, step: Start | Decide | Cancel | Resolve, *, repeated: bool = False) -> Call:
        stage = self._stage
        process = stage.process(step.process)
        if isinstance(step, Start):
            stage.logical.setdefault(step.agent, step.agent)
            run = stage.runs.setdefault(step.name, Run(step.name, step.agent, start_id(step)))
            work = stage.begin(process, run, step)
        else:
            run = stage.runs[step.run]
            if run.execution_id is None:
                raise StepFailed(f"run {step.run!r} has not started, so it cannot be told `{step.word}`", step.at)
            work = self._answer(process, run.execution_id, step)
        return Call(step, process.begin(work), step.process or FIRST, run, repeated)

    async def _answer(self, process: Process, execution_id: str, step: Decide | Cancel | Resolve) -> None:
        """An answer is to the question that stands when it is given first: repeated, it must not answer another."""
        match step:
            case Cancel():
                await process.runtime.cancel(execution_id)
            case Decide():
                items = {name: _decision(name, verdict) for name, verdict in step.items.items()}
                request, _ = self._asked.setdefault(id(step), (self._request(execution_id, step), 0))
                said = process.runtime.decide(request, approve=step.approve, message=step.message, items=items or None)
                self._stage.compare(await said)
            case Resolve():
                _, revision = self._asked.setdefault(id(step), ("", self._stage.world.record(execution_id).revision))
                words = {"result": _result(step), "error": step.error, "revision": revision}
                self._stage.compare(await process.runtime.resolve(execution_id, step.subject, step.outcome, **words))

    def _request(self, execution_id: str, step: Decide) -> str:
        request = self._stage.world.record(execution_id).request
        current = request.id if request is not None else None
        known = self._stage.requests.get(execution_id, [])
        if step.request == "stale":
            return next((old for old in reversed(known) if old != current), NEVER_ISSUED)
        return current or (known[-1] if known else NEVER_ISSUED)

    def _fails(self, step: Fails) -> None:
        """The inner step must raise an error of that class, or of one that is a kind of it."""
        inner = step.step
        error = self._error_of(inner)
        if error is None:
            raise StepFailed(f"`{inner.word}` was to raise {step.error}, and raised nothing", step.at)
        kinds = [kind.__name__ for kind in type(error).__mro__]
        if step.error not in kinds:
            said = f"`{inner.word}` was to raise {step.error}, and raised {self._told(inner, error)}"
            raise StepFailed(said, step.at) from error

    def _error_of(self, inner: Step) -> Exception | None:
        stage = self._stage
        try:
            if not isinstance(inner, CALLS):
                self._act(inner)
                stage.settle()
                return None
            call = self._call(inner)
            stage.settle()
            if not call.task.done() and stage.process(inner.process).alive:
                stage.world.wait(call.task, within=_LATE)
            error = call.task.exception()
        except AssertionError:
            raise
        except Exception as raised:
            error = raised
        if isinstance(error, CallLost):
            raise error
        if isinstance(inner, Start) and isinstance(error, Exception):
            stage.runs[inner.name].refused = error
        return error if isinstance(error, Exception) else None

    # what a scenario does with the world --------------------------------------------------------------------

    def _hold(self, step: Hold) -> None:
        self._plan_hold(_place(step.what))

    def _plan_hold(self, name: str) -> None:
        faults = self._stage.world.faults
        ahead = sum(fault.do == "hold" and fault.at.partition("#")[0] == name for fault in faults.unmet)
        address = f"{name}#{faults.counts[name] + ahead + 1}"
        faults.add(Fault(address, "hold"))
        self._held.setdefault(name, []).append(address)

    def _release(self, step: Release) -> None:
        world, held = self._stage.world, self._held.get(_place(step.what), [])
        while held:
            address = held.pop(0)
            if world.held(address):
                return world.release(address)
            planned = world.faults.planned(address, "hold")
            if planned is not None:
                return world.faults.drop(planned)
        raise StepFailed(f"no call of {step.what!r} is held, so none can be released", step.at)

    def hold_again(self) -> None:
        """Hold the next call in place of each that was held by a process that is gone."""
        world = self._stage.world
        for name, held in self._held.items():
            gone = [one for one in held if not world.held(one) and world.faults.planned(one, "hold") is None]
            for address in gone:
                held.remove(address)
                self._plan_hold(name)

    def _forget_held(self) -> None:
        """A hold dies with its process, also one that no call has met yet."""
        world = self._stage.world
        for held in self._held.values():
            for address in tuple(held):
                planned = world.faults.planned(address, "hold")
                if planned is not None:
                    world.faults.drop(planned)
                if not world.held(address):
                    held.remove(address)

    def _redeliver(self, step: Redeliver) -> None:
        stage = self._stage
        execution_id = stage.runs[step.of].execution_id or ""
        found = stage.world.mail.get((execution_id, step.event))
        if found is None:
            there = sorted(event for run, event in stage.world.mail if run == execution_id)
            raise StepFailed(f"run {step.of!r} was told no {step.event!r}; it was told {', '.join(there)}", step.at)
        process, mail = found
        if not process.redeliver(mail):
            stage.dead_letters[step.event] += 1


def changed(before: AgentDef, step: Change) -> AgentDef:
    """A definition with what a change writes."""
    return attrs.evolve(before, **{name: getattr(step.to, name) for name in step.written})


def _place(what: str) -> str:
    """The place of faults at calls of a tool, or of the `model`."""
    return what if what == "model" else f"tool:{what}"


def _decision(tool_call_id: str, verdict: Verdict) -> Decision:
    kind = Decided.REJECTED if verdict.kind == "reject" else Decided.APPROVED
    return Decision(tool_call_id, kind, verdict.message, verdict.edit)


def _result(step: Resolve) -> Any:
    """What a resolution says: text, whatever the file wrote; for the model also no text at all."""
    if step.outcome != "succeeded":
        return None if step.result is None else _text(step.result)
    return _text(step.result) if step.result is not None or step.subject == MODEL else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else canonical(value)
