"""Exploring a scenario: every single fault at every place of the undisturbed run, and whether it can be told after.

Allowed is what the undisturbed run comes to, or a stop that asks about calls whose effect nobody can know; those are
answered with the truth, and then the run must come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Final, Self

import attrs

from pawl.runtime.records.errors import PawlError
from pawl.runtime.simulation.acting import StepFailed
from pawl.runtime.simulation.comparing import Came, Seen, Way, difference, of_recovery
from pawl.runtime.simulation.expecting import Sight, check
from pawl.runtime.simulation.faults import BARRIERS, Do, Fault
from pawl.runtime.simulation.playing import Player, first_unsupported
from pawl.runtime.simulation.process import CallLost
from pawl.runtime.simulation.scenario import Do as DoDef
from pawl.runtime.simulation.scenario import Expected, FaultDef, Place, RunExpected, Scenario
from pawl.runtime.simulation.spelling import scenario_text
from pawl.runtime.simulation.stage import Run, Stage
from pawl.runtime.simulation.steps import Advance, Expect, Fails, Resolve, Step
from pawl.runtime.simulation.truth import answer_of, asks_rightly, ran
from pawl.runtime.store.port import Store

AT_BARRIERS: Final[tuple[Do, ...]] = (
    "crash_before_commit",
    "crash_after_commit",
    "lose_reply_committed",
    "lose_reply_rolled_back",
    "unavailable",
)
AT_BODIES: Final[tuple[Do, ...]] = ("crash_before_effect", "crash_during_effect", "crash_after_effect")

_SHORT, _TIMES = 0.05, 200
"""Virtual seconds that pass at a time, and how often, until a run is where the undisturbed one was."""

_QUESTIONS: Final = 50
"""Answers with the truth that one step may need."""

MakeStore = Callable[[], Store | None]


Progress = Callable[[int, int], None]
"""(done, of so many)."""


def nobody(done: int, total: int) -> None:
    """Is told how far it is, and looks away."""


def in_memory() -> None:
    """The store of a world that is told of no other."""


@attrs.frozen
class Failure:
    """One disturbance that was not made up for: what is wrong, and the scenario that shows it."""

    fault: str
    what: str
    scenario: Scenario


@attrs.frozen
class Explored:
    """What exploring found: how many disturbances were tried, those that were not made up for; `refused` says why
    nothing was tried, `at` where the file says what that is about.
    """

    scenario: Scenario
    tried: int
    failures: tuple[Failure, ...] = ()
    refused: str | None = None
    at: Place | None = None

    @property
    def ok(self) -> bool:
        """Whether everything was made up for."""
        return not self.failures and self.refused is None

    def check(self) -> Self:
        """Itself. Raises AssertionError with the first failure, as a scenario file that shows it."""
        __tracebackhide__ = True
        if self.refused is not None:
            where = f"{self.at}: " if self.at is not None else ""
            raise AssertionError(f"{where}{self.scenario.name}: {self.refused}")
        for failure in self.failures:
            shown_by = f"---\n# {failure.fault}\n{scenario_text(failure.scenario)}"
            raise AssertionError(f"{self.scenario.name}, with {failure.fault}: {failure.what}\n{shown_by}")
        return self


def explore(
    scenario: Scenario,
    *,
    store: MakeStore = in_memory,
    pairs: bool = False,
    sample: Sample | None = None,
    progress: Progress = nobody,
) -> Explored:
    """Play `scenario` undisturbed, then once for every single fault; with `pairs` for every two as well.

    `store` makes a new inline store for each time. `sample` chooses among the disturbances, for tests with little
    time; `progress` is told how many of how many are done. Never raises for what the scenario does.
    """
    unsupported = first_unsupported(scenario)
    if unsupported is not None:
        return Explored(scenario, 0, (), str(unsupported), unsupported.at)
    try:
        base = _undisturbed(scenario, store())
    except (AssertionError, PawlError, CallLost) as error:
        at = getattr(error, "at", None) or scenario.at
        return Explored(scenario, 0, (), f"it does not even hold undisturbed: {error}", at)
    chosen: Sequence[tuple[Fault, ...]] = list(_disturbances(base, pairs))
    if sample is not None:
        chosen = sample(chosen)
    failures: list[Failure] = []
    for done, faults in enumerate(chosen, 1):
        failure = disturb(scenario, base, faults, store())
        if failure is not None:
            failures.append(failure)
        progress(done, len(chosen))
    return Explored(scenario, len(chosen), tuple(failures))


Sample = Callable[[Sequence[tuple[Fault, ...]]], Sequence[tuple[Fault, ...]]]


def _disturbances(base: Came, pairs: bool) -> Iterator[tuple[Fault, ...]]:
    taken = {met.key for fault, met in base.fired if fault.do != "hold"}  # what was held begins after all
    singles: list[Fault] = []
    for met in base.places:
        name = met.address.partition("#")[0]
        dos = AT_BARRIERS if name in BARRIERS else AT_BODIES if name == "model" or name.startswith("tool:") else ()
        if met.key and met.key not in taken:
            singles += [Fault(met.key, do, keyed=True) for do in dos]
    yield from ((fault,) for fault in singles)
    if pairs:
        yield from (pair for pair in combinations(singles, 2) if pair[0].at != pair[1].at)


def _undisturbed(scenario: Scenario, store: Store | None) -> Came:
    stage = Stage(scenario, store)
    try:
        player = Explorer(stage, None)
        player.steps()
        if scenario.expect is not None:
            check(stage, scenario.expect)
        return player.came()
    finally:
        stage.world.close()


def disturb(scenario: Scenario, base: Came, faults: Sequence[Fault], store: Store | None) -> Failure | None:
    """Play `scenario` with more going wrong; None when that was made up for."""
    own = [again for fault, met in base.fired if met.key and fault.do != "hold" for again in _again(fault, met.key)]
    stage = Stage(attrs.evolve(scenario, faults=()), store, faults=[*own, *faults])
    player = Explorer(stage, base)
    try:
        player.steps()
        player.rest()
        stage.world.invariants.check()
        what = difference(base, player.came(), player.troubles)
    except (AssertionError, PawlError, CallLost) as error:
        what = f"{type(error).__name__}: {error}"
    finally:
        stage.world.close()
    if what is None:
        return None
    named = " and ".join(f"{fault.do} at {fault.at}" for fault in faults)
    return Failure(named, what, _shown(scenario, base, player, named))


_REFUSALS: Final = 8
"""How often a store refuses what it has refused once."""


def _again(fault: Fault, key: str) -> Iterator[Fault]:
    """A scenario's own fault at its place. What is refused would be refused again, unless something else is written
    in its place: an outcome that cannot be written is replaced by a failure, an answer of a caller by the next one.
    """
    place, _, number = key.rpartition("#")
    replaced = place.startswith(("outcome/", "tool_outcome/", "approval/", "resolution/"))
    for more in range(_REFUSALS if fault.do == "refuse" and not replaced else 1):
        yield attrs.evolve(fault, at=f"{place}#{int(number) + more}", run=None, keyed=True)


class Explorer(Player):
    """A player that helps a disturbed run along: it compares nothing in between, lets time pass where the undisturbed
    run needed none, and answers questions with the truth. `base` is the undisturbed run, None for that itself.
    """

    def __init__(self, stage: Stage, base: Came | None) -> None:
        super().__init__(stage)
        self._base = base
        self.ways: list[Way] = []
        self.acted: list[Step] = []
        self.troubles: list[str] = []
        self.performed: dict[int, bool] = {}

    def step(self, step: Step, following: Iterable[Step] = ()) -> None:
        """One step of the scenario, and the way to where the undisturbed run was after it."""
        if self._base is None or not isinstance(step, Expect):
            self._try(step, following)
        if self._base is not None and len(self.ways) < len(self._base.ways):
            self._catch_up(self._base.ways[len(self.ways)])
        self.ways.append(self._way())

    def _try(self, step: Step, following: Iterable[Step]) -> None:
        step = self._true(step) if isinstance(step, Resolve) else step
        self.acted.append(step)
        try:
            super().step(step, following)
        except StepFailed as error:
            if self._base is None:
                raise
            if not isinstance(step, Fails):
                self.troubles.append(str(error))
            self.stage.settle()
            self._recover(step)

    def _true(self, step: Resolve) -> Resolve:
        """What a scenario says of an effect, unless the disturbance has made it untrue."""
        run = self.stage.runs[step.run]
        if step.subject not in self._seen(run).unresolved:
            return step
        performed = self.performed[id(step)] = ran(self.stage, run, step.subject)
        if self._base is None or self._base.performed.get(id(step), performed) == performed:
            return step
        return answer_of(self.stage, run, step.subject)

    def rest(self) -> None:
        """Let everything come to where the undisturbed run ended."""
        assert self._base is not None
        self._catch_up(self._base.end)

    def _reopen(self) -> None:
        if self._base is not None:
            self.actor.hold_again()
        super()._reopen()

    # where the undisturbed run was --------------------------------------------------------------------------

    def _catch_up(self, wanted: Way) -> None:
        for _ in range(_QUESTIONS):
            self._pass(wanted)
            question = next(self._questions(wanted.runs), None)
            if question is None:
                return
            step = Advance(seconds=1.0) if self._answered(question) else question
            self.acted.append(step)
            super().step(step)
        raise StepFailed("it asks again and again", None)

    def _answered(self, question: Step) -> bool:
        """Whether the answer is on its way: its process still has something else to do with the run."""
        return any(call.step == question for call in self.actor.calls)

    def _pass(self, wanted: Way) -> None:
        for _ in range(_TIMES):
            backing_off = self.stage.backing_off - wanted.backing_off
            if not backing_off and not self._behind(wanted.runs):
                return
            step = Advance(seconds=_SHORT if backing_off else 1.0)
            self.acted.append(step)
            super().step(step)

    def _behind(self, wanted: Mapping[str, Seen]) -> bool:
        now = self.seen()
        return any(
            seen.outcome != "running" and now[name].outcome == "running" for name, seen in wanted.items() if name in now
        )

    def _questions(self, wanted: Mapping[str, Seen]) -> Iterator[Step]:
        for name, seen in self.seen().items():
            known = wanted.get(name, Seen("running"))
            for subject in seen.unresolved if known.outcome != "running" else ():
                if subject not in known.unresolved:
                    asks_rightly(self.stage, self.stage.runs[name], subject)
                    yield answer_of(self.stage, self.stage.runs[name], subject)

    # what there is to see -----------------------------------------------------------------------------------

    def _way(self) -> Way:
        return Way(self.seen(), self.stage.backing_off)

    def seen(self) -> dict[str, Seen]:
        """All runs, as they are now."""
        return {name: self._seen(run) for name, run in self.stage.runs.items()}

    def _seen(self, run: Run) -> Seen:
        sight = Sight(self.stage, run)
        unresolved = tuple(one.subject for one in getattr(sight.rest, "unresolved", ()))
        return Seen(sight.outcomes[0], unresolved, getattr(sight.rest, "output", None))

    def came(self) -> Came:
        """What the scenario has come to."""
        world = self.stage.world
        journals = {
            agent: tuple(str(entry.kind) for entry in world.journal(agent) if not of_recovery(entry.kind, entry.meta))
            for agent in sorted({record.agent_id for record in world.records()})
        }
        faults = world.faults
        fired = tuple(zip(faults.fired, faults.fired_at, strict=True))
        return Came(
            tuple(self.ways), self._way(), journals, self._effects(), tuple(faults.places), fired, self.performed
        )

    def _effects(self) -> dict[str, tuple[int, int]]:
        """By tool: calls whose body was entered, and entries into bodies that may not be entered again. What a probe
        says is scripted, whatever was done: its tool is left out.
        """
        tools = [pair for definition in self.stage.definitions.values() for pair in definition.tools.items()]
        probed = {name for name, tool in tools if tool.recovery == "probe"}
        once = {name for name, tool in tools if tool.recovery == "ask"}
        entries = [entry for entry in self.stage.world.witness.entries if entry.tool not in probed]
        return {
            tool: (
                len({entry.idempotency_key for entry in entries if entry.tool == tool}),
                sum(entry.tool == tool for entry in entries) if tool in once else 0,
            )
            for tool in sorted({entry.tool for entry in entries})
        }


def _shown(scenario: Scenario, base: Came, player: Explorer, named: str) -> Scenario:
    """The scenario that shows a failure: the faults where they struck, the steps as they were taken."""
    world = player.stage.world
    struck = [(fault, met) for fault, met in zip(world.faults.fired, world.faults.fired_at, strict=True)]
    faults = tuple(
        FaultDef(met.address, DoDef(fault.do, fault.times if fault.do in ("unavailable", "unreadable") else 0))  # type: ignore[arg-type]
        for fault, met in struck
        if fault.do != "hold"
    )
    runs = {name: RunExpected(outcome=seen.outcome, output=seen.output) for name, seen in base.end.runs.items()}  # type: ignore[arg-type]
    return attrs.evolve(
        scenario,
        name=f"{scenario.name}, with {named}",
        faults=faults,
        steps=tuple(_briefly(player.acted)),
        expect=Expected(runs=runs),
    )


def _briefly(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, with time that passes in one go where nothing is done in between."""
    for kind, group in groupby(steps, type):
        passed = list(group)
        if kind is Advance:
            yield Advance(seconds=sum(step.seconds for step in passed if isinstance(step, Advance)), at=passed[0].at)
        else:
            yield from passed
