"""Playing a random program: what makes no sense is left out, what a client may be told is taken, and all is healed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import attrs

from pawl.runtime.barriers.resolve import MODEL
from pawl.runtime.records.errors import IdConflict, PawlError, StoreCorrupt
from pawl.runtime.records.rests import NeedsResolution, Suspended
from pawl.runtime.records.statuses import TERMINAL
from pawl.runtime.simulation.acting import Actor, StepFailed
from pawl.runtime.simulation.beyond import AgentBeyond
from pawl.runtime.simulation.expecting import Sight, admission
from pawl.runtime.simulation.generating import versioned
from pawl.runtime.simulation.playing import Player
from pawl.runtime.simulation.process import CallLost
from pawl.runtime.simulation.scenario import Expected
from pawl.runtime.simulation.stage import Run, Stage
from pawl.runtime.simulation.steps import (
    CALLS,
    FIRST,
    Advance,
    Beside,
    Cancel,
    Close,
    Crash,
    Decide,
    End,
    Fails,
    Open,
    Pause,
    Redeliver,
    Release,
    Reopen,
    Resolve,
    Start,
    Step,
    Unpause,
    Verdict,
)
from pawl.runtime.simulation.truth import answer_of, asks_rightly

_LEASES: Final = 65.0
"""Virtual seconds after which whoever was lost or put aside has no lease any more."""

_ROUNDS: Final = (*[10.0] * 8, *[30.0] * 20, *[600.0] * 12)
"""Virtual seconds that pass, after every question is answered, before a run that has not ended is given up."""

_ANSWERS: Final = 40

Told: TypeAlias = "tuple[Exception, bool]"
"""What a step raised, and whether at once or while later steps were acted."""


class Endless(AssertionError):
    """Nothing goes wrong any more, every question is answered, and a run does not come to its end."""


class Lenient(Actor):
    """An actor whose steps may be turned down: what a client may hear is noted."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.told: dict[int, Told] = {}

    def act(self, step: Step, *, repeated: bool = False) -> None:
        """The same; what is repeated to a process that stays gone is repeated to nobody."""
        try:
            super().act(step, repeated=repeated)
        except StepFailed as failed:
            if not (repeated and isinstance(failed.__context__, CallLost)):
                raise

    def _raised(self, step: Step, error: Exception, run: Run | None, *, fresh: bool, repeated: bool) -> None:
        try:
            super()._raised(step, error, run, fresh=fresh, repeated=repeated)
        except StepFailed:
            # Its refusal, by a fault, is a CodecError; what is damaged otherwise nobody may ever be told.
            damaged = isinstance(error, StoreCorrupt) and "a fault refuses this" not in str(error)
            if damaged or not isinstance(error, PawlError) or not isinstance(step, (*CALLS, Open)):
                raise
            self.told[id(step)] = (error, fresh)

    def holds(self, what: str) -> bool:
        """Whether a `release` of it finds something to let go of."""
        world, name = self._stage.world, what if what == "model" else f"tool:{what}"
        held = self._held.get(name, ())
        return any(world.held(one) or world.faults.planned(one, "hold") is not None for one in held)

    @property
    def held(self) -> list[str]:
        """Everything that can be released."""
        names = [name.removeprefix("tool:") for name in self._held]
        return [name for name in names if self.holds(name)]


