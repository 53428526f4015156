"""Playing a scenario from its first step to its last expectation, over whatever it says goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Self

import attrs

from pawl.runtime.records.errors import InvalidArguments, PawlError
from pawl.runtime.simulation.acting import Actor, StepFailed, Unsupported
from pawl.runtime.simulation.expecting import Mismatched, check
from pawl.runtime.simulation.invariants import Violated
from pawl.runtime.simulation.process import CallLost
from pawl.runtime.simulation.progress import check_left, check_progress
from pawl.runtime.simulation.scenario import Place, Scenario
from pawl.runtime.simulation.stage import Stage
from pawl.runtime.simulation.steps import FIRST, Advance, Change, Crash, Reopen, Step
from pawl.runtime.simulation.tracing import Trace
from pawl.runtime.simulation.world import Stuck
from pawl.runtime.store.port import Store

_CRASHES: Final = 50
"""Losses of a process within one step, after which the scenario is given up."""


@attrs.frozen
class Played:
    """How a scenario went: `failure` is the first thing that is wrong, `at` where the file says otherwise.

    `trace` has one line for each step, fault, transition, barrier answer and dropped event; the same for the same seed.
    """

    scenario: Scenario
    failure: str | None = None
    at: Place | None = None
    trace: tuple[str, ...] = ()
    unsupported: bool = False
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return self.failure is None

    def check(self) -> Self:
        """Itself. Raises AssertionError with the first difference where something did not hold."""
        __tracebackhide__ = True
        if self.failure is not None:
            where = f"{self.at}: " if self.at is not None else ""
            raise AssertionError(f"{where}{self.scenario.name}: {self.failure}")
        return self


def play(scenario: Scenario, *, store: Store | None = None, seed: int | None = None) -> Played:
    """Play a scenario, on a store that is new and inline: in memory by default.

    `seed`: what may happen in any order happens in one that is drawn from it; without one, in the order of asking.
    Invariants are checked all the time. Never raises for what the scenario does.
    """
    unsupported = first_unsupported(scenario)
    if unsupported is not None:
        return Played(scenario, str(unsupported), unsupported.at, unsupported=True)
    stage = Stage(scenario, store, seed)
    trace = Trace(stage)
    try:
        failure, at, unsupported_step = _wrong(stage)
        return Played(scenario, failure, at, trace.lines, unsupported_step, tuple(_notes(stage)))
    finally:
        stage.world.close()


def _wrong(stage: Stage) -> tuple[str | None, Place | None, bool]:
    """What is wrong first, where that stands, and whether it is that a step is not supported."""
    try:
        Player(stage).play()
    except Mismatched as error:
        return str(error), error.at, False
    except StepFailed as error:
        return str(error), error.at, isinstance(error, Unsupported)
    except Violated as error:
        return f"invariant {error}", stage.scenario.at, False
    except Stuck as error:
        return f"it is stuck: {error}", stage.scenario.at, False
    except (AssertionError, PawlError, CallLost) as error:
        return f"{type(error).__name__}: {error}", stage.scenario.at, False
    return None, None, False


def _notes(stage: Stage) -> Iterator[str]:
    """What a scenario says that came to nothing, which may be what it is about, or may be a mistake in it."""
    unmet = Counter((fault.at, fault.do) for fault in stage.world.faults.unmet)
    for fault in stage.scenario.faults:
        if unmet[fault.at, fault.do.kind]:
            unmet[fault.at, fault.do.kind] -= 1
            where = f"{fault.place}: " if fault.place is not None else ""
            yield f"{where}the fault {fault.do.kind} at {fault.at} was never reached"
    for key, number in stage.script.missing.items():
        yield f"{stage.scenario.at}: model {key!r} was asked for answer number {number}, and has none"


class Player:
    """Takes a stage through the steps of its scenario."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.actor = Actor(stage)
        self._again: list[Step] = []

    def play(self) -> None:
        """From the first step to the last expectation. Raises StepFailed, Mismatched, Violated, Stuck."""
        scenario = self.stage.scenario
        self.steps()
        if scenario.expect is not None:
            check(self.stage, scenario.expect)
        script = self.stage.script
        left_over, missing = script.left_over, dict(script.missing)
        self.stage.world.invariants.check()
        check_left(self.stage.world)
        script.missing = missing
        for key, count in left_over.items():
            what = f"{count} answers of model {key!r} were" if count > 1 else f"1 answer of model {key!r} was"
            raise StepFailed(f"{what} never asked for", scenario.at)

    def steps(self) -> None:
        """All steps, with what a client does when its process is lost."""
        steps: Sequence[Step] = self.stage.scenario.steps
        check_definitions(self.stage)
        self.stage.open(FIRST)
        self.stage.settle()
        for place, step in enumerate(steps):
            self.step(step, steps[place + 1 :])

    def step(self, step: Step, following: Iterable[Step] = ()) -> None:
        """One step; where it loses its process, what comes after that, unless that is for a later step to do."""
        self.actor.act(step)
        check_progress(self.stage.world)
        if isinstance(step, Reopen):
            self._repeat()
        if isinstance(step, Crash):
            self.stage.lost.append(step.process or FIRST)
        self._recover(step, _reopened(following))

    def _recover(self, step: Step, later: Collection[str] = ()) -> None:
        """Reopen what was lost, but for those that are reopened `later`."""
        for _ in range(_CRASHES):
            self._note(step)
            self.stage.lost = [name for name in self.stage.lost if name not in later]
            if not self.stage.lost:
                return
            self._reopen()
            self._repeat()
        raise StepFailed(f"`{step.word}` loses its process again and again", step.at)

    def _note(self, step: Step) -> None:
        """Remember what was interrupted."""
        down = self.actor.interrupted()
        self._again += [one for one in down if one not in self._again]
        if self.stage.lost and self.actor.was_interrupted(step) and step not in self._again:
            self._again.append(step)

    def _reopen(self) -> None:
        for name in tuple(self.stage.lost):
            self.stage.open(name)
        self.stage.settle()
        check_progress(self.stage.world)

    def _repeat(self) -> None:
        """What was interrupted, once more, where its process is there again."""
        again, self._again = self._again, []
        for step in again:
            if self._is_up(getattr(getattr(step, "step", step), "process", None)):
                self.actor.act(step, repeated=True)
                self._note(step)
            elif step not in self._again:
                self._again.append(step)

    def _is_up(self, name: str | None) -> bool:
        process = self.stage.processes.get(name or FIRST)
        return process is not None and process.alive


