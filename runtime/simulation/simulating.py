"""`simulate`: the program of a seed, played until all has ended, with what must always be true looked at all along."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import attrs

from pawl.runtime.simulation.beyond import said
from pawl.runtime.simulation.exploring import MakeStore, in_memory
from pawl.runtime.simulation.faults import Fault
from pawl.runtime.simulation.generating import Program, generate
from pawl.runtime.simulation.playing import play
from pawl.runtime.simulation.progress import check_left
from pawl.runtime.simulation.scenario import Scenario
from pawl.runtime.simulation.shrinking import fewest, shrunk, without_beyond
from pawl.runtime.simulation.stage import Stage
from pawl.runtime.simulation.tracing import Trace
from pawl.runtime.simulation.wandering import Wanderer
from pawl.runtime.store.port import Store


@attrs.frozen
class Wandered:
    """How a program went: what is wrong, None when nothing is; the scenario as it was played; every line of it."""

    program: Program
    failure: str | None
    shown: tuple[Scenario, ...] = ()
    trace: tuple[str, ...] = ()


@attrs.frozen
class Violation:
    """What a seed has found. `scenario` is the shrunken program with the steps as they were taken; `reproduces`:
    playing it, with `order` as the seed, shows something wrong again. Where it does not, `beyond` says what it takes
    that no scenario file can say.
    """

    seed: int
    what: str
    scenario: Scenario
    order: int | None
    reproduces: bool
    beyond: tuple[str, ...] = ()


@attrs.frozen
class Simulated:
    """One seed: a digest of its trace, which is the same wherever it is played, and what it found."""

    seed: int
    digest: str
    violation: Violation | None = None

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return self.violation is None


def simulate(seed: int, *, store: MakeStore = in_memory, shrink: bool = True) -> Simulated:
    """Play the program of `seed`. `store` makes a new inline store for each time that it, or a part of it, is played.

    Never raises for what the program does.
    """
    program = generate(seed)
    wandered = wander(program, store())
    digest = hashlib.sha256("\n".join(wandered.trace).encode()).hexdigest()
    if wandered.failure is None:
        return Simulated(seed, digest)
    if shrink:
        wandered = _least(wandered, store)
    return Simulated(seed, digest, _violation(seed, wandered, store))


def wander(program: Program, store: Store | None = None) -> Wandered:
    """Play a program once, and heal it. Never raises for what the program does."""
    stage = Stage(program.scenario, store, program.order, program.more)
    trace = Trace(stage)
    wanderer = Wanderer(stage)
    try:
        wanderer.steps()
        wanderer.heal()
        stage.world.invariants.check()
        check_left(stage.world)
    except Exception as error:  # whatever it is, it is a finding
        return Wandered(program, f"{type(error).__name__}: {error}", _shown(wanderer), trace.lines)
    finally:
        stage.world.close()
    return Wandered(program, None, (), trace.lines)


def _least(wandered: Wandered, store: MakeStore) -> Wandered:
    """The smallest program that was found to go wrong in the same way."""
    kind = kind_of(wandered.failure)
    least = wandered

    def goes_wrong(scenario: Scenario, more: Sequence[Fault]) -> bool:
        nonlocal least
        again = wander(Program(scenario, wandered.program.order, tuple(more)), store())
        if again.failure is None or kind_of(again.failure) != kind:
            return False
        least = again
        return True

    more = fewest(wandered.program.more, lambda fewer: goes_wrong(least.program.scenario, fewer))
    shrunk(wandered.program.scenario, lambda smaller: goes_wrong(smaller, more))
    return least


def kind_of(failure: str | None) -> str:
    """The first words of a failure, which say what is wrong but not with whom."""
    return " ".join((failure or "").split()[:2])


def _violation(seed: int, wandered: Wandered, store: MakeStore) -> Violation:
    order, what = wandered.program.order, wandered.failure or ""
    for scenario in map(without_beyond, wandered.shown):  # as a file says it
        if _shows(play(scenario, store=store(), seed=order).failure, what):
            return Violation(seed, what, scenario, order, True)
    return Violation(seed, what, without_beyond(wandered.shown[0]), order, False, tuple(_beyond(wandered.program)))


def _beyond(program: Program) -> Iterator[str]:
    """What of a program no scenario file can say, in words."""
    for name, made in program.scenario.agents.items():
        if made.beyond is not None and said(made.beyond):
            yield f"agent {name}: {said(made.beyond)}"
        for tool, one in made.tools.items():
            if one.beyond is not None and said(one.beyond):
                yield f"tool {tool} of {name}: {said(one.beyond)}"
    for fault in program.more:
        yield f"{fault.do} at {fault.at}"


def _shows(played: str | None, wandered: str) -> bool:
    """Whether a scenario goes wrong for the same reason: in the same words, or since its runs never end."""
    if played is None:
        return False
    return wandered.partition(": ")[2] in played or (wandered.startswith("Endless") and played.startswith("admission"))


def _shown(wanderer: Wanderer) -> tuple[Scenario, ...]:
    """The scenario as it was played: with the faults where they struck, and all steps, also those that healed it."""
    stage = wanderer.stage
    fired = {(fault.run, fault.address) for fault in stage.world.faults.fired if fault.do != "hold"}
    starts = {run.name: run.start_id for run in stage.runs.values()}
    faults = tuple(fault for fault in stage.scenario.faults if (starts.get(fault.run or ""), fault.at) in fired)
    variants = [wanderer.strict(late=late) for late in (False, True)]
    return tuple(
        attrs.evolve(stage.scenario, faults=faults, steps=steps, expect=wanderer.expected())
        for steps in (variants if variants[0] != variants[1] else variants[:1])
    )