class Wanderer(Player):
    """Plays a program, and heals it. `acted` are the steps as they were taken, without what made no sense."""

    actor: Lenient

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.actor = Lenient(stage)
        self.acted: list[Step] = []

    def step(self, step: Step, following: Iterable[Step] = ()) -> None:
        """One step, where it makes sense as things stand. Raises what is wrong with the runtime."""
        if not self._sensible(step):
            return
        step = self._pointed(step)
        self.acted.append(step)
        super().step(step, following)

    # sense --------------------------------------------------------------------------------------------------

    def _sensible(self, step: Step) -> bool:
        stage = self.stage
        match step:
            case Reopen():
                return (step.process or FIRST) in stage.processes and not self._up(step.process)
            case Beside():
                return not self._up(step.name)
            case End():
                return self._answers(step.name)
            case Close() | Open():
                return self._answers(step.process)
            case Unpause():
                return self._up(step.process) and stage.processes[step.process or FIRST].paused
            case Start():
                known = step.agent in stage.logical or step.agent in stage.definitions
                return known and self._up(step.process)
            case Crash() | Pause():
                return self._up(step.process)
            case Decide(approve=True, request=None) if not any(self._waits(run, "undecided") for run in stage.runs):
                return False  # what nobody waits for is said often enough by the others
            case Decide() | Cancel() | Resolve():
                return self._up(step.process) and step.run in stage.runs and self._begun(step.run)
            case Redeliver():
                return (
                    step.of in stage.runs and (stage.runs[step.of].execution_id or "", step.event) in stage.world.mail
                )
            case Release():
                return self.actor.holds(step.what)
            case _:
                return True

    def _up(self, name: str | None) -> bool:
        process = self.stage.processes.get(name or FIRST)
        return process is not None and process.alive and not process.closed

    def _answers(self, name: str | None) -> bool:
        return self._up(name) and not self.stage.processes[name or FIRST].paused

    def _begun(self, run: str) -> bool:
        return self.stage.runs[run].execution_id is not None

    def _pointed(self, step: Step) -> Step:
        """What a program says by chance of runs, items and subjects, about those that wait; of effects, the truth."""
        if isinstance(step, Decide) and step.request is None:
            run = self._waiting(step.run, "undecided")
            pending = getattr(self._sight(run).rest, "undecided", ())
            return attrs.evolve(step, run=run, items=_spread(step.items, pending)) if pending else step
        if isinstance(step, Resolve):
            run = self._waiting(step.run, "unresolved")
            asked = [one.subject for one in getattr(self._sight(run).rest, "unresolved", ())]
            if asked:
                subject = step.subject if step.subject in asked else asked[_number(step.subject) % len(asked)]
                if subject == step.subject == MODEL:
                    return attrs.evolve(step, run=run)  # of what a model said nobody knows better
                return attrs.evolve(answer_of(self.stage, self.stage.runs[run], subject), process=step.process)
        return step

    def _waiting(self, run: str, what: str) -> str:
        """That run, or another one that waits where it does not."""
        runs = (run, *(name for name in self.stage.runs if self._begun(name)))
        return next((name for name in runs if self._waits(name, what)), run)

    def _waits(self, run: str, what: str) -> bool:
        return bool(getattr(self._sight(run).rest, what, ()))

    def _sight(self, run: str) -> Sight:
        return Sight(self.stage, self.stage.runs[run])

    # healing ------------------------------------------------------------------------------------------------

    def heal(self) -> None:
        """Nothing goes wrong any more: processes come back, questions are answered, time passes, all runs end.

        Raises Endless, and what is wrong with the runtime.
        """
        self.stage.world.faults.forget()
        for name in tuple(self.stage.processes):
            self.step(Unpause(process=_named(name)))
        for what in self.actor.held:
            while self.actor.holds(what):
                self.step(Release(what=what))
        self.step(Advance(seconds=_LEASES))
        self._mend_definitions()
        for name in tuple(self.stage.processes):
            self.step(Crash(process=_named(name)))
        self.step(Reopen())
        self._come_to_an_end()
        for number, agent in enumerate([one for one in self.stage.logical if self._has_run(one)], 1):
            self.step(Start(agent=agent, input="and now", name=f"last{number}"))
        self._come_to_an_end()

    def _mend_definitions(self) -> None:
        """Every run is one that the definition of today may finish, and its stops wait long enough."""
        definitions = self.stage.definitions
        for name, made in tuple(definitions.items()):
            known = tuple(range(1, made.version))
            if made.compatible_with != known:
                self.step(versioned(name, made.version, known))
            if made.beyond is not None:
                beyond = attrs.evolve(made.beyond, drain_timeout=AgentBeyond().drain_timeout)
                definitions[name] = attrs.evolve(definitions[name], beyond=beyond)

    def _has_run(self, agent: str) -> bool:
        return any(record.agent_id == agent for record in self.stage.world.records())

    def _come_to_an_end(self) -> None:
        for seconds in _ROUNDS:
            if self._ended():
                return
            for _ in range(_ANSWERS):
                answer = next(self._given(), None)
                if answer is None:
                    break
                self.step(answer)
            if self._ended():
                return
            self.step(Advance(seconds=seconds))
        if not self._ended():
            raise Endless(f"it never ends: {', '.join(self._open())}")

    def _given(self) -> Iterator[Step]:
        """Answers to what runs wait for. Raises Violated where a question is not to be asked."""
        for run in self.stage.runs.values():
            sight = Sight(self.stage, run)
            if isinstance(run.refused, IdConflict):
                continue  # it said something else under the id of a run
            if run.execution_id is None and sight.record is not None:
                yield self._again_started(run)  # its client was told that it is not, and asks again
            elif isinstance(sight.rest, Suspended):
                yield Decide(run=run.name, approve=True)
            elif isinstance(sight.rest, NeedsResolution):
                subject = sight.rest.unresolved[0].subject
                asks_rightly(self.stage, run, subject)
                yield attrs.evolve(answer_of(self.stage, run, subject), process=None)

    def _again_started(self, run: Run) -> Step:
        step = next(step for step in self.acted if isinstance(step, Start) and step.name == run.name)
        return attrs.evolve(step, process=None)

    def _open(self) -> list[str]:
        """What has not ended, run by run and agent by agent."""
        world = self.stage.world
        left = [
            f"{record.execution_id} is {record.status}" for record in world.records() if record.status not in TERMINAL
        ]
        agents = dict.fromkeys(record.agent_id for record in world.records())
        slots = [(agent, admission(self.stage, agent)) for agent in agents]
        left += [f"{agent} is {state}" for agent, state in slots if state != "vacant"]
        return left

    def _ended(self) -> bool:
        return not self._open()

    # what it was --------------------------------------------------------------------------------------------

    def strict(self, *, late: bool) -> tuple[Step, ...]:
        """The steps as a file has them: those that were turned down inside `fails`; `late` ones too, or left out."""
        return tuple(self._strict(late))

    def _strict(self, late: bool) -> Iterator[Step]:
        for step in self.acted:
            error, fresh = self.actor.told.get(id(step), (None, True))
            if error is None:
                yield step
            elif fresh or late:
                yield Fails(step=step, error=type(error).__name__)

    def expected(self) -> Expected:
        """What would be true, were all well: every run has ended."""
        agents = dict.fromkeys(record.agent_id for record in self.stage.world.records())
        return Expected(admission={agent: "vacant" for agent in agents if agent in self.stage.logical})


def _spread(items: dict[str, Verdict], pending: Iterable[str]) -> dict[str, Verdict]:
    waiting = list(pending)
    return {waiting[_number(name) % len(waiting)]: verdict for name, verdict in items.items()}


def _number(name: str) -> int:
    digits = "".join(letter for letter in name if letter.isdigit())
    return int(digits) if digits else 0


def _named(process: str) -> str | None:
    return None if process == FIRST else process