def check_definitions(stage: Stage) -> None:
    """Raises StepFailed for a definition that no Runtime takes, with its place."""
    for name, made in stage.definitions.items():
        try:
            stage.cast.agent(name, made)
        except InvalidArguments as error:
            raise StepFailed(str(error), made.at) from error


def _reopened(following: Iterable[Step]) -> set[str]:
    """The processes that a `reopen` is for before anything needs a process."""
    names: set[str] = set()
    for step in following:
        if isinstance(step, Reopen):
            names.add(step.process or FIRST)
        elif not isinstance(step, Change | Advance):
            break
    return names


def first_unsupported(scenario: Scenario) -> Unsupported | None:
    """What of a scenario cannot be played yet, with its place; None when everything can."""
    for name, team in scenario.teams.items():
        return Unsupported(f"teams are not supported yet, and {name!r} is one", team.at)
    for name, agent in scenario.agents.items():
        for what, there in (("subagents", agent.subagents), ("handoffs", agent.handoffs)):
            if there:
                return Unsupported(f"{what} are not supported yet, and agent {name!r} has some", agent.at)
    for key, answers in scenario.model.items():
        for answer in answers:
            if answer.handoff is not None:
                return Unsupported(f"handoffs are not supported yet, and model {key!r} asks for one", answer.at)
    for fault in scenario.faults:
        if fault.at.startswith("park#"):
            return Unsupported("the barrier `park` is not supported yet", fault.place)
    for step in scenario.steps:
        inner = getattr(step, "step", step)
        if inner.word == "team":
            return Unsupported("`team` steps are not supported yet", inner.at)
    return None
